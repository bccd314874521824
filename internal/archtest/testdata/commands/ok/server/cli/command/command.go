package command

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/ok/server/cli/account"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/commands/ok/tools/operation"
)
