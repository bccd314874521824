package bookchange_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/bookchange"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var curator = &policies.Principal{Kind: policies.Person, ID: "p1", Email: "ada@example.com", Via: policies.ViaCLI, ClientID: "c1"}

func begin(t *testing.T, db *postgrestest.Database) pgx.Tx {
	t.Helper()
	tx, err := db.API().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func record(t *testing.T, tx pgx.Tx, id string) {
	t.Helper()
	if err := bookchange.Record(t.Context(), tx, curator, bookchange.Element{Kind: "term", ID: id}, nil, map[string]any{"name": id}); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, db *postgrestest.Database, id string) {
	t.Helper()
	tx := begin(t, db)
	record(t, tx, id)
	commit(t, tx)
}

// run is what the job does: it reads what changed and moves behind it.
func run(t *testing.T, db *postgrestest.Database) []string {
	t.Helper()
	log := bookchange.NewLog(db.Worker())
	u, err := log.Unread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Seen(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, e := range u.Elements {
		ids = append(ids, e.ID)
	}
	return ids
}

func same(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, append([]string{}, want...)) {
		t.Errorf("%s: read %q, want %q", when, got, want)
	}
}

func TestAChangeSaysWhoAndWhat(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	err := postgres.Tx(t.Context(), db.API(), func(tx pgx.Tx) error {
		return bookchange.Record(t.Context(), tx, curator, bookchange.Element{Kind: "term", ID: "7"}, map[string]any{"name": "Old"}, map[string]any{"name": "New"})
	})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	db.QueryRow(`select concat_ws(' ', principal_kind, principal_id, principal_name, via, client_id, element_kind, element_id, before, after) from book_change`, nil, &got)
	if want := `person p1 ada@example.com cli c1 term 7 {"name": "Old"} {"name": "New"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// JOBS-16: two runs read each change once, an element that changed twice included.
func TestEachChangeIsReadOnce(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, id := range []string{"a", "b", "a"} {
		change(t, db, id)
	}
	same(t, "the first run", run(t, db), "a", "b")
	same(t, "the second run", run(t, db))
	change(t, db, "b")
	same(t, "the third run", run(t, db), "b")

	// A run that broke off before it moved on is done again.
	change(t, db, "c")
	if _, err := bookchange.NewLog(db.Worker()).Unread(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "the run after one that broke off", run(t, db), "c")
}

// JOBS-17: a change with an earlier id and an earlier transaction, committed later.
func TestNoChangeIsSteppedOver(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	change(t, db, "before")
	same(t, "the first run", run(t, db), "before")
	a := begin(t, db)
	// The job is queued by others here: A and B would wait for each other's.
	insert := func(tx pgx.Tx, id string) {
		_, err := tx.Exec(t.Context(), "insert into book_change (principal_kind, principal_id, via, element_kind, element_id) values ('person', 'p', 'cli', 'term', $1)", id)
		if err != nil {
			t.Fatal(err)
		}
	}
	insert(a, "A")
	b := begin(t, db)
	insert(b, "B")
	commit(t, b)
	same(t, "while A is open", run(t, db), "B")
	same(t, "again while A is open", run(t, db))
	c := begin(t, db)
	insert(c, "C")
	commit(t, a)
	same(t, "after A", run(t, db), "A")
	commit(t, c)
	same(t, "after C", run(t, db), "C")
	same(t, "at the end", run(t, db))
}

// A database that was restored elsewhere has transactions and a place that lie far
// ahead of its own: everything is read anew, and new changes are read.
func TestAfterARestoreEverythingIsReadAnew(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	change(t, db, "a")
	same(t, "the first run", run(t, db), "a")
	db.Exec("update book_change set transaction_id = (transaction_id::text::bigint + 1000000000)::text::xid8")
	db.Exec("update search_state set value = '1900000000:1900000000:'")
	change(t, db, "b")
	same(t, "after the restore", run(t, db), "a", "b")
	change(t, db, "c")
	same(t, "the run after it", run(t, db), "c")
	same(t, "at the end", run(t, db))
}

// JOBS-14: twenty changes at once leave one waiting job. It is always the
// same: Record has no parameter for any part of it.
func TestOneJobWaitsHoweverManyChange(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	errs := make(chan error)
	for n := range 20 {
		go func() {
			errs <- postgres.Tx(t.Context(), db.API(), func(tx pgx.Tx) error {
				return bookchange.Record(t.Context(), tx, curator, bookchange.Element{Kind: "term", ID: fmt.Sprint(n)}, nil, nil)
			})
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var jobs, changes int
	var job string
	db.QueryRow("select count(*), min(kind || ' ' || queue || ' ' || args || ' ' || state || ' ' || max_attempts) from river_job", nil, &jobs, &job)
	db.QueryRow("select count(*) from book_change", nil, &changes)
	if want := `embed worker {"changes_only": true} available 1`; jobs != 1 || job != want || changes != 20 {
		t.Errorf("%d changes left %d jobs, one of them %s; want 20, 1 and %s", changes, jobs, job, want)
	}
}

// A change that is rolled back leaves neither a row nor a job.
func TestARolledBackChangeLeavesNothing(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	tx := begin(t, db)
	record(t, tx, "a")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows int
	db.QueryRow("select (select count(*) from river_job) + (select count(*) from book_change)", nil, &rows)
	if rows != 0 {
		t.Errorf("%d rows are left", rows)
	}
	change(t, db, "b")
	db.QueryRow("select count(*) from river_job", nil, &rows)
	if rows != 1 {
		t.Errorf("a committed change leaves %d jobs", rows)
	}
}
