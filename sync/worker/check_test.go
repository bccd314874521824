package worker_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/worker"
)

// spied tells of each run of a container's checks.
type spied func(context.Context) error

func (s spied) Run(ctx context.Context) error { return s(ctx) }

func (s spied) RefreshIdle(ctx context.Context) (int, error) { return 0, s(ctx) }

// idle has a queue run no checks or connections.
var idle spied = func(context.Context) error { return nil }

func queueCheck(t *testing.T, db *postgrestest.Database, q worker.Queue) {
	t.Helper()
	err := postgres.Tx(t.Context(), db.API(), func(tx pgx.Tx) error { return worker.QueueCheckIn(t.Context(), tx, q) })
	if err != nil {
		t.Fatal(err)
	}
}

// JOBS-05, JOBS-06: the api has the worker make its checks, and waits for them; two
// checks of the api never overlap.
func TestTheAPIWaitsForTheWorkersChecks(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	ran, working, mayEnd := make(chan string, 10), make(chan struct{}), make(chan struct{})
	api, err := worker.NewAPI(db.API(), worker.APIJobs{
		Rekeyer: rekeyed(make(chan struct{}, 10)), Connections: idle,
		Checks: spied(func(context.Context) error { ran <- "api"; return nil }),
	}, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.NewWorker(db.Worker(), nil, spied(func(context.Context) error {
		working <- struct{}{}
		<-mayEnd
		ran <- "worker"
		return nil
	}), nil, log)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*worker.Runner{"api": api, "worker": w} {
		if !slices.Contains(r.Jobs(), "check") {
			t.Errorf("the %s has no handler of its own for checks", name)
		}
	}
	queueCheck(t, db, worker.QueueAPI)
	run(t, api)
	if got := <-ran; got != "api" {
		t.Errorf("the %s ran first", got)
	}
	// With the worker stopped its checks stay to be made, and the api's job waits.
	for queue, want := range map[string]string{"worker": "available", "api": "running"} {
		var got string
		for got != want { // a test that never comes there ends by its time
			db.QueryRow("select coalesce(max(state::text), '') from river_job where kind = 'check' and queue = $1", []any{queue}, &got)
		}
	}
	// Another of the api's waits for the first. It would tell of itself at once.
	queueCheck(t, db, worker.QueueAPI)
	for waiting := 0; waiting == 0; {
		db.QueryRow("select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'", nil, &waiting)
	}
	if len(ran) > 0 {
		t.Errorf("%s ran beside the api's first", <-ran)
	}
	run(t, w)
	await(t, "the worker's checks", working)
	mayEnd <- struct{}{}
	if got := <-ran; got != "worker" {
		t.Errorf("the %s ran second", got)
	}
	if got := <-ran; got != "api" {
		t.Errorf("the %s ran third", got)
	}
	await(t, "the worker's checks for the second", working)
	mayEnd <- struct{}{}
	<-ran
	for left := 1; left > 0; {
		db.QueryRow("select count(*) from river_job where kind = 'check' and state <> 'completed'", nil, &left)
	}
}

// run starts a runner until the test ends.
func run(t *testing.T, r *worker.Runner) {
	t.Helper()
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// JOBS-07: what takes the key of people's tokens is the api's alone. A job of such
// a name in the worker's queue, or of a name that nobody knows, is run by neither
// and keeps nothing else from running.
func TestJobsOfPeoplesTokensAreTheAPIs(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	ran, checked := make(chan struct{}, 10), make(chan struct{}, 10)
	api, err := worker.NewAPI(db.API(), worker.APIJobs{Rekeyer: rekeyed(ran), Connections: spied(func(context.Context) error { ran <- struct{}{}; return nil }), Checks: idle}, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.NewWorker(db.Worker(), nil, spied(func(context.Context) error { checked <- struct{}{}; return nil }), nil, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"rekey_tokens", "refresh_idle_connections"} {
		if !slices.Contains(api.Jobs(), job) || slices.Contains(w.Jobs(), job) {
			t.Errorf("%s: the api has %q and the worker %q", job, api.Jobs(), w.Jobs())
		}
	}
	for _, job := range []string{"rekey_tokens", "refresh_idle_connections", "unheard_of"} {
		db.Exec("insert into river_job (kind, args, max_attempts, queue) values ('" + job + "', '{}', 1, 'worker')")
	}
	queueCheck(t, db, worker.QueueWorker)
	run(t, w)
	await(t, "the check behind them", checked)
	for left := 1; left > 0; {
		db.QueryRow("select count(*) from river_job where queue = 'worker' and kind in ('rekey_tokens', 'refresh_idle_connections', 'unheard_of') and state <> 'discarded'", nil, &left)
	}
	if len(ran) > 0 {
		t.Error("a job of people's tokens ran for the worker")
	}
	// In the api's queue they run.
	run(t, api)
	if err := api.Queue(t.Context(), worker.RefreshIdleArgs{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first job of the start, and this one
		await(t, "a job of people's tokens", ran)
	}
}
