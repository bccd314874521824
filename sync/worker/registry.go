package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/pbmb/pbmb/internal/postgres"
)

// A Registry has the handlers of every job by name and queue: one name may have
// a handler in each container.
type Registry struct {
	workers map[Queue]*river.Workers
	taken   map[pair]bool
	guards  map[Queue]*guard
}

type pair struct {
	name  string
	queue Queue
}

// NewRegistry returns a Registry without handlers.
func NewRegistry() *Registry {
	r := &Registry{workers: map[Queue]*river.Workers{}, taken: map[pair]bool{}, guards: map[Queue]*guard{}}
	for _, q := range []Queue{QueueAPI, QueueWorker} {
		r.workers[q], r.guards[q] = river.NewWorkers(), &guard{}
	}
	return r
}

// Register makes handle the handler of a job's name in a queue. A pair that has
// one already is an error: the process must not start.
func Register[Args river.JobArgs](r *Registry, q Queue, handle func(context.Context, Args) error) error {
	var args Args
	p := pair{args.Kind(), q}
	switch {
	case r.workers[q] == nil:
		return fmt.Errorf("registering the job %s: there is no queue %q", p.name, q)
	case r.taken[p]:
		return fmt.Errorf("registering the job %s: the queue %s has a handler for it", p.name, q)
	}
	r.taken[p] = true
	return river.AddWorkerSafely(r.workers[q], &handler[Args]{handle: handle, guard: r.guards[q], pair: p})
}

// Jobs lists by name what has a handler in a queue.
func (r *Registry) Jobs(q Queue) (names []string) {
	for p := range r.taken {
		if p.queue == q {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

// A handler is what River knows of a job.
type handler[Args river.JobArgs] struct {
	river.WorkerDefaults[Args]
	handle func(context.Context, Args) error
	guard  *guard
	pair   pair
}

// Timeout ends a job that hangs, and lets River take one over whose process died
// unnoticed. A sync of a large tenant takes hours; what waits for others within a
// job has limits of its own.
func (h *handler[Args]) Timeout(*river.Job[Args]) time.Duration { return 12 * time.Hour }

func (h *handler[Args]) Work(ctx context.Context, job *river.Job[Args]) error {
	return h.guard.run(ctx, h.pair, func() error { return h.handle(ctx, job.Args) })
}

// A guard is what stands before every job of a queue. A runner sets it.
type guard struct {
	pool  *pgxpool.Pool
	check func(context.Context) error
	log   *slog.Logger
}

// run calls f after the check, while nobody else runs the same job of the queue.
func (g *guard) run(ctx context.Context, p pair, f func() error) error {
	if g.check != nil {
		if err := g.check(ctx); err != nil {
			return err
		}
	}
	conn, err := g.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the job %s: %w", p.name, postgres.Translate(err))
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1, $2)", jobLock, p.key()); err != nil {
		// The lock may or may not be ours: the connection's end frees it.
		conn.Conn().Close(context.WithoutCancel(ctx))
		return fmt.Errorf("waiting for the job %s: %w", p.name, postgres.Translate(err))
	}
	defer unlock(ctx, conn, p)
	return g.told(ctx, p, f)
}

// told calls f. What its error or its panic says is kept with the job, for all who
// may look at the queue: of a driver's error PostgreSQL's own message alone, and of
// a panic, which may hold anything, nothing.
func (g *guard) told(ctx context.Context, p pair, f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			g.log.ErrorContext(ctx, "a job panicked", "job", p.name, "queue", string(p.queue), "panic", value, "trace", string(debug.Stack()))
			err = errors.New("the job panicked: the log says more")
		}
	}()
	return postgres.Translate(f())
}

func unlock(ctx context.Context, conn *pgxpool.Conn, p pair) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "select pg_advisory_unlock($1, $2)", jobLock, p.key()); err != nil {
		conn.Conn().Close(ctx)
	}
}

// recover makes jobs available again that a process left running when it died:
// nobody runs a job whose lock is free.
func (r *Registry) recover(ctx context.Context, pool *pgxpool.Pool, q Queue) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for p := range r.taken {
		if p.queue != q {
			continue
		}
		var free bool
		if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1, $2)", jobLock, p.key()).Scan(&free); err != nil {
			return err
		}
		if !free {
			continue
		}
		// Of jobs of which one at most may wait, one does the work of all.
		_, err := conn.Exec(ctx, `
			update river_job j set
				state = case when spare then 'discarded'::river_job_state else 'available' end,
				finalized_at = case when spare then now() end,
				scheduled_at = now()
			from (
				select l.id, exists (
					select from river_job o where o.unique_key = l.unique_key
						and (o.state = 'running' and o.id > l.id or o.state <> 'running' and river_job_state_in_bitmask(o.unique_states, o.state))
				) as spare
				from river_job l where l.queue = $1 and l.kind = $2 and l.state = 'running'
			) as left_over
			where j.id = left_over.id`,
			string(q), p.name)
		unlock(ctx, conn, p)
		if err != nil {
			return err
		}
	}
	return nil
}

// jobLock is the class of the advisory locks of jobs. Its value means nothing.
const jobLock = 0x70626d62

// key is the same in every process. Two jobs whose keys collide wait for each
// other, which does no harm.
func (p pair) key() int32 {
	h := fnv.New32a()
	h.Write([]byte(p.name + "\x00" + string(p.queue)))
	return int32(h.Sum32())
}
