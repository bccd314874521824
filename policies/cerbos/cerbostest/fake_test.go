package cerbostest_test

import (
	"testing"

	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

func TestFakeConforms(t *testing.T) { cerbostest.Conformance(t, &cerbostest.Fake{}) }
