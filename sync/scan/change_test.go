package scan_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/sample"
)

// change asks the running tenant for a change, as anybody may who tests with it.
func (s *site) change(t *testing.T, path string, body map[string]any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.url+sample.ControlPath+path, "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		said, _ := io.ReadAll(res.Body)
		t.Fatalf("%s answered %s: %s", path, res.Status, said)
	}
}

// What changes in the tenant while it serves is in the mirror after the next
// incremental run, and nothing else is.
//
// SAMPLE-07, SYNC-09
func TestChangesOfTheTenantReachTheMirror(t *testing.T) {
	t.Parallel()
	db, s := postgrestest.New(t), newSite(t, sample.Config{})
	sc := s.scanner(t, db, slog.New(slog.DiscardHandler))
	if _, err := sc.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	live := func(table, column, dataset string) string {
		return "select e." + column + " from " + table + " e join powerbi_dataset d on d.id = e.dataset_id " +
			"where e.removed_at is null and d.removed_at is null and d.name = '" + dataset + "'"
	}
	filters := "select p->>'filter' from powerbi_role r, jsonb_array_elements(r.definition->'tables') p where r.name = 'West' and r.removed_at is null"
	members := "select jsonb_array_length(definition->'members') from powerbi_role where name = 'West' and removed_at is null"
	for _, step := range []struct {
		name, path string
		body       map[string]any
		query      string
	}{
		{"a measure is renamed", "measures/rename", map[string]any{"dataset": "Board pack", "measure": "Net sales", "to": "Net revenue"}, live("powerbi_measure", "name", "Board pack")},
		{"a measure is edited", "measures/expression", map[string]any{"dataset": "Board pack", "measure": "Net revenue", "expression": "1"}, live("powerbi_measure", "expression", "Board pack")},
		{"a measure is removed", "measures/remove", map[string]any{"dataset": "Board pack", "measure": "Net revenue"}, live("powerbi_measure", "name", "Board pack")},
		{"a table is renamed", "tables/rename", map[string]any{"dataset": "Loyalty", "table": "Member", "to": "Card holder"}, live("powerbi_table", "name", "Loyalty")},
		{"a table is removed", "tables/remove", map[string]any{"dataset": "Loyalty", "table": "Card holder"}, live("powerbi_table", "name", "Loyalty")},
		{"a role's filter is edited", "roles/filter", map[string]any{"dataset": "Regional sales", "role": "West", "table": "Region", "filter": `[Region] = "East"`}, filters},
		{"a role gets a member", "roles/assign", map[string]any{"dataset": "Regional sales", "role": "West", "person": "steward@sample.example"}, members},
		{"roles are removed", "roles/clear", map[string]any{"dataset": "Regional sales"}, live("powerbi_role", "name", "Regional sales")},
		{"a dataset is renamed", "datasets/rename", map[string]any{"dataset": "Inventory", "to": "Stock"}, "select name from powerbi_dataset where removed_at is null"},
		{"a dataset is certified", "datasets/endorse", map[string]any{"dataset": "Stock", "endorsement": "Certified"}, "select endorsement = 'Certified' from powerbi_dataset where name = 'Stock'"},
		{"a schema cannot be read any more", "datasets/hole", map[string]any{"dataset": "Finance", "hole": "error"}, "select schema_error <> '' from powerbi_dataset where name = 'Finance'"},
		{"a dataset is shared", "datasets/share", map[string]any{"dataset": "Finance", "person": "outsider@sample.example", "right": "ReadExplore"}, "select count(*) from powerbi_access a join powerbi_dataset d on d.id = a.item_id where d.name = 'Finance'"},
		{"a workspace is renamed", "workspaces/rename", map[string]any{"workspace": "Finance", "to": "Money"}, "select name from powerbi_workspace where removed_at is null"},
	} {
		before := list(db, step.query)
		s.change(t, step.path, step.body)
		done, err := sc.Incremental(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if after := list(db, step.query); after == before || before == "" {
			t.Errorf("%s: the mirror has %q as before", step.name, after)
		}
		again, err := sc.Incremental(t.Context())
		if err != nil || len(again.Changed) > 0 {
			t.Errorf("%s: without another change %v changed, %v (first %v)", step.name, again.Changed, err, done.Changed)
		}
	}
	// A workspace or dataset that is gone is missed by the next full run.
	s.change(t, "datasets/remove", map[string]any{"dataset": "Deliveries"})
	s.change(t, "workspaces/remove", map[string]any{"workspace": "Money"})
	if _, err := sc.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{
		"select name from powerbi_workspace where removed_at is null and name = 'Money'",
		"select name from powerbi_dataset where removed_at is null and name in ('Deliveries', 'Board pack')",
	} {
		if got := list(db, gone); got != "" {
			t.Errorf("the mirror still has %s", got)
		}
	}
	// A scan that fails is an error, and removes nothing.
	left := list(db, liveDatasets)
	s.change(t, "scans/fail", map[string]any{"count": 100, "message": "no luck"})
	if _, err := sc.Full(t.Context()); err == nil {
		t.Error("a failed scan is no error")
	}
	if got := list(db, liveDatasets); got != left {
		t.Errorf("after a failed scan the mirror has %s, had %s", got, left)
	}
}
