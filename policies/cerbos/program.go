package cerbos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Config is the configuration of a Cerbos process that listens on a Unix socket,
// reads its policies from policyDir once, and answers a question at a scope
// without policies from the scope above it. It sends nothing anywhere and keeps
// no audit of its own: each entry would hold every id that a caller reaches.
func Config(socket, policyDir string) []byte {
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
`, strconv.Quote("unix:"+socket), strconv.Quote("unix:"+socket+".http"), strconv.Quote(policyDir))
}

// Command runs program as a Cerbos process with the configuration in configFile.
// One processor serves the small questions of an api best: on two, Cerbos spends
// more on handing work over than on the work.
func Command(ctx context.Context, program, configFile string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "server", "--config="+configFile, "--log-level=WARN")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "CERBOS_NO_TELEMETRY=1")
	return cmd
}

// LayPolicies writes the policy files of each layer to a folder of its own below
// dir, which it empties first. Tests, which Cerbos would not load, are left out.
func LayPolicies(dir string, layers ...fs.FS) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("emptying %s: %w", dir, err)
	}
	for i, layer := range layers {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return fmt.Errorf("laying policies: %w", err)
		}
		err := fs.WalkDir(layer, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isPolicy(name) {
				return err
			}
			content, err := fs.ReadFile(layer, name)
			if err != nil {
				return err
			}
			target := filepath.Join(to, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			return os.WriteFile(target, content, 0o644)
		})
		if err != nil {
			return fmt.Errorf("laying policies: %w", err)
		}
	}
	return nil
}

func isPolicy(name string) bool {
	ext := path.Ext(name)
	base := strings.TrimSuffix(name, ext)
	switch ext {
	case ".yaml", ".yml", ".json":
		return !strings.HasSuffix(base, "_test")
	}
	return false
}
