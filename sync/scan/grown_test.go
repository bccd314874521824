package scan_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/sample/growth"
)

// SAMPLE-08, SYNC-05: a grown tenant is read like any other, and after a change of
// some of its workspaces an incremental run finds what changed and no more.
func TestGrownTenant(t *testing.T) {
	t.Parallel()
	const spaces, changed = 24, 6
	db, small, s := postgrestest.New(t), newSite(t, sample.Config{}), newSite(t, sample.Config{Workspaces: spaces})
	company, err := small.scanner(t, postgrestest.New(t), slog.New(slog.DiscardHandler)).Full(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc := s.scanner(t, db, slog.New(slog.DiscardHandler))
	full, err := sc.Full(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	size := growth.Plan{Workspaces: spaces}.Size()
	want := company.Counts
	want.Datasets += size.Datasets
	want.Measures += size.Measures
	want.Columns += size.Columns
	if full.Counts != want {
		t.Errorf("read %+v, want %+v", full.Counts, want)
	}

	calls := len(s.asked)
	if err := s.ChangeWorkspaces(changed); err != nil {
		t.Fatal(err)
	}
	again, err := sc.Incremental(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var edited int
	db.QueryRow(`select count(*) from powerbi_dataset d where
		exists (select from powerbi_measure where dataset_id = d.id and expression like '%+ 0 * 0') or
		exists (select from powerbi_table where dataset_id = d.id and description = 'Looked over 1 times.')`, nil, &edited)
	if len(again.Changed) != edited || edited == 0 {
		t.Errorf("%d datasets changed, of which %d are edited", len(again.Changed), edited)
	}
	read := 0
	for _, call := range s.asked[calls:] {
		if _, path, _ := strings.Cut(call, " "); strings.Contains(path, "/workspaces/scanResult/") {
			var part scanned
			if err := json.Unmarshal(s.answers[path], &part); err != nil {
				t.Fatal(err)
			}
			read += len(part.Workspaces)
		}
	}
	if read != changed {
		t.Errorf("the incremental run read %d workspaces, want %d", read, changed)
	}
	if third, err := sc.Full(t.Context()); err != nil || third.Counts != want || len(third.Changed) != 0 {
		t.Errorf("a second full run: %+v %v", third, err)
	}
}
