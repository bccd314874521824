package column

import (
	_ "fmt"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/knowledge"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/oauth/token" // want "tools/column imports oauth/token"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/tools/operation"
)
