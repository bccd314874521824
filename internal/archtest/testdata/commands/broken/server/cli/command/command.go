package command

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/knowledge/store" // want "imports knowledge/store"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/server/cli/account"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/server/wire" // want "imports server/wire"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/tools/operation"
)
