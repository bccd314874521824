package policies

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/internal/clock"
)
