package scan_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/cluster"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/process"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
)

// workerVariable has the address of the database in the process that runs a scan in
// order to be killed, and tenantVariable that of the tenant.
const (
	workerVariable = "SCAN_TEST_DATABASE"
	tenantVariable = "SCAN_TEST_TENANT"
)

func runWorker() {
	ctx := context.Background()
	pool, err := postgres.Open(ctx, os.Getenv(workerVariable), postgres.Worker)
	if err == nil {
		sc, problem := scannerOf(os.Getenv(tenantVariable), pool, slog.New(slog.DiscardHandler))
		if err = problem; err == nil {
			_, err = sc.Full(ctx)
		}
	}
	fmt.Fprintln(os.Stderr, "the scan ended:", err)
	os.Exit(1)
}

// until waits for a condition on the database.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// A worker that is killed with some scans read and the others started leaves a run
// that the next goes on with: nothing that was done is done again.
//
// SYNC-06, BOOK-01
func TestAKilledWorkerIsGoneOnWith(t *testing.T) {
	t.Parallel()
	const spaces = 250 // three scans
	db, s := postgrestest.New(t), newSite(t, sample.Config{Workspaces: spaces})
	s.Break(sample.Fault{Path: "*scanResult", Count: 2, DelayMS: 120_000})
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), workerVariable+"="+db.URL(postgres.Worker), tenantVariable+"="+s.url)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var done, started int
	until(t, "one scan to be read and the others to be started", func() bool {
		db.QueryRow("select count(done_at), count(scan_id) from sync_chunk", nil, &done, &started)
		return done == 1 && started == 2
	})
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	until(t, "the killed process's lock to be free", func() bool {
		runs, err := mirror.Runs(t.Context(), db.API(), 5)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v, %v", runs, err)
		}
		return runs[0].State == mirror.Interrupted && runs[0].WorkspacesDone > 0 && runs[0].WorkspacesDone < runs[0].Workspaces
	})
	s.Mend()
	results := s.count("/scanResult/")
	out, err := s.scanner(t, db, slog.New(slog.DiscardHandler)).Incremental(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lists, scans, read := s.count("/modified"), s.count("/getInfo"), s.count("/scanResult/")-results; lists != 1 || scans != 3 || read != 2 {
		t.Errorf("listed %d times, scanned %d times, read %d results after the kill; want 1, 3 and 2", lists, scans, read)
	}
	var withSchema int
	db.QueryRow("select count(*) from powerbi_dataset where schema_error = ''", nil, &withSchema)
	if len(out.Changed) != withSchema || withSchema == 0 {
		t.Errorf("%d datasets are told of as new, %d are: those read before the kill count too", len(out.Changed), withSchema)
	}
	runs, err := mirror.Runs(t.Context(), db.API(), 5)
	if err != nil || len(runs) != 1 || runs[0].State != mirror.Succeeded || runs[0].Attempts != 2 || runs[0].WorkspacesDone != runs[0].Workspaces {
		t.Errorf("%+v, %v", runs, err)
	}
	fresh := postgrestest.New(t)
	want, err := s.scanner(t, fresh, slog.New(slog.DiscardHandler)).Full(t.Context())
	if err != nil || out.Counts != want.Counts {
		t.Errorf("the mirror has %+v, a fresh one %+v, %v", out.Counts, want.Counts, err)
	}
}

// PostgreSQL goes away in the middle of a sync and comes back: the run fails, and
// the next one goes on with it over the same pool.
//
// SYNC-06
func TestPostgreSQLStopsMidway(t *testing.T) {
	t.Parallel()
	programs, err := cluster.Find()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "pbmb-scan-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	account, err := process.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if err := account.Give(folder); err != nil {
		t.Fatal(err)
	}
	config := cluster.Config{Programs: programs, Data: filepath.Join(folder, "data"), Sockets: folder}
	server, err := cluster.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	if err := postgres.Bootstrap(t.Context(), server.SuperuserURL(), "pbmb"); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), server.URL(string(postgres.Migrator), "pbmb")); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), server.URL(string(postgres.Worker), "pbmb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)

	src := newTenant()
	for n := 1; n <= 150; n++ { // two scans
		src.workspaces[id(n)] = workspace(n, dataset(1000+n, "a"))
	}
	sc := newScannerOver(pool, src)
	if first, err := sc.Full(t.Context()); err != nil || first.Counts.Datasets != 150 {
		t.Fatal(first, err)
	}
	stopped := false
	src.fail = func(call string) error {
		if call == "after "+id(150) && !stopped {
			stopped = true
			server.Stop()
		}
		return nil
	}
	if _, err := sc.Full(t.Context()); err == nil {
		t.Fatal("no error while PostgreSQL is stopped")
	}
	if server, err = cluster.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	pool.Reset() // its connections are gone; the job's next attempt comes when they are known to be
	var live int
	count := func() int {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "select count(*) from powerbi_dataset where removed_at is null").Scan(&live); err != nil {
			t.Fatal(err)
		}
		return live
	}
	if n := count(); n != 150 {
		t.Errorf("%d datasets are left", n)
	}
	delete(src.workspaces, id(150)) // listed, and gone before it is scanned again
	out, err := sc.Full(t.Context())
	if err != nil || len(src.since) != 2 {
		t.Errorf("%+v, %v after %d lists, want the run to go on", out, err, len(src.since))
	}
	runs, err := mirror.Runs(t.Context(), pool, 1)
	if err != nil || runs[0].State != mirror.Succeeded || runs[0].Attempts != 2 || runs[0].LeftOut != 1 || count() != 150 {
		t.Errorf("%+v, %v, %d datasets", runs, err, live)
	}
}

