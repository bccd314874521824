package scan

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/server/wire"  // want "sync/scan imports server/wire"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/tools/column" // want "sync/scan imports tools/column"
)
