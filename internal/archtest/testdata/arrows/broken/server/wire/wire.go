package wire

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/knowledge"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/oauth/token"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/tools/column"
)
