package apitest_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

type grantPage struct {
	Items []struct {
		ID, Person, Registered string
		PersonID               string `json:"person_id"`
		ClientID               string `json:"client_id"`
	}
	Total int
}

func grants(t *testing.T, a answer) grantPage {
	t.Helper()
	var p grantPage
	if err := json.Unmarshal([]byte(a.text), &p); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.text)
	}
	return p
}

// OAUTH-15, OAUTH-17: only who may revoke_connection ends somebody else's grant,
// and its token stops with the next request.
func TestAnAdminEndsAnybodysGrant(t *testing.T) {
	d := newDeployment(t)
	viewer, curator, admin := d.as("viewer@sample.example"), d.as("curator@sample.example"), d.as("admin@sample.example")
	client, clientID := viewer.letIn()
	other, _ := curator.letIn()

	all := grants(t, admin.send(http.MethodGet, "/api/v1/admin/grants", nil))
	if all.Total != 2 || len(all.Items) != 2 {
		t.Fatalf("%+v", all)
	}
	if first := grants(t, admin.send(http.MethodGet, "/api/v1/admin/grants?limit=1", nil)); first.Total != 2 || len(first.Items) != 1 {
		t.Errorf("a page of one: %+v", first)
	}
	own := grants(t, admin.send(http.MethodGet, "/api/v1/admin/grants?person=VIEWER@sample.example", nil))
	if own.Total != 1 || own.Items[0].Person != "viewer@sample.example" || own.Items[0].ClientID != clientID || own.Items[0].Registered != "registered" {
		t.Fatalf("%+v", own)
	}
	if byID := grants(t, admin.send(http.MethodGet, "/api/v1/admin/grants?person="+own.Items[0].PersonID, nil)); byID.Total != 1 || byID.Items[0].ID != own.Items[0].ID {
		t.Errorf("by id: %+v", byID)
	}

	path := "/api/v1/admin/grants/" + own.Items[0].ID
	for name, c := range map[string]*caller{"the viewer": viewer, "a curator": curator} {
		for _, a := range []answer{c.send(http.MethodDelete, path, nil), c.send(http.MethodGet, "/api/v1/admin/grants", nil)} {
			if a.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, a.status, a.text)
			}
		}
	}
	if a := client.tool("whoami"); a.status != http.StatusOK {
		t.Fatalf("the refusals ended it: %d", a.status)
	}
	if a := admin.send(http.MethodDelete, path, nil); a.status != http.StatusOK {
		t.Fatalf("an admin: %d %s", a.status, a.text)
	}
	if a := client.tool("whoami"); a.status != http.StatusUnauthorized {
		t.Errorf("the token answers %d", a.status)
	}
	if a := other.tool("whoami"); a.status != http.StatusOK {
		t.Errorf("another grant's token answers %d", a.status)
	}
	for name, path := range map[string]string{"a second time": path, "an unknown one": "/api/v1/admin/grants/none"} {
		if a := admin.send(http.MethodDelete, path, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	var allowed, denied int
	d.db.QueryRow(`select count(*) filter (where outcome = 'allow' and principal_name = 'admin@sample.example' and detail->>'person' = $1 and element = $2),
		count(*) filter (where outcome = 'deny') from audit_event where action = 'revoke_grant'`,
		[]any{own.Items[0].PersonID, own.Items[0].ID}, &allowed, &denied)
	if allowed != 1 || denied != 2 {
		t.Errorf("%d rows of the admin's and %d of refusals", allowed, denied)
	}
}

// CONN-32: by the operation, as the connection's own test does by the store.
func TestAnAdminEndsAnybodysConnection(t *testing.T) {
	d := newDeployment(t)
	viewer, curator, admin := d.as("viewer@sample.example"), d.as("curator@sample.example"), d.as("admin@sample.example")
	viewer.connectPowerBI("viewer@sample.example")

	var page struct {
		Items []struct {
			Person, State, Account string
			PersonID               string `json:"person_id"`
		}
		Total int
	}
	a := admin.send(http.MethodGet, "/api/v1/admin/connections", nil)
	if err := json.Unmarshal([]byte(a.text), &page); err != nil || page.Total != 1 || page.Items[0].Person != "viewer@sample.example" || page.Items[0].State != "connected" {
		t.Fatalf("%d %s", a.status, a.text)
	}
	path := "/api/v1/admin/connections/" + page.Items[0].PersonID
	for name, c := range map[string]*caller{"the viewer": viewer, "a curator": curator} {
		for _, a := range []answer{c.send(http.MethodDelete, path, nil), c.send(http.MethodGet, "/api/v1/admin/connections", nil)} {
			if a.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, a.status, a.text)
			}
		}
	}
	if a := admin.send(http.MethodDelete, path, nil); a.status != http.StatusOK {
		t.Fatalf("an admin: %d %s", a.status, a.text)
	}
	var tokens, audited int
	d.db.QueryRow("select count(*) from powerbi_connection where access_token is not null or refresh_token is not null or groups_read_at is not null", nil, &tokens)
	d.db.QueryRow("select count(*) from audit_event where action = 'revoke_connection' and outcome = 'allow' and principal_name = 'admin@sample.example'", nil, &audited)
	if tokens != 0 || audited != 1 {
		t.Errorf("%d connections with tokens or groups, %d audit rows", tokens, audited)
	}
	for name, path := range map[string]string{"a second time": path, "of nobody": "/api/v1/admin/connections/00000000-0000-4000-8000-000000000000"} {
		if a := admin.send(http.MethodDelete, path, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	if a := viewer.send(http.MethodGet, "/api/v1/me", nil); a.status != http.StatusOK {
		t.Errorf("the viewer is shut out: %d", a.status)
	}
}
