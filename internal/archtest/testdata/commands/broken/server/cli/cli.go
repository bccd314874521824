package cli

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/server/cli/command"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/broken/server/wire"
)
