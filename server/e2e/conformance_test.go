package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The conformance suite needs Node 22, which npm gives privately, and asks its
// questions at an address that needs no token: the proxy in front adds one.
const (
	suiteNode = "node_modules/node/bin/node"
	suite     = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
)

func withToken(t *testing.T, to, token string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			host := r.In.Host
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			r.Out.Host = target.Host
			if own := r.In.Header.Get("Origin"); own != "" && strings.HasSuffix(own, host) {
				r.Out.Header.Set("Origin", "http://"+target.Host)
			}
			// A request that comes under another name must arrive under it.
			if !strings.HasPrefix(host, "127.0.0.1:") && !strings.HasPrefix(host, "localhost:") {
				r.Out.Host = host
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// noStream is what the suite says where a stream did not begin within the 800 ms
// that it allows, which a machine that does much else can exceed.
const noStream = "Failed to open or receive frames"

// failures runs one scenario and returns what failed of it. Where the suite did not
// wait long enough, it is run again.
func failures(t *testing.T, address, scenario, version string) []check {
	t.Helper()
	for tries := 1; ; tries++ {
		failed := scenarioFailures(t, address, scenario, version)
		if tries == 3 || !slices.ContainsFunc(failed, func(c check) bool { return strings.Contains(c.ErrorMessage, noStream) }) {
			return failed
		}
	}
}

func scenarioFailures(t *testing.T, address, scenario, version string) []check {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, suiteNode, suite, "server", "--url", address, "--scenario", scenario, "--spec-version", version, "-o", out)
	printed, err := c.CombinedOutput()
	found, globErr := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if globErr != nil || len(found) == 0 {
		t.Fatalf("%s left no checks: %v\n%s", scenario, err, printed)
	}
	var failed []check
	passed := 0
	for _, f := range found {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE":
				failed = append(failed, c)
			}
		}
	}
	if passed == 0 {
		t.Errorf("%s: no check passed\n%s", scenario, printed)
	}
	return failed
}

// MCP-02 to MCP-05, TOOLS-08: the protocol's own conformance suite, as far as it
// asks for no tool of its own.
func TestConformance(t *testing.T) {
	if _, err := os.Stat(suiteNode); err != nil {
		t.Skip("the suite's Node is not installed: run scripts/setup test")
	}
	d := newDemo(t, newData(t))
	s := d.connect(t, "v1", "viewer@sample.example")
	address := withToken(t, d.MCPURL, s.AccessToken)
	for _, scenario := range []struct{ name, version string }{
		{"server-initialize", "2025-11-25"},
		{"ping", "2025-11-25"},
		{"tools-list", "2025-11-25"},
		{"dns-rebinding-protection", "2025-11-25"},
		{"server-stateless", "2026-07-28"},
		{"http-header-validation", "2026-07-28"},
		{"tools-list", "2026-07-28"},
		{"dns-rebinding-protection", "2026-07-28"},
		{"sep-2164-resource-not-found", "2026-07-28"},
		{"server-sse-multiple-streams", "2026-07-28"},
	} {
		t.Run(scenario.name+" "+scenario.version, func(t *testing.T) {
			for _, c := range failures(t, address, scenario.name, scenario.version) {
				// What needs a tool of the suite's own is not a failing of ours.
				if strings.Contains(c.ErrorMessage, "test_") || strings.Contains(c.ErrorMessage, "Not testable") {
					t.Logf("not asked: %s: %s", c.ID, c.ErrorMessage)
					continue
				}
				t.Errorf("%s: %s %s", c.ID, c.Description, c.ErrorMessage)
			}
		})
	}

	t.Run("authorization", func(t *testing.T) {
		authorization(t, d)
	})
}

// authorization runs the suite's command for authorization servers: it prints an
// address for a person to open, and a browser opens it here.
func authorization(t *testing.T, d *demo) {
	port := freePort(t)
	resp, err := http.Post(d.URL+"/api/auth/oauth2/register", "application/json", strings.NewReader(
		`{"client_name":"Conformance","redirect_uris":["http://127.0.0.1:`+port+`/callback"],"token_endpoint_auth_method":"none"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&client); err != nil || client.ID == "" {
		t.Fatalf("registering answered %d: %v", resp.StatusCode, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "node", "authorization.mjs", suiteNode, suite, port, d.URL, client.ID, d.MCPURL, t.TempDir())
	printed, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("the authorization checks failed: %v\n%s", err, printed)
	}
	t.Logf("%s", printed)
}
