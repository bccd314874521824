package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/cluster"
	"github.com/pbmb/pbmb/internal/process"
	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
)

// A child is a program that was started and answers.
type child interface {
	Done() <-chan struct{} // closed when it has ended
	Stop()                 // ends it and waits
}

var _ child = (*cluster.Cluster)(nil)

// programs are the child processes. One that ends by itself is started again,
// so that the api meets what it would meet anywhere: a database that is away
// for a moment.
type programs struct {
	log  *slog.Logger
	data *folder
	fail context.CancelCauseFunc // ends the demo

	mu       sync.Mutex
	stopping bool
	keepers  []*keeper // in the order in which they were started
}

// A keeper keeps one program running.
type keeper struct {
	name    string
	start   func(context.Context) (child, error)
	cancel  context.CancelFunc
	stopped chan struct{}
}

// A program that ended this often within this time is not worth starting again.
const (
	restarts       = 5
	restartsWithin = time.Minute
)

// keep starts a program and sees to it that it runs until stop.
func (p *programs) keep(ctx context.Context, name string, start func(context.Context) (child, error)) error {
	first, err := start(ctx)
	if err != nil {
		return err
	}
	life, cancel := context.WithCancel(context.Background())
	k := &keeper{name: name, start: start, cancel: cancel, stopped: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		cancel()
		first.Stop()
		return context.Canceled
	}
	p.keepers = append(p.keepers, k)
	go p.watch(life, k, first)
	return nil
}

func (p *programs) watch(ctx context.Context, k *keeper, running child) {
	defer close(k.stopped)
	var ends []time.Time
	for {
		select {
		case <-ctx.Done():
			running.Stop()
			return
		case <-running.Done():
		}
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		ends = append(slices.DeleteFunc(ends, func(t time.Time) bool { return now.Sub(t) > restartsWithin }), now)
		if len(ends) > restarts {
			p.fail(fmt.Errorf("%s keeps ending: see %s", k.name, p.data.path))
			return
		}
		p.log.Warn("a program ended by itself and is started again", "program", k.name)
		var err error
		if running, err = k.start(ctx); err != nil {
			if ctx.Err() == nil {
				p.fail(err)
			}
			return
		}
	}
}

// stop ends the programs, the last one first, and waits for them.
func (p *programs) stop() {
	p.mu.Lock()
	p.stopping = true
	keepers := p.keepers
	p.mu.Unlock()
	for _, k := range slices.Backward(keepers) {
		k.cancel()
		<-k.stopped
	}
}

// startPostgres starts the private database.
func (p *programs) startPostgres(ctx context.Context) (*cluster.Cluster, error) {
	found, err := cluster.Find()
	if err != nil {
		return nil, fmt.Errorf("%w: run scripts/setup", err)
	}
	sockets, err := p.data.sockets("postgres")
	if err != nil {
		return nil, err
	}
	var database *cluster.Cluster
	err = p.keep(ctx, "PostgreSQL", func(ctx context.Context) (child, error) {
		c, err := cluster.Start(ctx, cluster.Config{
			Programs: found,
			Data:     filepath.Join(p.data.path, "postgres"),
			Sockets:  sockets,
			// Plans are simple and short here; compiling them costs more than it saves.
			// The first sync fills an empty database, and plans are good only once
			// its tables have been counted: that is looked after soon.
			Settings: []string{"jit=off", "max_wal_senders=0", "wal_level=minimal", "autovacuum_naptime=5s"},
		})
		if err != nil {
			return nil, err
		}
		if database == nil { // a later one has the same addresses
			database = c
		}
		return c, nil
	})
	return database, err
}

// startCerbos starts Cerbos on the shipped policies and returns its address.
func (p *programs) startCerbos(ctx context.Context, getenv func(string) string) (string, error) {
	program, err := cerbos.Find(getenv)
	if err != nil {
		return "", err
	}
	if program, err = p.reachable(program); err != nil {
		return "", err
	}
	sockets, err := p.data.sockets("cerbos")
	if err != nil {
		return "", err
	}
	socket := filepath.Join(sockets, "cerbos.sock")
	policyFolder := filepath.Join(p.data.path, "policies")
	if err := cerbos.LayPolicies(policyFolder, defaults.Files); err != nil {
		return "", err
	}
	configFile := filepath.Join(p.data.path, "cerbos.yaml")
	if err := os.WriteFile(configFile, cerbos.Config(socket, policyFolder), 0o644); err != nil {
		return "", err
	}
	err = p.keep(ctx, "Cerbos", func(ctx context.Context) (child, error) {
		return p.runCerbos(ctx, program, configFile, socket)
	})
	return "unix:" + socket, err
}

// A server is a child process without more to it.
type server struct {
	*process.Process
}

func (s server) Stop() { s.Process.Stop(5 * time.Second) }

func (p *programs) runCerbos(ctx context.Context, program, configFile, socket string) (child, error) {
	log, err := os.OpenFile(filepath.Join(p.data.path, "cerbos.log"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// A killed process leaves its sockets behind, which the next could not open.
	for _, name := range []string{socket, socket + ".http"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	command := cerbos.Command(ctx, program, configFile)
	started, err := process.Start(process.Command{
		Path:       command.Path,
		Args:       command.Args[1:],
		Env:        command.Env,
		Dir:        "/",
		Credential: p.data.account.Credential,
		Output:     log,
	})
	if err != nil {
		return nil, err
	}
	running := server{started}
	if err := cerbos.Answers(ctx, socket, running.Done()); err != nil {
		running.Stop()
		return nil, fmt.Errorf("Cerbos does not start (%w): see %s", err, log.Name())
	}
	return running, nil
}

// reachable is a path of the program that its account can reach. Where that is
// not the one it was found under, as in a checkout below /root, it is copied.
func (p *programs) reachable(program string) (string, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	if p.data.account.Reaches(program) == nil {
		return program, nil
	}
	source, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("cerbos-%d-%d", info.Size(), info.ModTime().Unix())
	copied := filepath.Join(p.data.path, name)
	if _, err := os.Stat(copied); err == nil {
		return copied, nil
	}
	old, err := os.ReadDir(p.data.path)
	if err != nil {
		return "", err
	}
	for _, entry := range old {
		if strings.HasPrefix(entry.Name(), "cerbos-") {
			os.Remove(filepath.Join(p.data.path, entry.Name())) // only space is lost where it stays
		}
	}
	target, err := os.OpenFile(copied+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	defer target.Close()
	if _, err := io.Copy(target, source); err != nil {
		return "", err
	}
	if err := target.Close(); err != nil {
		return "", err
	}
	return copied, os.Rename(copied+".new", copied)
}
