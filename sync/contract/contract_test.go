package contract_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"

	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
)

func registration(id, secret string) entra.Registration {
	return entra.Registration{ClientID: id, Secret: func(context.Context) (string, error) { return secret, nil }}
}

// SAMPLE-11: Entra describes itself as a generic library expects, and says no in
// the way of OAuth.
func TestEntra(t *testing.T) {
	x := newTenant(t)
	id := x.need(t, tenantVariable)[0]
	provider, err := oidc.NewProvider(oidc.ClientContext(t.Context(), x.http), x.authority+"/"+id+"/v2.0")
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Keys      string   `json:"jwks_uri"`
		Algorithm []string `json:"id_token_signing_alg_values_supported"`
		Device    string   `json:"device_authorization_endpoint"`
	}
	if err := provider.Claims(&about); err != nil || about.Keys == "" || about.Device == "" || strings.Join(about.Algorithm, " ") != "RS256" {
		t.Errorf("the discovery document says %+v, %v", about, err)
	}
	x.need(t, "SCANNER_CLIENT_ID")
	_, err = x.app("no such secret").AppToken(t.Context(), powerbi.AppScope)
	refused, ok := errors.AsType[*entra.Error](err)
	if !ok || refused.OAuthCode() != "invalid_client" {
		t.Errorf("a wrong secret: %v", err)
	}
}

// SAMPLE-11: a scan of one workspace, and the apps with their audiences.
func TestScanner(t *testing.T) {
	x := newTenant(t)
	token := x.scanner(t)
	c := x.powerBI()
	ids, err := c.ModifiedWorkspaces(t.Context(), token, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) == 0 {
		t.Fatal("the tenant has no workspace")
	}
	scan, err := c.StartScan(t.Context(), token, ids[:1])
	if err != nil {
		t.Fatal(err)
	}
	for scan.Going() {
		select { // a scan takes time, and so does the answer of a busy tenant
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Second):
		}
		if scan, err = c.ScanStatus(t.Context(), token, scan.ID); err != nil {
			t.Fatal(err)
		}
	}
	if !scan.Done() {
		t.Fatalf("the scan ended as %s", scan.Status)
	}
	found := 0
	if err := c.ScanResult(t.Context(), token, scan.ID, func(w *powerbi.Workspace) error {
		found++
		if !strings.EqualFold(w.ID, ids[0]) || w.Name == "" {
			t.Errorf("the workspace %q has the name %q", w.ID, w.Name)
		}
		return nil
	}); err != nil || found != 1 {
		t.Errorf("%d workspaces, %v", found, err)
	}
	apps, err := c.Apps(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range apps[:min(1, len(apps))] {
		if _, err := c.AppUsers(t.Context(), token, a.ID); err != nil {
			t.Errorf("the audience of an app: %v", err)
		}
	}
}

// SAMPLE-11: who somebody is, and their groups by both ways of asking.
func TestGraph(t *testing.T) {
	x := newTenant(t)
	token := x.need(t, envGraph)[0]
	me, err := x.graph().Me(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if uuid.Validate(me.ID) != nil || me.UserPrincipalName == "" {
		t.Errorf("the person is %+v", me)
	}
	groups, err := x.graph().GroupIDs(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if uuid.Validate(g) != nil {
			t.Errorf("the group %q has no id", g)
		}
	}
}

// SAMPLE-11: a person's lists, and that a token for another service opens nothing.
func TestPersonLists(t *testing.T) {
	x := newTenant(t)
	token := x.need(t, envPowerBI)[0]
	for path, keys := range map[string][]string{
		"/groups": {"id", "name"}, "/apps": {"id", "name"}, "/datasets": {"id", "name", "isEffectiveIdentityRequired"}, "/reports": {"id", "name", "datasetId"},
	} {
		var list struct{ Value []map[string]any }
		res := x.get(t, token, path, &list)
		if res.StatusCode != http.StatusOK || res.Header.Get("RequestId") == "" {
			t.Errorf("%s is answered %s", path, res.Status)
		}
		for _, entry := range list.Value {
			for _, k := range keys {
				if _, ok := entry[k]; !ok {
					t.Errorf("%s: an entry lacks %s", path, k)
				}
			}
		}
	}
	if res := x.get(t, token, "/datasets/"+uuid.NewString(), nil); res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a dataset that is not there is answered %s", res.Status)
	}
	other := x.need(t, envGraph)[0]
	if res := x.get(t, other, "/groups", nil); res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		t.Errorf("a token for Graph is answered %s", res.Status)
	}
}

// SAMPLE-11: DAX, its types and its mistakes, and what a reader may ask about a model.
func TestQueries(t *testing.T) {
	x := newTenant(t)
	values := x.need(t, envPowerBI, envDataset)
	token, dataset := values[0], values[1]
	c := x.powerBI()
	got, err := c.ExecuteQuery(t.Context(), token, dataset, `EVALUATE ROW ( "n", 1, "x", 0.5, "t", "a", "b", TRUE (), "e", BLANK (), "d", DATE ( 2026, 3, 1 ) )`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.Columns, " ") != "[n] [x] [t] [b] [e] [d]" || len(got.Rows) != 1 || got.Rows[0][4] != nil || got.Rows[0][5] != "2026-03-01T00:00:00" {
		t.Errorf("got %v %v", got.Columns, got.Rows)
	}
	if got, err := c.ExecuteQuery(t.Context(), token, dataset, "EVALUATE INFO.VIEW.RELATIONSHIPS ()"); err != nil {
		t.Errorf("relationships: %v", err)
	} else if len(got.Rows) > 0 && !strings.Contains(strings.Join(got.Columns, " "), "[FromTable]") {
		t.Errorf("relationships have the columns %v", got.Columns)
	}
	for name, dax := range map[string]string{
		"a mistake in the text": "EVALUATE", "an unknown table": "EVALUATE 'no such table at all'", "metadata for administrators": "EVALUATE INFO.TABLES ()",
	} {
		_, err := c.ExecuteQuery(t.Context(), token, dataset, dax)
		refused, ok := errors.AsType[*powerbi.Error](err)
		if !ok || refused.Status != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ended, ok, err := c.LastRefresh(t.Context(), token, dataset); err != nil || ok && ended.IsZero() {
		t.Errorf("the last refresh: %v %v %v", ended, ok, err)
	}
}
