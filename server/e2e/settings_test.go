package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A visitor is a person's browser that stays signed in between calls.
type visitor struct {
	t      *testing.T
	d      *demo
	cookie string
}

func (d *demo) visit(t *testing.T, email string) *visitor {
	t.Helper()
	v := &visitor{t: t, d: d}
	if status, body := v.call("POST", "/api/auth/dev-sign-in", map[string]any{"email": email}); status != http.StatusOK || v.cookie == "" {
		t.Fatalf("signing in as %s: %d %v", email, status, body)
	}
	return v
}

func (v *visitor) call(method, path string, body any) (status int, answer map[string]any) {
	v.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.d.URL+path, bytes.NewReader(raw))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Origin", v.d.URL)
	r.Header.Set("Content-Type", "application/json")
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		v.cookie = c.Name + "=" + c.Value
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		v.t.Fatalf("%s %s: %d, %v", method, path, resp.StatusCode, err)
	}
	return resp.StatusCode, answer
}

// datasets has the names that the person lists.
func (v *visitor) datasets() string {
	v.t.Helper()
	status, body := v.call("GET", "/api/v1/datasets", nil)
	if status != http.StatusOK {
		v.t.Fatalf("listing datasets: %d %v", status, body)
	}
	var names []string
	for _, item := range body["items"].([]any) {
		names = append(names, item.(map[string]any)["name"].(string))
	}
	return strings.Join(names, ", ")
}

// OPS-06, ROLES-29, ROLES-30, VIS-03, VIS-04: what an admin sets counts from
// the next request on, in sessions that were open before.
func TestSettings(t *testing.T) {
	d := newDemo(t, newData(t))
	admin, viewer, outsider := d.visit(t, "admin@sample.example"), d.visit(t, "viewer@sample.example"), d.visit(t, "outsider@sample.example")
	set := func(key, value string) {
		t.Helper()
		if status, body := admin.call("PUT", "/api/v1/admin/settings/"+key, map[string]any{"value": value}); status != http.StatusOK || body["value"] != value {
			t.Fatalf("setting %s to %s: %d %v", key, value, status, body)
		}
	}
	if reached := viewer.datasets(); !strings.Contains(reached, "Sales") || outsider.datasets() != "" {
		t.Fatalf("before: the viewer lists %q, the outsider %q", reached, outsider.datasets())
	}

	set("access.metadata_visibility", "everyone")
	if got := outsider.datasets(); !strings.Contains(got, "Sales") {
		t.Errorf("everyone: the outsider lists %q", got)
	}
	query := map[string]any{"dataset": "Sales", "dax": `EVALUATE { 1 }`}
	if status, body := outsider.call("POST", "/api/v1/queries", query); status != http.StatusForbidden || !strings.Contains(body["detail"].(string), "Power BI does not let this account query the dataset") {
		t.Errorf("everyone: the outsider's query answers %d %v", status, body)
	}
	set("access.metadata_visibility", "policy")
	for name, v := range map[string]*visitor{"admin": admin, "viewer": viewer, "outsider": outsider} {
		if got := v.datasets(); got != "" {
			t.Errorf("policy, without one: the %s lists %q", name, got)
		}
	}
	set("access.metadata_visibility", "powerbi")
	if viewer.datasets() == "" || outsider.datasets() != "" {
		t.Errorf("powerbi: the viewer lists %q, the outsider %q", viewer.datasets(), outsider.datasets())
	}

	// The demo gives a role to everybody of the company's domain, whichever provider
	// vouches for it; without that, only the setting lets the outsider in.
	_, listed := admin.call("GET", "/api/v1/admin/roles", nil)
	for _, item := range listed["items"].([]any) {
		if a := item.(map[string]any); a["kind"] == "domain" {
			if status, body := admin.call("DELETE", "/api/v1/admin/roles/"+a["id"].(string), nil); status != http.StatusOK {
				t.Fatalf("revoking the domain's role: %d %v", status, body)
			}
		}
	}
	if status, body := outsider.call("GET", "/api/v1/me", nil); status != http.StatusOK {
		t.Errorf("by the default role: the outsider gets %d %v", status, body)
	}
	set("access.default_role", "none")
	if status, body := outsider.call("GET", "/api/v1/me", nil); status != http.StatusForbidden {
		t.Errorf("no default role: the outsider gets %d %v", status, body)
	}
	if status, body := viewer.call("GET", "/api/v1/me", nil); status != http.StatusOK {
		t.Errorf("no default role: somebody with an assignment gets %d %v", status, body)
	}
	set("access.default_role", "viewer")
	if status, body := outsider.call("GET", "/api/v1/me", nil); status != http.StatusOK {
		t.Errorf("viewer by default: the outsider gets %d %v", status, body)
	}

	// OPS-06, FETCH-12: what is refused over REST.
	for key, value := range map[string]string{"access.default_role": "admin", "powerbi.authority": "https://attacker.example", "powerbi.tenant_id": "6b1f0f3e-6f0c-4f5a-9b0e-1d2c3b4a5960"} {
		if status, body := admin.call("PUT", "/api/v1/admin/settings/"+key, map[string]any{"value": value}); status != http.StatusBadRequest || body["kind"] != "invalid" {
			t.Errorf("setting %s to %s: %d %v", key, value, status, body)
		}
	}
	if status, _ := admin.call("PUT", "/api/v1/admin/settings/query.timeout_seconds", map[string]any{"value": "90", "version": 7}); status != http.StatusConflict {
		t.Errorf("based on a version that never was: %d", status)
	}
	if status, body := viewer.call("GET", "/api/v1/admin/settings", nil); status != http.StatusForbidden {
		t.Errorf("a viewer lists settings: %d %v", status, body)
	}
}
