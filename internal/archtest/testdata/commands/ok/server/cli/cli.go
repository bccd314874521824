package cli

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/ok/server/cli/command"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/ok/server/wire"
)
