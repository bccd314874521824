package wire

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// ROLES-88, PII-61, PII-62, PII-63: a policy that lets everybody read personal data
// opens nothing.
func TestNoPolicyOpensPersonalData(t *testing.T) {
	content, err := os.ReadFile("../../policies/layering_tests/override/policies/dataset.yaml")
	if err != nil || !strings.Contains(string(content), "[read_pii]") {
		t.Fatalf("the example has no rule on personal data, %v", err)
	}
	d := newDeployment(t, fstest.MapFS{"dataset.yaml": {Data: content}})
	admin := d.signIn("admin@sample.example")
	if a := admin.send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[Customer]"}`, nil); a.status != http.StatusOK {
		t.Fatalf("marking: %d %s", a.status, a.body)
	}
	if a := admin.send(http.MethodPost, "/api/v1/admin/roles", `{"role":"pii_reader","person":"curator@sample.example"}`, nil); a.status != http.StatusOK {
		t.Fatalf("assigning: %d %s", a.status, a.body)
	}
	if a := admin.send(http.MethodPost, "/api/v1/admin/roles", `{"role":"viewer","person":"curator@sample.example"}`, nil); a.status != http.StatusOK {
		t.Fatalf("assigning: %d %s", a.status, a.body)
	}
	const marked = `"table":"Customer","name":"Customer"`
	const query = `{"dataset":"Sales","dax":"EVALUATE TOPN(1, VALUES(Customer[Customer]))"}`
	for email, reads := range map[string]bool{"viewer@sample.example": false, "admin@sample.example": false, "curator@sample.example": true} {
		b := d.signIn(email)
		columns := b.send(http.MethodGet, "/api/v1/columns?dataset=Sales&limit=200", "", nil)
		if columns.status != http.StatusOK || strings.Contains(columns.body, marked) != reads {
			t.Errorf("%s lists the column: want %t, got %d %s", email, reads, columns.status, columns.body)
		}
		if a := b.send(http.MethodPost, "/api/v1/queries", query, nil); (a.status == http.StatusOK) != reads || !reads && !strings.Contains(a.body, "personal data") {
			t.Errorf("%s queries the column: want %t, got %d %s", email, reads, a.status, a.body)
		}
	}
	// The account holds what Sales lies in, and so sees the dataset's other columns.
	var workspace string
	d.db.QueryRow("select workspace_id::text from powerbi_dataset where name = 'Sales'", nil, &workspace)
	account := admin.send(http.MethodPost, "/api/v1/admin/service-accounts", `{"name":"nightly","roles":["viewer"],"workspace_ids":["`+workspace+`"]}`, nil)
	key := admin.send(http.MethodPost, "/api/v1/admin/service-accounts/"+account.field("id")+"/keys", `{}`, nil).field("key")
	program := &browser{deployment: d}
	bearer := map[string]string{"Authorization": "Bearer " + key}
	columns := program.send(http.MethodGet, "/api/v1/columns?dataset=Sales&limit=200", "", bearer)
	if columns.status != http.StatusOK || !strings.Contains(columns.body, `"table":"Customer","name":"Region"`) || strings.Contains(columns.body, marked) {
		t.Errorf("the account lists %d %s", columns.status, columns.body)
	}
	if a := program.send(http.MethodPost, "/api/v1/queries", query, bearer); a.status == http.StatusOK {
		t.Errorf("the account queries the column: %s", a.body)
	}
}

// ROLES-73: a rule on query decides by any attribute of the dataset, one of the
// company's own included.
func TestAQueryRuleOnACustomAttribute(t *testing.T) {
	d := newDeployment(t, fstest.MapFS{"dataset.yaml": {Data: []byte(`apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
    - actions: [query]
      effect: EFFECT_DENY
      roles: ["*"]
      condition:
        match:
          all:
            of:
              - expr: R.attr.custom.department == "People"
              - expr: R.attr.workspace_name != ""
`)}})
	viewer := d.signIn("viewer@sample.example")
	query := func() int {
		return viewer.send(http.MethodPost, "/api/v1/queries", `{"dataset":"Sales","dax":"EVALUATE { 1 }"}`, nil).status
	}
	for department, want := range map[string]int{"Sales": http.StatusOK, "People": http.StatusForbidden} {
		d.db.Exec(`update powerbi_dataset set custom = '{"department": "` + department + `"}' where name = 'Sales'`)
		if got := query(); got != want {
			t.Errorf("a dataset of the department %s: %d, want %d", department, got, want)
		}
		if a := viewer.send(http.MethodGet, "/api/v1/datasets", "", nil); !strings.Contains(a.body, `"Sales"`) {
			t.Errorf("it is not described any more: %s", a.body)
		}
	}
}
