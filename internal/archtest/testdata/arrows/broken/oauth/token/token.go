package token

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/internal/clock"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies"
)
