package store_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// PII-01 PII-75: of the DAX of a calculated column, no more is shown than if what
// is marked were not there.
func TestDAXOfColumnsNamesNothingHidden(t *testing.T) {
	const workspace, dataset, other = "a0000000-0000-4000-8000-000000000000", "d0000000-0000-4000-8000-000000000000", "d0000000-0000-4000-8000-000000000001"
	db := postgrestest.New(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Worker().Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`insert into powerbi_workspace (id, name, folded) values ($1, 'Shops', 'shops')`, workspace)
	for _, id := range []string{dataset, other} {
		exec(`insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, $1::uuid::text, $1::uuid::text)`, id, workspace)
		exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, 'Customer', 'customer')`, id)
	}
	add := func(kind, dataset, name, expression string) {
		exec(`insert into powerbi_`+kind+` (dataset_id, table_id, name, folded, expression)
			select dataset_id, id, $2, $3, $4 from powerbi_table where dataset_id = $1`, dataset, name, knowledge.Fold(name), expression)
	}
	add("column", dataset, "Birth date", "")
	add("column", dataset, "Odd]name", "")
	add("measure", dataset, "Orders", "1")
	columns := map[string]string{
		"Year":  "YEAR ( Customer[BIRTH DATE] )",
		"Wide":  "YEAR ( [Ｂｉｒｔｈ ｄａｔｅ] )",
		"Odd":   "LEN ( Customer[Odd]]name] )",
		"Busy":  "[Orders] > 3",
		"Plain": "UPPER ( Customer[City] )",
		"Birth": "Customer[Birth]",
	}
	for name, dax := range columns {
		add("column", dataset, name, dax)
		add("column", other, name, dax)
	}
	for _, r := range [][2]string{{"column", "Birth date"}, {"column", "Odd]name"}, {"measure", "Orders"}} {
		if _, err := db.API().Exec(t.Context(), `insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ($1, 'Customer', $2, 'customer', $3, true)`,
			r[0], r[1], knowledge.Fold(r[1])); err != nil {
			t.Fatal(err)
		}
	}
	for role, hides := range map[string]string{"viewer": "Busy Odd Wide Year", "viewer pii_reader": ""} {
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: strings.Fields(role), WorkspaceIDs: []string{workspace}}
		view, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		found, _, _, err := store.New(db.API()).ListColumns(t.Context(), view, knowledge.ElementFilter{}, knowledge.Range{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		listed := 0
		for _, c := range found {
			dax, calculated := columns[c.Name]
			if !calculated {
				continue
			}
			listed++
			// The other dataset has columns of these names, and none that is marked.
			want := dax
			if c.DatasetID == dataset && strings.Contains(hides, c.Name) {
				want = ""
			}
			if c.Expression != want {
				t.Errorf("%s: %s of %s has the DAX %q, want %q", role, c.Name, c.Dataset, c.Expression, want)
			}
		}
		if want := 2 * len(columns); listed != want {
			t.Errorf("%s: %d calculated columns, want %d", role, listed, want)
		}
	}
}
