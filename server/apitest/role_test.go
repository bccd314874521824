package apitest_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

// ROLES-15, ROLES-22, AUTHZ-06: pii_reader opens what is marked to somebody who can
// reach it, and nothing that they cannot; once it is revoked, the very next query
// on the same session, and on the same token, is refused.
func TestPIIReaderFromGivenToRevoked(t *testing.T) {
	d := newDeployment(t)
	tenant, err := sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	salesWorkspace, salesDataset := tenant.WorkspaceID("Commercial"), tenant.DatasetID("Sales")
	const ledgerDataset, noDataset = "d0000000-0000-4000-8000-000000000002", "d0000000-0000-4000-8000-00000000ffff"
	boss, viewer := d.as("admin@sample.example"), d.as("viewer@sample.example")
	viewer.connectPowerBI("viewer@sample.example")
	d.db.Exec(`insert into powerbi_workspace (id, name, folded) values ('` + salesWorkspace + `', 'Sales', 'sales'), ('` + noDataset + `', 'Finance', 'finance');
		insert into powerbi_dataset (id, workspace_id, name, folded) values
			('` + salesDataset + `', '` + salesWorkspace + `', 'Sales', 'sales'), ('` + ledgerDataset + `', '` + noDataset + `', 'Ledger', 'ledger');
		with made as (insert into powerbi_table (dataset_id, name, folded) values ('` + salesDataset + `', 'Customer', 'customer') returning id)
		insert into powerbi_column (dataset_id, table_id, name, folded, data_type) select '` + salesDataset + `', id, c, lower(c), 'string' from made cross join unnest(array['City', 'CustomerKey']) c`)
	d.db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right)
		select 'workspace', $1, object_id, 'Viewer' from person_identity i join person p on p.id = i.person_id where p.email = 'viewer@sample.example'`, salesWorkspace)
	if a := boss.send(http.MethodPost, "/api/v1/admin/pii/mark", map[string]any{"reference": "Customer[City]"}); a.status != http.StatusOK {
		t.Fatalf("marking: %d %s", a.status, a.text)
	}
	query := func(dataset string) answer {
		return viewer.send(http.MethodPost, "/api/v1/queries", map[string]any{"dataset": dataset, "dax": "EVALUATE TOPN(1, VALUES(Customer[City]))"})
	}
	sees := func() bool {
		return strings.Contains(viewer.send(http.MethodGet, "/api/v1/columns?dataset="+salesDataset, nil).text, `"City"`)
	}
	if a := query(salesDataset); a.field("kind") != "pii_refused" || sees() {
		t.Fatalf("before: %d %s, sees it: %v", a.status, a.text, sees())
	}
	held := boss.send(http.MethodPost, "/api/v1/admin/roles", map[string]any{"role": "pii_reader", "person": "viewer@sample.example"})
	if a := query(salesDataset); a.status != http.StatusOK || !strings.Contains(a.text, "rows") || !sees() {
		t.Errorf("as a holder: %d %s, sees it: %v", a.status, a.text, sees())
	}
	plain := func(a answer, id string) string {
		return strings.NewReplacer(id, "ID", a.field("request_id"), "REQUEST").Replace(a.text)
	}
	hidden, missing := query(ledgerDataset), query(noDataset)
	if hidden.status != http.StatusNotFound || plain(hidden, ledgerDataset) != plain(missing, noDataset) {
		t.Errorf("one that they cannot reach: %s, and one that is not there: %s", hidden.text, missing.text)
	}
	if a := boss.send(http.MethodDelete, "/api/v1/admin/roles/"+held.field("id"), nil); a.status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.status, a.text)
	}
	if a := query(salesDataset); a.field("kind") != "pii_refused" || sees() {
		t.Errorf("after: %d %s, sees it: %v", a.status, a.text, sees())
	}
}
