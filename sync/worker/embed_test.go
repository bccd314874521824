package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/bookchange"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/sync/worker"
)

// embedArgs are those with which a book change queues the job that follows it.
type embedArgs struct {
	ChangesOnly bool `json:"changes_only"`
}

func (embedArgs) Kind() string { return "embed" }

// An embedder runs the job as far as it reads what changed, with a stop before its
// first read and after its last.
type embedder struct {
	log *bookchange.Log

	began, read, mayRead, mayEnd chan struct{}

	mu   sync.Mutex // guards seen
	seen []string
}

func (e *embedder) run(ctx context.Context, args embedArgs) error {
	e.began <- struct{}{}
	<-e.mayRead
	u, err := e.log.Unread(ctx)
	if err == nil {
		err = e.log.Seen(ctx, u)
	}
	e.mu.Lock()
	for _, el := range u.Elements {
		e.seen = append(e.seen, el.ID)
	}
	if !args.ChangesOnly {
		e.seen = append(e.seen, "args of somebody else's")
	}
	e.mu.Unlock()
	e.read <- struct{}{}
	<-e.mayEnd
	return err
}

// whole lets one run begin, read and end.
func (e *embedder) whole(t *testing.T) {
	t.Helper()
	await(t, "the run", e.began)
	e.mayRead <- struct{}{}
	await(t, "the reading", e.read)
	e.mayEnd <- struct{}{}
}

func (e *embedder) saw(t *testing.T, when string, want ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.seen, want) {
		t.Errorf("%s: the runs saw %q, want %q", when, e.seen, want)
	}
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not come", what)
	}
}

// JOBS-15
func TestNoCommittedChangeIsMissed(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	e := &embedder{
		log: bookchange.NewLog(db.Worker()), began: make(chan struct{}), read: make(chan struct{}),
		mayRead: make(chan struct{}), mayEnd: make(chan struct{}),
	}
	reg := worker.NewRegistry()
	// Another job of the queue shows that the runner has had its turn.
	turn := make(chan struct{})
	if err := worker.Register(reg, worker.QueueWorker, e.run); err != nil {
		t.Fatal(err)
	}
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, checkArgs) error { turn <- struct{}{}; return nil }); err != nil {
		t.Fatal(err)
	}
	begin := func(id string) pgx.Tx {
		t.Helper()
		tx, err := db.API().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		by := &policies.Principal{Kind: policies.Person, ID: "p", Via: policies.ViaCLI}
		if err := bookchange.Record(t.Context(), tx, by, bookchange.Element{Kind: "term", ID: id}, nil, nil); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	commit := func(tx pgx.Tx) {
		t.Helper()
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() (n int) {
		db.QueryRow("select count(*) from river_job where kind = 'embed' and state = 'available'", nil, &n)
		return n
	}

	// A job waits, and another change is still open: the job is not taken.
	commit(begin("first"))
	open := begin("open")
	if n := waiting(); n != 1 {
		t.Errorf("%d jobs wait beside an open change", n)
	}
	w := start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	for range 2 {
		if err := w.Queue(t.Context(), checkArgs{Queue: "worker"}); err != nil {
			t.Fatal(err)
		}
		await(t, "another job of the queue", turn)
	}
	select {
	case <-e.began:
		t.Fatal("the job was taken while a change that found it was open")
	default:
	}
	commit(open)
	e.whole(t)
	e.saw(t, "after the open change", "first", "open")

	// A change that commits after the job was taken and before its first read is
	// seen by that run or by one more.
	commit(begin("third"))
	await(t, "the run", e.began)
	commit(begin("before the read"))
	e.mayRead <- struct{}{}
	await(t, "the reading", e.read)
	// And one after its last read by one more.
	commit(begin("after the read"))
	if n := waiting(); n != 1 {
		t.Errorf("%d jobs wait while one runs", n)
	}
	e.mayEnd <- struct{}{}
	e.whole(t)
	e.saw(t, "at the end", "first", "open", "third", "before the read", "after the read")
	if n := waiting(); n != 0 {
		t.Errorf("%d jobs wait at the end", n)
	}
}

// Of three jobs of which one at most may wait, two were taken when their process
// died and the third waits: the two are done with, since the third does their work.
func TestALeftJobMakesWayForTheWaitingOne(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	by := &policies.Principal{Kind: policies.Person, ID: "p", Via: policies.ViaCLI}
	for n := range 3 {
		tx, err := db.API().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := bookchange.Record(t.Context(), tx, by, bookchange.Element{Kind: "term", ID: "t"}, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n < 2 {
			db.Exec("update river_job set state = 'running', attempted_at = now(), attempt = 1")
		}
	}
	ran := make(chan struct{}, 2)
	reg := worker.NewRegistry()
	if err := worker.Register(reg, worker.QueueWorker, func(context.Context, embedArgs) error { ran <- struct{}{}; return nil }); err != nil {
		t.Fatal(err)
	}
	w := start(t, worker.Options{Queue: worker.QueueWorker, Pool: db.Worker(), Registry: reg})
	await(t, "the waiting job", ran)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var states []string
	db.QueryRow("select array_agg(state::text order by id) from river_job", nil, &states)
	if want := []string{"discarded", "discarded", "completed"}; !slices.Equal(states, want) || len(ran) != 0 {
		t.Errorf("the jobs ended as %q, want %q; %d more ran", states, want, len(ran))
	}
}
