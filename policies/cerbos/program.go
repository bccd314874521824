package cerbos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// Config is the configuration of a Cerbos process that listens on a Unix socket,
// reads its policies from policyDir once, and answers a question at a scope
// without policies from the scope above it. It sends nothing anywhere and keeps
// no audit of its own: each entry would hold every id that a caller reaches.
func Config(socket, policyDir string) []byte {
	return configuration("unix:"+socket, "unix:"+socket+".http", policyDir)
}

func configuration(grpc, http, policyDir string) []byte {
	return fmt.Appendf(nil, `server:
  grpcListenAddr: %s
  httpListenAddr: %s
  udsFileMode: "0600"
  metricsEnabled: false
engine:
  lenientScopeSearch: true
storage:
  driver: disk
  disk:
    directory: %s
    watchForChanges: false
audit:
  enabled: false
telemetry:
  disabled: true
`, strconv.Quote(grpc), strconv.Quote(http), strconv.Quote(policyDir))
}

// Command runs program as a Cerbos process with the configuration in configFile.
// One processor serves the small questions of an api best: on two, Cerbos spends
// more on handing work over than on the work.
func Command(ctx context.Context, program, configFile string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "server", "--config="+configFile, "--log-level=WARN")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "CERBOS_NO_TELEMETRY=1")
	return cmd
}

// Compile returns a command that compiles the policies below a folder and does not
// run their tests. Where they do not compile, what it prints says why.
func Compile(ctx context.Context, program, policyDir string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "compile", "--color=never", "--skip-tests", policyDir)
	cmd.Env = append(os.Environ(), "CERBOS_NO_TELEMETRY=1")
	return cmd
}
