package demo

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/cluster"
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

	cerbos string // its program, once it was started

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
	again   chan chan error // asks for a restart, and is told how that ended
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
	k := &keeper{name: name, start: start, cancel: cancel, stopped: make(chan struct{}), again: make(chan chan error)}
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
		case done := <-k.again:
			running.Stop()
			var err error
			running, err = k.start(ctx)
			done <- err
			if err != nil {
				if ctx.Err() == nil {
					p.fail(err)
				}
				return
			}
			continue
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

// restart ends one program and starts it again, and returns when it answers.
func (p *programs) restart(ctx context.Context, name string) error {
	p.mu.Lock()
	i := slices.IndexFunc(p.keepers, func(k *keeper) bool { return k.name == name })
	p.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("this demo does not run %s itself", name)
	}
	k, done := p.keepers[i], make(chan error, 1)
	select {
	case k.again <- done:
	case <-k.stopped:
		return fmt.Errorf("%s is stopped", name)
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-done
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
