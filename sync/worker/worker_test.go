package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/worker"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// checkArgs are those of a job that both containers have a handler for.
type checkArgs struct {
	Queue string `json:"queue"`
	N     int    `json:"n"`
}

func (checkArgs) Kind() string { return "check" }

func (a checkArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: a.Queue, MaxAttempts: 1}
}

// JOBS-03
func TestOneHandlerForANameInAQueue(t *testing.T) {
	t.Parallel()
	reg := worker.NewRegistry()
	handle := func(context.Context, checkArgs) error { return nil }
	for _, q := range []worker.Queue{worker.QueueAPI, worker.QueueWorker} {
		if err := worker.Register(reg, q, handle); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	if err := worker.Register(reg, worker.QueueWorker, handle); err == nil {
		t.Error("a second handler was taken")
	}
	if err := worker.Register(reg, "other", handle); err == nil {
		t.Error("a handler for an unknown queue was taken")
	}
}

// start runs a queue until the test ends.
func start(t *testing.T, o worker.Options) *worker.Runner {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	r, err := worker.NewRunner(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// queuer queues jobs without running any.
func queuer(t *testing.T, db *postgrestest.Database) *river.Client[pgx.Tx] {
	t.Helper()
	c, err := river.NewClient(riverpgxv5.New(db.API()), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// JOBS-02, JOBS-04
func TestAQueueRunsItsOwnHandlersAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ran := make(chan string, 10)
	registry := func(name string) *worker.Registry {
		reg := worker.NewRegistry()
		for _, q := range []worker.Queue{worker.QueueAPI, worker.QueueWorker} {
			if err := worker.Register(reg, q, func(_ context.Context, a checkArgs) error {
				ran <- name + " ran " + string(q) + "'s for " + a.Queue
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		return reg
	}
	insert := func(queue string) {
		if _, err := queuer(t, db).Insert(t.Context(), checkArgs{Queue: queue}, nil); err != nil {
			t.Fatal(err)
		}
	}
	insert("worker")
	api := start(t, worker.Options{Queue: worker.QueueAPI, Pool: db.API(), Registry: registry("api")})
	insert("api")
	if got := <-ran; got != "api ran api's for api" {
		t.Errorf("got %s", got)
	}
	// The api has had its turn by now, and the worker's job, the older one, waits.
	var waiting int
	db.QueryRow("select count(*) from river_job where queue = 'worker' and kind = 'check' and state = 'available'", nil, &waiting)
	if waiting != 1 {
		t.Errorf("%d jobs wait for the worker", waiting)
	}
	// Either can queue for the other.
	if err := api.Queue(t.Context(), checkArgs{Queue: "worker", N: 1}); err != nil {
		t.Fatal(err)
	}
	start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: registry("worker")})
	for range 2 {
		if got := <-ran; got != "worker ran worker's for worker" {
			t.Errorf("got %s", got)
		}
	}
}

// JOBS-06
func TestRunsOfAJobAreSerialisedForEachContainer(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var running, most atomic.Int32
	var first sync.Once
	var done sync.WaitGroup
	reg := worker.NewRegistry()
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, checkArgs) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		// The first one stays until another has come, to the lock or past it.
		first.Do(func() {
			for waiting := 0; waiting == 0 && running.Load() == 1; {
				db.QueryRow("select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'", nil, &waiting)
			}
		})
		running.Add(-1)
		done.Done()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// The api's waits for the worker's of the same name.
	answered := make(chan struct{})
	apiReg := worker.NewRegistry()
	var w *worker.Runner
	if err := worker.Register(apiReg, worker.QueueAPI, func(ctx context.Context, _ checkArgs) error {
		done.Add(1)
		if err := w.Queue(ctx, checkArgs{Queue: "worker", N: 100}); err != nil {
			return err
		}
		done.Wait()
		close(answered)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const jobs = 10
	done.Add(jobs)
	w = start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	for n := range jobs {
		if err := w.Queue(t.Context(), checkArgs{Queue: "worker", N: n}); err != nil {
			t.Fatal(err)
		}
	}
	api := start(t, worker.Options{Queue: worker.QueueAPI, Pool: db.API(), Registry: apiReg})
	if err := api.Queue(t.Context(), checkArgs{Queue: "api"}); err != nil {
		t.Fatal(err)
	}
	<-answered
	if most.Load() != 1 {
		t.Errorf("%d at once", most.Load())
	}
}

// TENANT-08, TENANT-12
func TestNoJobRunsWithoutItsCheck(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	checked := make(chan struct{}, 1)
	reg := worker.NewRegistry()
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, checkArgs) error {
		t.Error("it ran")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w := start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg, Check: func(context.Context) error {
		checked <- struct{}{}
		return errors.New("another tenant")
	}})
	if err := w.Queue(t.Context(), checkArgs{Queue: "worker"}); err != nil {
		t.Fatal(err)
	}
	<-checked
}

// A job that was running when its process died runs again, and does not keep an
// equal one from being queued.
func TestJobsOfADeadProcessAreTakenUp(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := queuer(t, db).Insert(t.Context(), checkArgs{Queue: "worker"}, nil); err != nil {
		t.Fatal(err)
	}
	db.Exec("update river_job set state = 'running', attempted_at = now(), attempt = 1, max_attempts = 3")
	ran := make(chan struct{})
	reg := worker.NewRegistry()
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, checkArgs) error { close(ran); return nil }); err != nil {
		t.Fatal(err)
	}
	start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	select {
	case <-ran:
	case <-time.After(30 * time.Second):
		t.Error("it was not taken up")
	}
}

func TestStartAndStopInAnyOrder(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	reg := worker.NewRegistry()
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, checkArgs) error { return nil }); err != nil {
		t.Fatal(err)
	}
	r, err := worker.NewRunner(worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for i, step := range []func(context.Context) error{r.Stop, r.Start, r.Start, r.Stop, r.Stop, r.Start, r.Stop} {
		if err := step(ctx); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
