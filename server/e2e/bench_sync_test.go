package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/scan"
)

// mirrored are the tables that a sync fills, in the order in which rows refer to
// each other.
var mirrored = []string{
	"powerbi_workspace", "powerbi_dataset", "powerbi_table", "powerbi_column", "powerbi_measure", "powerbi_role",
	"powerbi_report", "powerbi_app", "powerbi_app_dataset", "powerbi_access",
}

// syncFigures measures a full sync of the grown tenant, and incremental ones of a
// part of it.
func syncFigures(t *testing.T) section {
	const spaces, most, maxMemory = 6000, 4, 512
	db := postgrestest.New(t)
	tenant := startTenant(t, "--unlimited", "--workspaces", strconv.Itoa(spaces))
	h, err := fetch.NewFixed([]string{tenant.url}, fetch.Options{Environment: "test", Timeout: 5 * time.Minute, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	app := entra.New(tenant.url+sample.LoginPath, sample.TenantID, entra.Registration{
		ClientID: sample.ScannerID, Secret: func(context.Context) (string, error) { return sample.ScannerSecret, nil },
	}, h, time.Now)
	scanner := &scan.Scanner{
		Source: powerbi.New(tenant.url+sample.PowerBIPath+"/v1.0/myorg", h), Mirror: mirror.New(db.Worker()), Log: slog.New(slog.DiscardHandler),
		Token: func(ctx context.Context) (string, error) { return app.AppToken(ctx, powerbi.AppScope) },
		Wait:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, // the scanner answers at once
	}
	run := func(read func(context.Context) (mirror.Outcome, error)) (mirror.Outcome, time.Duration) {
		t.Helper()
		began := time.Now()
		done, err := read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return done, time.Since(began)
	}
	before := residentMemory(t)
	forgetPeak(t)
	full, took := run(scanner.Full)
	memory := (peakMemory(t) - before) / 1024

	copied := copyAgain(t, db)
	// The tenant makes up each scan while it is read, on the cores of the sync.
	making := tenant.scanAll(t).took
	times := (took - making).Seconds() / copied.Seconds()
	var f section
	f.printf("A full sync of %d workspaces, %d datasets, %d measures and %d columns from a sample tenant of its own process. The tenant makes up each scan as it is asked for, on the cores of the sync, and what only reading all scans takes is taken off. The reference is a COPY of the same rows into tables with the same indexes; at most %d times.\n\n",
		spaces+9, full.Counts.Datasets, full.Counts.Measures, full.Counts.Columns, most)
	f.printf("| | |\n| --- | ---: |\n| full sync, s | %.1f |\n| reading all scans alone, s | %.1f |\n| COPY of the same rows, s | %.1f |\n| times, without the reading | %.2f |\n| times, with it | %.2f |\n| memory beside the process at rest, at the peak, MiB | %d |\n",
		took.Seconds(), making.Seconds(), copied.Seconds(), times, took.Seconds()/copied.Seconds(), memory)
	for _, changed := range []int{10, 100, 1000} {
		change(t, tenant, changed)
		done, took := run(scanner.Incremental)
		f.printf("| incremental sync after changes in %d workspaces, %d datasets with another schema, s | %.2f |\n", changed, len(done.Changed), took.Seconds())
	}
	if times > most {
		f.miss("A full sync takes %.1f times a COPY, not %d.", times, most)
	}
	if memory > maxMemory {
		f.miss("A full sync takes %d MiB, not %d.", memory, maxMemory)
	}
	return f
}

// change has something change in so many of the made-up workspaces.
func change(t *testing.T, tenant *tenantProcess, count int) {
	t.Helper()
	res, err := http.Post(tenant.url+sample.ControlPath+"workspaces/change", "application/json", strings.NewReader(fmt.Sprintf(`{"count": %d}`, count)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("changing workspaces: %s %s", res.Status, text)
	}
}

// copyAgain copies what the mirror holds into tables with the same columns, indexes
// and references, and says how long that took. Reading it out is not counted.
func copyAgain(t *testing.T, db *postgrestest.Database) (took time.Duration) {
	t.Helper()
	conn, err := db.Worker().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, table := range mirrored {
		db.Exec("create table bare_" + table + " (like " + table + " including all); grant select, insert on bare_" + table + " to worker_rw")
		var rows bytes.Buffer
		if _, err := conn.Conn().PgConn().CopyTo(t.Context(), &rows, "copy "+table+" to stdout"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := conn.Conn().PgConn().CopyFrom(t.Context(), &rows, "copy bare_"+table+" from stdin"); err != nil {
			t.Fatal(err)
		}
		took += time.Since(began)
	}
	return took
}

// residentMemory is what this process has in memory, in KiB.
func residentMemory(t *testing.T) int { return statusOf(t, "VmRSS:") }

// peakMemory is the most that it had since [forgetPeak], in KiB.
func peakMemory(t *testing.T) int { return statusOf(t, "VmHWM:") }

func forgetPeak(t *testing.T) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

func statusOf(t *testing.T, field string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatal(errors.New("the system does not tell the memory of a process"))
	return 0
}
