package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/worker"
)

// What is kept of a failed job has PostgreSQL's own message and no parameter of a
// statement, and of a panic nothing.
func TestNothingOfAFailureIsKeptButItsMessage(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	reg := worker.NewRegistry()
	err := worker.Register(reg, worker.QueueWorker, func(ctx context.Context, a checkArgs) error {
		if a.N == 1 {
			panic("a MARK in a panic")
		}
		_, err := db.Worker().Exec(ctx, "insert into search_state (name, value) values ($1, $2), ($1, $2)", "a MARK in a parameter", "MARK")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	if err := w.Queue(t.Context(), checkArgs{Queue: "worker"}, checkArgs{Queue: "worker", N: 1}); err != nil {
		t.Fatal(err)
	}
	for done := 0; done < 2; {
		db.QueryRow("select count(*) from river_job where state = 'discarded'", nil, &done)
	}
	var kept string
	db.QueryRow("select string_agg(j::text, ' ') from river_job j", nil, &kept)
	if strings.Contains(kept, "MARK") || !strings.Contains(kept, "duplicate key value") || !strings.Contains(kept, "the job panicked") {
		t.Errorf("kept: %s", kept)
	}
}

// A job that runs when its process is told to end, ends in peace; one that waits is
// left for later.
func TestStoppingLetsAJobEnd(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	began, mayEnd := make(chan struct{}, 2), make(chan struct{})
	reg := worker.NewRegistry()
	err := worker.Register(reg, worker.QueueWorker, func(ctx context.Context, _ checkArgs) error {
		began <- struct{}{}
		select {
		case <-mayEnd:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	if err := w.Queue(t.Context(), checkArgs{Queue: "worker"}); err != nil {
		t.Fatal(err)
	}
	await(t, "the job", began)
	stopped := make(chan error)
	go func() { stopped <- w.Stop(context.WithoutCancel(t.Context())) }()
	// Whatever is queued from here on, nobody takes: the runner is stopping.
	time.AfterFunc(500*time.Millisecond, func() { close(mayEnd) })
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if _, err := queuer(t, db).Insert(t.Context(), checkArgs{Queue: "worker", N: 1}, nil); err != nil {
		t.Fatal(err)
	}
	var states string
	db.QueryRow("select string_agg(state::text, ' ' order by id) from river_job", nil, &states)
	if states != "completed available" || len(began) > 0 {
		t.Errorf("the jobs are %s", states)
	}
}
