package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres/cluster"
	"github.com/pbmb/pbmb/internal/process"
)

// newConfig is a cluster in a folder that PostgreSQL's account can use, short
// enough for a socket.
func newConfig(t *testing.T) cluster.Config {
	t.Helper()
	programs, err := cluster.Find()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "pbmb-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	account, err := process.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if err := account.Give(folder); err != nil {
		t.Fatal(err)
	}
	return cluster.Config{Programs: programs, Data: filepath.Join(folder, "data"), Sockets: folder}
}

func start(t *testing.T, config cluster.Config) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func query(t *testing.T, c *cluster.Cluster, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.SuperuserURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var out string
	if err := conn.QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// OPS-04
func TestStartIsNeverRootAndListensOnASocketAlone(t *testing.T) {
	t.Parallel()
	c := start(t, newConfig(t))
	info, err := os.Stat(fmt.Sprintf("/proc/%d", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the server runs as root")
	}
	if got := query(t, c, "show listen_addresses"); got != "" {
		t.Errorf("listens on %q, want no address", got)
	}
	if got := query(t, c, "select default_version from pg_available_extensions where name = 'vector'"); got == "" {
		t.Error("pgvector is not available")
	}
}

// OPS-03
func TestStartAgainKeepsTheData(t *testing.T) {
	t.Parallel()
	config := newConfig(t)
	first := start(t, config)
	made := query(t, first, "select system_identifier::text from pg_control_system()")
	for name, end := range map[string]func(c *cluster.Cluster){
		"after a stop": func(c *cluster.Cluster) { c.Stop() },
		"after the server was killed": func(c *cluster.Cluster) {
			syscall.Kill(c.PID(), syscall.SIGKILL)
			<-c.Done()
		},
		// As if whoever started it had been killed and the server had not noticed.
		"while the old server still runs": func(*cluster.Cluster) {},
	} {
		end(first)
		next := start(t, config)
		if got := query(t, next, "select system_identifier::text from pg_control_system()"); got != made {
			t.Errorf("%s: another cluster, %s instead of %s", name, got, made)
		}
		<-first.Done()
		first = next
	}
}

// OPS-03
func TestStartAgainWhenAnotherProcessGotTheNumber(t *testing.T) {
	t.Parallel()
	config := newConfig(t)
	start(t, config).Stop()
	// A sleeper of PostgreSQL's own account, which it would believe to be a server.
	account, err := process.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	other, err := process.Start(process.Command{Path: "/bin/sleep", Args: []string{"600"}, Credential: account.Credential})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Stop(0)
	pidFile := filepath.Join(config.Data, "postmaster.pid")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.PID())+"\n"+config.Data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := account.Give(pidFile); err != nil {
		t.Fatal(err)
	}
	start(t, config)
	select {
	case <-other.Done():
		t.Error("the other process was stopped")
	default:
	}
}

// OPS-03
func TestStartSaysWhatIsWrongWithTheFolder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breakIt func(t *testing.T, data string)
		want    string
	}{
		"of another version": {func(t *testing.T, data string) {
			write(t, filepath.Join(data, "PG_VERSION"), "9\n")
		}, "made by PostgreSQL 9"},
		"of something else": {func(t *testing.T, data string) {
			write(t, filepath.Join(data, "holiday.jpg"), "")
		}, "is not empty and has no database"},
		"a file": {func(t *testing.T, data string) { write(t, data, "") }, "cannot be read"},
		"half a database": {func(t *testing.T, data string) {
			config := newConfig(t)
			write(t, filepath.Join(data, "PG_VERSION"), strconv.Itoa(config.Programs.Major)+"\n")
		}, "PostgreSQL does not start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := newConfig(t)
			c.breakIt(t, config.Data)
			running, err := cluster.Start(t.Context(), config)
			if err == nil {
				running.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
