package operation

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies"
)
