// Package cluster runs a private PostgreSQL as a child process: found on the
// machine, never as root, listening on a Unix socket alone. It serves the demo
// and the tests; a deployment brings its own database.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pbmb/pbmb/internal/process"
)

// A Config says where a cluster lives.
type Config struct {
	Programs Programs

	// Data is the cluster's folder, made when it is missing. Whoever calls sees
	// to it that no other process uses the same folder.
	Data string

	// Sockets is an existing folder for the Unix socket, closed to everybody but
	// the account that PostgreSQL runs as: whoever can open the socket is
	// trusted. The path of a socket may not exceed 107 bytes, so this is a short
	// one, wherever the data lies.
	Sockets string

	// Throwaway gives up durability for speed, for a cluster that does not
	// outlive the process.
	Throwaway bool

	// Settings are further settings of postgres, as name=value.
	Settings []string
}

// A Cluster is a running PostgreSQL.
type Cluster struct {
	process *process.Process
	sockets string
}

const (
	superuser = "postgres"

	// A server that comes up may have a crash to recover from, and one that goes
	// down has to write what is not written yet.
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
)

// Start starts a cluster, after making it where there is none, and returns
// when it answers. A server that was left over by a killed process on the same
// folder is stopped first.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	account, err := process.Unprivileged()
	if err != nil {
		return nil, err
	}
	if err := create(ctx, c, account); err != nil {
		return nil, err
	}
	leftover, err := stopLeftover(ctx, c.Data)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{sockets: c.Sockets}
	for {
		err = cluster.start(ctx, c, account)
		if err == nil {
			return cluster, nil
		}
		// The server's own processes may take a moment to follow a killed server.
		if !leftover || ctx.Err() != nil {
			return nil, err
		}
		leftover = false
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
		}
	}
}

// URL is the address of a database for a role that logs in without a password.
func (c *Cluster) URL(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	u.RawQuery = url.Values{"host": {c.sockets}}.Encode()
	return u.String()
}

// SuperuserURL is the address with which to bootstrap.
func (c *Cluster) SuperuserURL() string { return c.URL(superuser, "postgres") }

// PID is the process id of the server.
func (c *Cluster) PID() int { return c.process.PID() }

// Done is closed when the server has ended, stopped or not.
func (c *Cluster) Done() <-chan struct{} { return c.process.Done() }

// Stop ends every session and stops the server.
func (c *Cluster) Stop() { c.process.Stop(stopTimeout) }

// create makes the cluster's folder. It appears under its name only when it is
// complete, so that an interrupted start leaves nothing half-made.
func create(ctx context.Context, c Config, account process.Account) error {
	switch version, err := os.ReadFile(filepath.Join(c.Data, "PG_VERSION")); {
	case err == nil:
		if made := strings.TrimSpace(string(version)); made != strconv.Itoa(c.Programs.Major) {
			return fmt.Errorf("the database in %s was made by PostgreSQL %s and the newest one here is %d", c.Data, made, c.Programs.Major)
		}
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the database in %s cannot be read: %w", c.Data, err)
	}
	if entries, err := os.ReadDir(c.Data); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and has no database", c.Data)
	}
	if err := account.Reaches(filepath.Dir(c.Data)); err != nil {
		return err
	}
	unfinished := c.Data + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return err
	}
	if err := account.Give(unfinished); err != nil {
		return err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(c.Programs.Bin, "initdb"), "--pgdata", unfinished, "--no-sync",
		"--username", superuser, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions")
	initdb.Dir = "/"
	initdb.Env = environment()
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: account.Credential}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("making a database in %s: %w: %s", c.Data, err, lastLine(out))
	}
	if err := os.Remove(c.Data); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(unfinished, c.Data)
}

func (c *Cluster) start(ctx context.Context, config Config, account process.Account) error {
	log, err := os.OpenFile(config.Data+".log", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	settings := append([]string{
		"listen_addresses=",
		"unix_socket_directories=" + c.sockets,
		"unix_socket_permissions=0700",
		"logging_collector=off",
		"log_min_messages=warning",
		"log_parameter_max_length_on_error=0",
	}, config.Settings...)
	stop := syscall.SIGINT // ends sessions and writes what is left to write
	if config.Throwaway {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
		stop = syscall.SIGQUIT // ends at once
	}
	args := []string{"-D", config.Data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	child, err := process.Start(process.Command{
		Path:       filepath.Join(config.Programs.Bin, "postgres"),
		Args:       args,
		Env:        environment(),
		Dir:        "/",
		Credential: account.Credential,
		Output:     log,
		Terminate:  stop,
	})
	if err != nil {
		return err
	}
	c.process = child

	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := pgconn.Connect(ctx, c.SuperuserURL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-child.Done():
			out, _ := os.ReadFile(log.Name()) // without it the message is only shorter
			return fmt.Errorf("PostgreSQL does not start on %s: %s", config.Data, complaint(out))
		case <-ctx.Done():
			child.Stop(stopTimeout)
			return fmt.Errorf("PostgreSQL does not answer on %s: %w", config.Data, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stopLeftover stops a server that still runs on the folder although whoever
// started it is gone, and reports whether there was a trace of one.
func stopLeftover(ctx context.Context, data string) (bool, error) {
	pidFile := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return true, nil // PostgreSQL says itself what it does not like about it
	}
	if syscall.Kill(pid, 0) != nil {
		return true, nil // dead: PostgreSQL removes the file itself
	}
	// A server's working directory is its data. Another process has got the
	// number since, and PostgreSQL would take it for a server.
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || !sameFile(cwd, data) {
		return true, os.Remove(pidFile)
	}
	for _, ask := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 15 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		syscall.Kill(pid, ask.signal) // gone already is what is wanted
		for deadline := time.Now().Add(ask.wait); time.Now().Before(deadline); {
			if syscall.Kill(pid, 0) != nil {
				return true, nil
			}
			select {
			case <-ctx.Done():
				return true, ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return true, fmt.Errorf("the server %d of an earlier run on %s does not stop", pid, data)
}

func sameFile(a, b string) bool {
	ai, err := os.Stat(a)
	if err != nil {
		return false
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}

// environment is what the programs get: nothing of ours, whose PG* variables
// would change what they do.
func environment() []string {
	return []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
}

func lastLine(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(lines[len(lines)-1])
}

// complaint is the line of a log that says why a server did not start.
func complaint(log []byte) string {
	for line := range bytes.Lines(log) {
		if _, message, found := bytes.Cut(line, []byte("FATAL:")); found {
			return string(bytes.TrimSpace(message))
		}
	}
	return lastLine(log)
}
