package audit

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/policies"
)
