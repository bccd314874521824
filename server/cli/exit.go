package cli

import (
	"errors"

	"github.com/pbmb/pbmb/server/cli/account"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/tools/operation"
)

// Exit codes (CLI-08).
const (
	exitDone        = 0
	exitFailed      = 1 // refused, or failed
	exitUsage       = 2
	exitNotSignedIn = 3
	exitNotFound    = 4
	exitConflict    = 5
	exitLater       = 6
)

// exitCodes has the code of each kind of error that is not simply a failure.
var exitCodes = map[operation.ErrorKind]int{
	operation.Invalid:         exitUsage,
	operation.Unauthenticated: exitNotSignedIn,
	operation.NotFound:        exitNotFound,
	operation.Conflict:        exitConflict,
	operation.RateLimited:     exitLater,
	operation.Timeout:         exitLater,
	operation.Unavailable:     exitLater,
}

func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if _, wrong := errors.AsType[*command.UsageError](err); wrong {
		return exitUsage
	}
	if _, wrong := errors.AsType[*account.AddressError](err); wrong {
		return exitUsage
	}
	if errors.Is(err, account.ErrNotSignedIn) {
		return exitNotSignedIn
	}
	if _, unreachable := errors.AsType[*account.UnreachableError](err); unreachable {
		return exitLater
	}
	if p, ok := errors.AsType[*account.Problem](err); ok {
		kind := operation.ErrorKind(p.Kind)
		if kind == operation.Invalid && p.Upstream != "" {
			return exitFailed // the command line was right, and Power BI did not like what it carried
		}
		if code, found := exitCodes[kind]; found {
			return code
		}
	}
	return exitFailed
}
