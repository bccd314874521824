package token

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/internal/clock"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/policies"
)
