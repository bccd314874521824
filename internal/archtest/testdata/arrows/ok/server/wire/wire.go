package wire

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/knowledge"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/oauth/token"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/policies"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/tools/column"
)