// SYNC-06: a scan that Power BI has no longer, or that failed once, is started anew.
func TestAScanThatExpiresIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*tenant) func(string) error{
		"at the result": func(*tenant) func(string) error { return once("result", &powerbi.Error{Status: 404}) },
		"at the status": func(*tenant) func(string) error { return once("status", &powerbi.Error{Status: 404}) },
		"a result of another shape": func(*tenant) func(string) error {
			return once("result", fmt.Errorf("reading a scan: %w", powerbi.ErrShape))
		},
		"one that failed": func(src *tenant) func(string) error {
			src.status = "Failed"
			return func(call string) error {
				if call == "start" && len(src.scans) == 1 {
					src.status = ""
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, src := postgrestest.New(t), newTenant()
			src.workspaces[id(1)] = workspace(1, dataset(11, "a"))
			src.fail = fail(src)
			if _, err := newScanner(db, src).Full(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(src.scans) != 2 || list(db, liveDatasets) != "D11" {
				t.Errorf("%d scans, datasets %s", len(src.scans), list(db, liveDatasets))
			}
		})
	}
}

func once(call string, err error) func(string) error {
	return func(c string) error {
		if c != call || err == nil {
			return nil
		}
		e := err
		err = nil
		return e
	}
}

// A limit of Power BI's is kept across processes: what was called within the hour
// counts, and the status says what is waited for.
func TestLimitsAreKeptInTheDatabase(t *testing.T) {
	t.Parallel()
	for kind, limit := range map[string]int{"workspaces/modified": 30, "workspaces/getInfo": 500} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db, src := postgrestest.New(t), newTenant()
			src.workspaces[id(1)] = workspace(1, dataset(11, "a"))
			sc := newScanner(db, src)
			var waited time.Duration
			var said string
			sc.Wait = func(_ context.Context, d time.Duration) error {
				if d > 10*time.Second {
					waited = d
					said = list(db, "select waiting_for from sync_run where waiting_until > now()")
					db.Exec("update scanner_call set called_at = called_at - interval '20 minutes'")
				}
				return nil
			}
			db.Exec("insert into scanner_call select $1, now() - interval '50 minutes' from generate_series(1, $2)", kind, limit)
			if _, err := sc.Full(t.Context()); err != nil {
				t.Fatal(err)
			}
			if waited < 9*time.Minute || waited > 11*time.Minute || said != fmt.Sprintf("for Power BI's limit of %d calls of %s an hour", limit, kind) {
				t.Errorf("waited %s, saying %q", waited, said)
			}
			if got := list(db, "select waiting_for from sync_run where waiting_until is not null"); got != "" {
				t.Errorf("it still waits %s", got)
			}
			db.Exec("delete from scanner_call")
			db.Exec("insert into scanner_call select $1, now() - interval '50 minutes' from generate_series(1, $2)", kind, limit-1)
			waited = 0
			if _, err := newScanner(db, src).Full(t.Context()); err != nil || waited != 0 {
				t.Errorf("with one call left: %v, waited %s", err, waited)
			}
		})
	}
}

// A dataset that two workspaces list is in one of them, and nobody reaches it by
// the other's list of it.
//
// VIS-20, VIS-19
func TestOddResults(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	shared := func(to int) string {
		return fmt.Sprintf(`{"id":%q,"name":"D11","tables":[{"name":"T","columns":[{"name":"a"},{"name":"A"},{"name":"line\nend\u0007"}]}],"users":[{"datasetUserAccessRight":"Read","graphId":%q}]}`, id(11), id(to))
	}
	src.workspaces[id(1)] = workspace(1, shared(101))
	src.workspaces[id(2)] = strings.Replace(workspace(2, shared(102)), `"datasets"`, fmt.Sprintf(
		`"users":[{"groupUserAccessRight":"Overlord","graphId":%q},{"groupUserAccessRight":7,"graphId":%q},"odd",{"groupUserAccessRight":"VIEWER","graphId":%q}],"datasets"`,
		id(103), id(104), id(105)), 1)
	sc := newScanner(db, src)
	for range 2 {
		if _, err := sc.Full(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := list(db, "select w.name from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id"); got != "W1" {
			t.Errorf("the dataset is in %s", got)
		}
		if got, want := list(db, "select object_id || access_right from powerbi_access"), id(101)+"Read "+id(105)+"Viewer"; got != want {
			t.Errorf("access %s, want %s", got, want)
		}
		if got := list(db, "select name from powerbi_column"); got != "a line\nend\a" {
			t.Errorf("columns %q", got)
		}
		runs, err := mirror.Runs(t.Context(), db.API(), 1)
		// Each listing has one column too many, and one of them the dataset.
		if err != nil || runs[0].Counts.UnusableEntries != 3 || runs[0].Skipped != 3 {
			t.Errorf("%+v, %v", runs, err)
		}
	}
}
