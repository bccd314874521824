package store_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// PII-77: what is marked is found before it is marked, and by nobody after; a table
// of nothing else goes with it.
func TestSearchFindsNothingMarked(t *testing.T) {
	const workspace, dataset = "a0000000-0000-4000-8000-000000000000", "d0000000-0000-4000-8000-000000000000"
	db := postgrestest.New(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Worker().Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`insert into powerbi_workspace (id, name, folded) values ($1, 'Shops', 'shops')`, workspace)
	exec(`insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, 'People', 'people')`, dataset, workspace)
	for table, kinds := range map[string][]string{"member": {"column", "measure"}, "birth": {"column"}} {
		exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, $2, $2)`, dataset, table)
		for _, kind := range kinds {
			exec(`insert into powerbi_`+kind+` (dataset_id, table_id, name, folded, description)
				select dataset_id, id, 'birth ' || $1, 'birth ' || $1, 'of a birth' from powerbi_table where name = $2`, kind, table)
		}
	}
	exec(`insert into powerbi_column (dataset_id, table_id, name, folded) select dataset_id, id, 'birth place', 'birth place' from powerbi_table where name = 'member'`)

	search := func(roles string) []string {
		t.Helper()
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: strings.Fields(roles), WorkspaceIDs: []string{workspace}}
		view, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := store.New(db.API()).Search(t.Context(), view, "birth", nil, "", 20)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, h := range hits {
			found = append(found, h.Table+": "+h.Name)
		}
		slices.Sort(found)
		return found
	}
	want := []string{"birth: birth", "birth: birth column", "member: birth column", "member: birth measure", "member: birth place"}
	if got := search("viewer"); !slices.Equal(got, want) {
		t.Errorf("before anything is marked: %q, want %q", got, want)
	}
	for _, mark := range [][3]string{{"column", "member", "birth column"}, {"measure", "member", "birth measure"}, {"column", "birth", "birth column"}} {
		if _, err := db.API().Exec(t.Context(), `insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ($1, $2, $3, $2, $3, true)`,
			mark[0], mark[1], mark[2]); err != nil {
			t.Fatal(err)
		}
	}
	for _, roles := range []string{"viewer", "viewer pii_reader"} {
		if got, want := search(roles), []string{"member: birth place"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", roles, got, want)
		}
	}
}
