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
	"os/user"
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

	// Throwaway gives up durability for speed, for a cluster that does not
	// outlive the process.
	Throwaway bool

	// Settings are further settings of postgres, as name=value.
	Settings []string
}

// A Cluster is a running PostgreSQL.
type Cluster struct {
	process *process.Process
	sockets string // the folder of the Unix socket
	grace   time.Duration
}

const (
	superuser = "postgres"

	// How long a server may take to come up: it may have a crash to recover from.
	startTimeout = time.Minute
)

// Start starts a cluster, after making it where there is none, and returns
// when it answers. A server that was left over by a killed process on the same
// folder is stopped first.
func Start(ctx context.Context, c Config) (_ *Cluster, err error) {
	owner, err := findOwner()
	if err != nil {
		return nil, err
	}
	if err := create(ctx, c, owner); err != nil {
		return nil, err
	}
	leftover, err := stopLeftover(ctx, c.Data)
	if err != nil {
		return nil, err
	}

	// Below the temporary folder and short, since the path of a socket may not
	// exceed 107 bytes, whatever the path of the data is.
	sockets, err := os.MkdirTemp("/tmp", "pbmb-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(sockets)
		}
	}()
	if err := owner.give(sockets); err != nil {
		return nil, err
	}

	cluster := &Cluster{sockets: sockets, grace: 20 * time.Second}
	for {
		err = cluster.start(ctx, c, owner)
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
func (c *Cluster) Stop() {
	c.process.Stop(c.grace)
	os.RemoveAll(c.sockets) // a folder in /tmp that stays behind harms nobody
}

// create makes the cluster's folder. It appears under its name only when it is
// complete, so that an interrupted start leaves nothing half-made.
func create(ctx context.Context, c Config, owner owner) error {
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
	parent, err := filepath.Abs(filepath.Dir(c.Data))
	if err != nil {
		return err
	}
	if err := owner.reaches(parent); err != nil {
		return err
	}
	unfinished := c.Data + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return err
	}
	if err := owner.give(unfinished); err != nil {
		return err
	}
	// Whoever can open the socket is trusted; its folder is closed to others.
	initdb := exec.CommandContext(ctx, filepath.Join(c.Programs.Bin, "initdb"), "--pgdata", unfinished, "--no-sync",
		"--username", superuser, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions")
	initdb.Dir = "/"
	initdb.Env = environment()
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: owner.credential}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("making a database in %s: %w: %s", c.Data, err, lastLine(out))
	}
	if err := os.Remove(c.Data); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(unfinished, c.Data)
}

func (c *Cluster) start(ctx context.Context, config Config, owner owner) error {
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
		Credential: owner.credential,
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
			child.Stop(c.grace)
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

// An owner is who PostgreSQL runs as, and so who owns its files.
type owner struct {
	credential *syscall.Credential // nil: who we are
	name       string
}

// findOwner picks the user: ourselves, or postgres where we are root, as which
// PostgreSQL refuses to run.
func findOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return owner{}, errors.New("PostgreSQL does not run as root and there is no user postgres")
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return owner{}, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return owner{}, err
	}
	return owner{credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, name: account.Username}, nil
}

// give makes the owner the owner of an empty folder.
func (o owner) give(folder string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(folder, int(o.credential.Uid), int(o.credential.Gid))
}

// reaches reports, as an error, a folder on the way to path that the owner
// cannot pass.
func (o owner) reaches(path string) error {
	if o.credential == nil {
		return nil
	}
	for folder := path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		passable := info.Mode()&0o001 != 0 ||
			stat.Uid == o.credential.Uid && info.Mode()&0o100 != 0 ||
			stat.Gid == o.credential.Gid && info.Mode()&0o010 != 0
		if !passable {
			return fmt.Errorf("PostgreSQL runs as the user %s, who cannot reach %s: %s is closed to others", o.name, path, folder)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
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
