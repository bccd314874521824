package contract_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/graph"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
)

// The variables that name a real tenant, beside the product's own for its
// addresses and ids: POWERBI_TENANT_ID, POWERBI_AUTHORITY, POWERBI_GRAPH_URL,
// POWERBI_API_URL and SCANNER_CLIENT_ID.
const (
	envLive        = "PBMB_LIVE"                // 1: the environment's tenant, else the sample tenant
	envSecret      = "PBMB_LIVE_SCANNER_SECRET" // of the scanner's registration
	envPowerBI     = "PBMB_LIVE_POWERBI_TOKEN"  // a person's access token for Power BI
	envGraph       = "PBMB_LIVE_GRAPH_TOKEN"    // the same person's for Graph
	envDataset     = "PBMB_LIVE_DATASET"        // id of a dataset that the person may query
	tenantVariable = "POWERBI_TENANT_ID"
)

// A tenant is what the tests ask, and with what.
type tenant struct {
	id, authority, graphURL, apiURL string
	scannerID                       string

	env  func(string) string
	http *http.Client

	mu    sync.Mutex // guards asked
	asked []string   // method and path of every request
}

// newTenant is the real tenant of the environment, or the sample tenant served for
// the test alone. Afterwards it checks that nothing but reading was asked.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	env, environment := os.Getenv, cmp.Or(os.Getenv("PBMB_ENV"), "production")
	if os.Getenv(envLive) != "1" {
		env, environment = sampleTenant(t), "test"
	}
	x := &tenant{
		id: env(tenantVariable), authority: cmp.Or(env("POWERBI_AUTHORITY"), "https://login.microsoftonline.com"),
		graphURL: cmp.Or(env("POWERBI_GRAPH_URL"), "https://graph.microsoft.com/v1.0"),
		apiURL:   cmp.Or(env("POWERBI_API_URL"), "https://api.powerbi.com/v1.0/myorg"), scannerID: env("SCANNER_CLIENT_ID"), env: env,
	}
	client, err := fetch.NewFixed([]string{x.authority, x.graphURL, x.apiURL}, fetch.Options{
		Environment: environment, Timeout: 2 * time.Minute, MaxBytes: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	client.Transport = &watched{x, client.Transport}
	x.http = client
	t.Cleanup(func() { x.onlyRead(t) })
	return x
}

// need gives the values of variables, or skips the test with their names.
func (x *tenant) need(t *testing.T, names ...string) []string {
	t.Helper()
	var values, missing []string
	for _, n := range names {
		if values = append(values, x.env(n)); values[len(values)-1] == "" {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		t.Skipf("set %s", strings.Join(missing, ", "))
	}
	return values
}

func (x *tenant) powerBI() *powerbi.Client { return powerbi.New(x.apiURL, x.http) }
func (x *tenant) graph() *graph.Client     { return graph.New(x.graphURL, x.http) }

// scanner returns an access token of the scanner's registration.
func (x *tenant) scanner(t *testing.T) string {
	t.Helper()
	secret := x.need(t, tenantVariable, "SCANNER_CLIENT_ID", envSecret)[2]
	token, err := x.app(secret).AppToken(t.Context(), powerbi.AppScope)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// get asks for JSON at an address of Power BI's API, as no client of ours does.
func (x *tenant) get(t *testing.T, token, path string, out any) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.apiURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := x.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), out); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return res
}

// A watched transport notes what is asked.
type watched struct {
	x    *tenant
	next http.RoundTripper
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.x.mu.Lock()
	w.x.asked = append(w.x.asked, r.Method+" "+r.URL.Path)
	w.x.mu.Unlock()
	return w.next.RoundTrip(r)
}

// reading are the ends of the paths that are posted to and change nothing.
var reading = []string{"/oauth2/v2.0/token", "/executeQueries", "/admin/workspaces/getInfo", "/me/getMemberGroups"}

// onlyRead fails the test where something was asked that might change a tenant.
func (x *tenant) onlyRead(t *testing.T) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.asked {
		if !reads(a) {
			t.Errorf("%s does not only read", a)
		}
	}
}

func reads(asked string) bool {
	method, path, _ := strings.Cut(asked, " ")
	if method == http.MethodGet {
		return true
	}
	for _, end := range reading {
		if method == http.MethodPost && strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// SAMPLE-11: the target exists, and what it needs is written down.
func TestTheTargetIsDocumented(t *testing.T) {
	makefile, err1 := os.ReadFile("../../Makefile")
	contributing, err2 := os.ReadFile("../../CONTRIBUTING.md")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, recipe, _ := strings.Cut(string(makefile), "\ntest-live:\n"); !strings.Contains(recipe, envLive+"=1 go test") || !strings.Contains(recipe, "./sync/contract") {
		t.Error("the Makefile has no target test-live that runs these tests")
	}
	for _, name := range []string{
		"make test-live", tenantVariable, "POWERBI_AUTHORITY", "POWERBI_GRAPH_URL", "POWERBI_API_URL", "SCANNER_CLIENT_ID",
		envSecret, envPowerBI, envGraph, envDataset,
	} {
		if !strings.Contains(string(contributing), name) {
			t.Errorf("CONTRIBUTING.md does not say %s", name)
		}
	}
}

// SAMPLE-11: the list of what is asked lets no write through.
func TestWritesAreNoticed(t *testing.T) {
	for asked, want := range map[string]bool{
		"GET /v1.0/myorg/groups":                       true,
		"POST /v1.0/myorg/datasets/x/executeQueries":   true,
		"POST /v1.0/myorg/groups":                      false,
		"POST /v1.0/myorg/datasets/x/refreshes":        false,
		"DELETE /v1.0/myorg/datasets/x/executeQueries": false,
	} {
		if reads(asked) != want {
			t.Errorf("%s: reads is %v", asked, !want)
		}
	}
}

// sampleTenant serves the sample tenant, and gives the variables that name it.
func sampleTenant(t *testing.T) func(string) string {
	t.Helper()
	s, err := sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	issue := func(resource string) string {
		res, err := http.Post(srv.URL+sample.ControlPath+"tokens", "application/json", strings.NewReader(`{"person":"viewer@sample.example","resource":"`+resource+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var token struct {
			Access string `json:"access_token"`
		}
		if err := json.NewDecoder(res.Body).Decode(&token); err != nil || token.Access == "" {
			t.Fatalf("no token: %s %v", res.Status, err)
		}
		return token.Access
	}
	values := map[string]string{
		tenantVariable: sample.TenantID, "POWERBI_AUTHORITY": srv.URL + sample.LoginPath, "POWERBI_GRAPH_URL": srv.URL + sample.GraphPath + "/v1.0",
		"POWERBI_API_URL": srv.URL + sample.PowerBIPath + "/v1.0/myorg", "SCANNER_CLIENT_ID": sample.ScannerID, envSecret: sample.ScannerSecret,
		envPowerBI: issue("powerbi"), envGraph: issue("graph"), envDataset: s.DatasetID("Sales"),
	}
	return func(name string) string { return values[name] }
}

func (x *tenant) app(secret string) *entra.Client {
	return entra.New(x.authority, x.id, registration(x.scannerID, secret), x.http, time.Now)
}
