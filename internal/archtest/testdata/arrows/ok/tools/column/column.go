package column

import (
	_ "fmt"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/knowledge"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/ok/tools/operation"
)
