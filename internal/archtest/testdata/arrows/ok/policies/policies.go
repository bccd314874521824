package policies

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/internal/clock"
)
