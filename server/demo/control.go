package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbmb/pbmb/server/demo/control"
)

// controlSocket is where a running demo takes commands, in its runtime folder.
const controlSocket = "control.sock"

// RestartCerbos has the Cerbos of the demo that runs on a data folder read its
// policies anew, and returns when it answers again. Its errors are for people.
func RestartCerbos(ctx context.Context, data string) error {
	path, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	runtime, err := os.ReadFile(filepath.Join(path, "lock"))
	if err != nil || !strings.HasPrefix(string(runtime), runtimePrefix) {
		return fmt.Errorf("no demo has used %s: name its data folder with --data", path)
	}
	err = control.RestartCerbos(ctx, filepath.Join(string(runtime), controlSocket))
	if errors.Is(err, control.ErrNobody) {
		return fmt.Errorf("no demo that you may command runs on %s: start it, or name another folder with --data", path)
	}
	return err
}
