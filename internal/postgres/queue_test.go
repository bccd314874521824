package postgres_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// countArgs are those of a job that only counts its runs.
type countArgs struct {
	N int `json:"n"`
}

func (countArgs) Kind() string { return "count" }

// counter is a handler that tells which runner ran which job.
type counter struct {
	river.WorkerDefaults[countArgs]
	queue string
	mu    *sync.Mutex
	runs  map[string]map[int]int // by queue of the runner and number of the job
}

func (c *counter) Work(_ context.Context, job *river.Job[countArgs]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[c.queue][job.Args.N]++
	return nil
}

// The queue runs with the grants that the migrations give, each job once and
// by a runner of its own queue. JOBS-02, JOBS-23
func TestQueueRunsUnderBothRoles(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	const each = 20
	runs := map[string]map[int]int{"api": {}, "worker": {}}
	var mu sync.Mutex

	var done []<-chan *river.Event
	newRunner := func(pool *pgxpool.Pool, queue string) *river.Client[pgx.Tx] {
		workers := river.NewWorkers()
		river.AddWorker(workers, &counter{queue: queue, mu: &mu, runs: runs})
		client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
			Logger:  slog.New(slog.DiscardHandler),
			Queues:  map[string]river.QueueConfig{queue: {MaxWorkers: 4}},
			Workers: workers,
		})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	// Two runners of the worker's queue race; one has the api's to itself.
	runners := []*river.Client[pgx.Tx]{newRunner(db.API(), "api"), newRunner(db.Worker(), "worker"), newRunner(db.Worker(), "worker")}
	for _, runner := range runners {
		events, stop := runner.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed)
		defer stop()
		done = append(done, events)
	}
	for n := range each {
		for _, queue := range []string{"api", "worker"} {
			// Either side queues jobs for itself and for the other.
			if _, err := runners[n%2].Insert(t.Context(), countArgs{N: n}, &river.InsertOpts{Queue: queue}); err != nil {
				t.Fatalf("queueing in %s: %v", queue, err)
			}
		}
	}
	for _, runner := range runners {
		if err := runner.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer runner.Stop(context.Background())
	}
	timeout := time.After(30 * time.Second)
	for range 2 * each {
		var event *river.Event
		select {
		case event = <-done[0]:
		case event = <-done[1]:
		case event = <-done[2]:
		case <-timeout:
			t.Fatal("not all jobs ran within 30 s")
		}
		if event.Kind != river.EventKindJobCompleted {
			t.Errorf("a job failed: %v", event.Job.Errors)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for queue, counts := range runs {
		for n := range each {
			if counts[n] != 1 {
				t.Errorf("job %d of %s ran %d times there", n, queue, counts[n])
			}
		}
	}
}
