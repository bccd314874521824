package knowledge

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/tools/operation" // want "knowledge imports tools/operation"
)
