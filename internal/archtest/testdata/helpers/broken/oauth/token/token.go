package token

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/helpers/broken/policies/cerbostest" // want "which is for tests"
)
