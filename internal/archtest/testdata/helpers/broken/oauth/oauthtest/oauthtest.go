package oauthtest

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/helpers/broken/policies/cerbostest"
)
