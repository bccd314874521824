package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/pbmb/pbmb/internal/postgres"
)

// A Runner takes the jobs of one queue.
type Runner struct {
	client *river.Client[pgx.Tx]
	o      Options

	mu      sync.Mutex // guards started
	started bool
}

// Options are those of a [Runner].
type Options struct {
	Queue    Queue
	Pool     *pgxpool.Pool // of the role whose queue it is
	Registry *Registry
	Log      *slog.Logger

	// Check runs before every job of every kind; its error refuses the job.
	Check func(context.Context) error

	// First is queued when the runner starts.
	First []river.JobArgs
}

// Jobs lists by name what the runner has a handler for.
func (r *Runner) Jobs() []string { return r.o.Registry.Jobs(r.o.Queue) }

// atOnce is how many jobs a runner runs at the same time. Each holds a connection
// for its lock, and uses another.
const atOnce = 3

// NewRunner returns a Runner that has not started.
func NewRunner(o Options) (*Runner, error) {
	workers := o.Registry.workers[o.Queue]
	if workers == nil {
		return nil, fmt.Errorf("there is no queue %q", o.Queue)
	}
	*o.Registry.guards[o.Queue] = guard{pool: o.Pool, check: o.Check, log: o.Log}
	client, err := river.NewClient(riverpgxv5.New(o.Pool), &river.Config{
		Queues:       map[string]river.QueueConfig{string(o.Queue): {MaxWorkers: atOnce}},
		Workers:      workers,
		PeriodicJobs: schedule(),
		Logger:       slog.New(quiet{o.Log.Handler()}),
		ErrorHandler: logged{o.Log},
		// To queue a job of the other container, which has its handler.
		SkipUnknownJobCheck: true,
		// It would need to own the tables, which the migrator does.
		ReindexerSchedule: river.NeverSchedule(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the runner of the queue %s: %w", o.Queue, err)
	}
	return &Runner{client: client, o: o}, nil
}

// Start starts taking jobs, until [Runner.Stop]; the context is for starting
// alone. A second call does nothing.
func (r *Runner) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return nil
	}
	if err := r.o.Registry.recover(ctx, r.o.Pool, r.o.Queue); err != nil {
		return fmt.Errorf("taking up jobs that were left: %w", postgres.Translate(err))
	}
	// Cancelling what is given to River's Start would break jobs off.
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("starting the job queue: %w", postgres.Translate(err))
	}
	r.started = true
	return r.Queue(ctx, r.o.First...)
}

// stopTime is how long jobs may go on once the runner stops.
const stopTime = 5 * time.Second

// Stop takes no more jobs and waits for those that run, which are broken off when
// they take long; they run again later. It returns at the latest with the context.
func (r *Runner) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return nil
	}
	r.started = false
	soft, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := r.client.Stop(soft)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.client.StopAndCancel(ctx)
	}
	if err != nil {
		return fmt.Errorf("stopping the job queue: %w", err)
	}
	return nil
}

// Queue queues jobs, each in the queue that its arguments name. One that waits
// already is not queued twice.
func (r *Runner) Queue(ctx context.Context, jobs ...river.JobArgs) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, args := range jobs {
		params[i].Args = args
	}
	if _, err := r.client.InsertMany(ctx, params); err != nil {
		return fmt.Errorf("queuing jobs: %w", postgres.Translate(err))
	}
	return nil
}

// QueueIn queues jobs as a part of tx, for a process that runs none.
func QueueIn(ctx context.Context, tx pgx.Tx, jobs ...river.JobArgs) error {
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{})
	if err != nil {
		return fmt.Errorf("queuing jobs: %w", err)
	}
	for _, args := range jobs {
		if _, err := client.InsertTx(ctx, tx, args, nil); err != nil {
			return fmt.Errorf("queuing the job %s: %w", args.Kind(), postgres.Translate(err))
		}
	}
	return nil
}

// logged writes failed jobs to our log. River keeps their errors with the job.
type logged struct{ log *slog.Logger }

func (l logged) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.log.ErrorContext(ctx, "a job failed", "job", job.Kind, "queue", job.Queue, "attempt", job.Attempt, "error", err)
	return nil
}

func (l logged) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	l.log.ErrorContext(ctx, "a job panicked", "job", job.Kind, "queue", job.Queue, "attempt", job.Attempt, "panic", value, "trace", trace)
	return nil
}

// quiet lets only warnings of River through: it tells of each start and stop.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
