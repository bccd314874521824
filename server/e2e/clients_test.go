package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	product "github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/server/wire"
)

// foreignEnv makes this test binary a demo for which every public address leads to
// one site of the test's; the program that people run has no such setting.
const foreignEnv = "PBMB_E2E_FOREIGN"

// A foreignDemo is what such a demo is told.
type foreignDemo struct {
	Site        string // where the site listens
	Certificate string // what it is known by, PEM
	Data, Ready string
}

func runForeignDemo(told string) int {
	var f foreignDemo
	if err := json.Unmarshal([]byte(told), &f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := product.Options{
		Data: f.Data, Listen: "127.0.0.1:0", SampleListen: "127.0.0.1:0", ReadyFile: f.Ready, Out: os.Stdout, Log: log,
	}
	outside := fetchtest.Options(f.Site, []byte(f.Certificate))
	// The sample tenant's own providers are on this machine, as in every demo.
	outside.Environment = "development"
	public := outside.Dial
	outside.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); host != fetchtest.PublicAddress {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		return public(ctx, network, address)
	}
	if err := product.Run(ctx, o, wire.DemoParts(outside, log)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newForeignDemo starts a demo for which the internet is site.
func newForeignDemo(t *testing.T, site *fetchtest.Site) *demo {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	told, err := json.Marshal(foreignDemo{Site: site.Listen, Certificate: string(site.Certificate), Data: newData(t), Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), foreignEnv+"="+string(told))
	return startDemo(t, command, ready)
}

// A visit is what a client got.
type visit struct {
	Request   map[string]string `json:"request"`
	Screen    map[string]any    `json:"screen"`
	Error     string            `json:"error"`
	Delivered int               `json:"delivered"`
	Tools     []string          `json:"tools"`
	WhoAmI    map[string]any    `json:"whoami"`
	Before    string            `json:"before"`
	After     string            `json:"after"`
}

// claudeDocument is where Claude Code's metadata document is, which is its id. The
// text is ours: what such a document says of a program on somebody's machine.
const (
	claudeHost     = "claude.ai"
	claudeDocument = "https://claude.ai/oauth/claude-code-client-metadata"
)

// OAUTH-34, OAUTH-36, OAUTH-49, OAUTH-50, TOOLS-08: the clients that people use,
// told nothing but the connector's address.
func TestClientsThatPeopleUse(t *testing.T) {
	site := fetchtest.NewSite(t, claudeHost)
	site.Serve(func(w http.ResponseWriter, r *http.Request) {
		if "https://"+r.Host+r.URL.Path != claudeDocument {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"client_name":"Claude Code","client_uri":"https://claude.ai",
			"redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],"grant_types":["authorization_code","refresh_token"],
			"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native"}`, claudeDocument)
	})
	d := newForeignDemo(t, site)
	const viewer = "viewer@sample.example"
	visited := func(t *testing.T, client string) (v visit) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, "node", "clients.mjs", client, d.MCPURL, viewer)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", client, err, stderr.String())
		}
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%s printed %q", client, out)
		}
		if v.Error != "" || v.Delivered != http.StatusOK || v.Request["code_challenge_method"] != "S256" || v.Request["resource"] != d.MCPURL {
			t.Errorf("%s asked for %v and was sent back with %q, which answered %d", client, v.Request, v.Error, v.Delivered)
		}
		return v
	}
	tools := []string{"execute_dax", "get_dataset", "list_columns", "list_datasets", "list_measures", "search", "whoami"}

	for _, client := range []string{"mcp-remote", "inspector"} {
		t.Run(client, func(t *testing.T) {
			if _, err := os.Stat(suiteNode); client == "inspector" && err != nil {
				t.Skip("the inspector needs a newer Node, which is not installed: run scripts/setup test")
			}
			v := visited(t, client)
			for _, tool := range tools {
				if !slices.Contains(v.Tools, tool) {
					t.Errorf("it does not see %s: %q", tool, v.Tools)
				}
			}
			if v.WhoAmI["email"] != viewer || v.WhoAmI["via"] != "connector" || v.WhoAmI["client_id"] != v.Request["client_id"] {
				t.Errorf("whoami %v", v.WhoAmI)
			}
			// It registered, so nothing vouches for it.
			if v.Screen["vouched_host"] != nil || fmt.Sprint(v.Screen["registered"].(map[string]any)["kind"]) != "registered" {
				t.Errorf("the screen says %v", v.Screen)
			}
		})
	}

	t.Run("claude-code", func(t *testing.T) {
		if _, err := os.Stat("node_modules/@anthropic-ai/claude-code-linux-x64/claude"); err != nil {
			t.Skip("Claude Code's package is not installed here: npm leaves it out where it is not to be had")
		}
		v := visited(t, "claude-code")
		if v.Request["client_id"] != claudeDocument || v.Screen["vouched_host"] != claudeHost || v.Screen["claimed_name"] != "Claude Code" {
			t.Errorf("it asked as %v, and the screen says %v", v.Request, v.Screen)
		}
		if !strings.Contains(v.Before, "Needs authentication") || !strings.Contains(v.After, "Connected") {
			t.Errorf("before the login it lists\n%s\nand after it\n%s", v.Before, v.After)
		}
		var held page
		a := d.rest(t, viewer, restCall{Method: "GET", Path: "/api/v1/me/grants"})[0]
		raw, err := json.Marshal(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		if held = decode[page](t, raw); held.Total < 1 || !strings.Contains(string(raw), claudeDocument) {
			t.Errorf("the person's grants: %s", raw)
		}
	})
}
