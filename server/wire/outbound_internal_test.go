package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/server/config"
)

// FETCH-29: whatever becomes of a query, its text is sent to Power BI alone, and
// there to the one address that runs queries. The purpose goes nowhere.
func TestDAXLeavesForPowerBIAlone(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	const mark, purpose = "MarkedDaxText", "MarkedPurpose"
	run := func(b *browser, dax string) int {
		body, err := json.Marshal(map[string]string{"dataset": "Sales", "dax": dax, "purpose": purpose})
		if err != nil {
			t.Fatal(err)
		}
		return b.send(http.MethodPost, "/api/v1/queries", string(body), nil).status
	}
	viewer, admin, outsider := d.signIn("viewer@sample.example"), d.signIn("admin@sample.example"), d.signIn("outsider@sample.example")
	if a := admin.send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[Customer]","note":"n"}`, nil); a.status != http.StatusOK {
		t.Fatalf("marking answered %d %s", a.status, a.body)
	}
	for name, c := range map[string]struct {
		by   *browser
		dax  string
		runs bool
	}{
		"one that runs":                 {viewer, `EVALUATE { "` + mark + `" }`, true},
		"one that Power BI refuses":     {viewer, `EVALUATE { ERROR ( "` + mark + `" ) }`, false},
		"one over personal data":        {viewer, `EVALUATE FILTER ( VALUES ( Customer[Customer] ), "` + mark + `" <> "" )`, false},
		"one that cannot be read":       {viewer, `EVALUATE ` + mark + ` (`, false},
		"one of somebody without reach": {outsider, `EVALUATE { "` + mark + `" }`, false},
	} {
		if got := run(c.by, c.dax); c.runs != (got == http.StatusOK) {
			t.Errorf("%s answered %d", name, got)
		}
	}
	client := viewer.letIn()
	if a := viewer.rpc(client.access, "tools/call", map[string]any{
		"name": "execute_dax", "arguments": map[string]any{"dataset": "Sales", "dax": `EVALUATE { "` + mark + `" }`, "purpose": purpose},
	}); a.status != http.StatusOK {
		t.Errorf("the connector answered %d %s", a.status, a.body)
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	queries, marked, hosts := 0, 0, map[string]bool{}
	for _, s := range d.sent {
		hosts[s.host] = true
		query := s.host == "power bi" && strings.HasSuffix(s.path, "/executeQueries")
		if query {
			queries++
		} else if strings.HasSuffix(s.path, "/executeQueries") {
			t.Errorf("a query went to %s", s.host)
		}
		if strings.Contains(s.text, mark) {
			if marked++; !query {
				t.Errorf("%s got the text of a query at %s", s.host, s.path)
			}
		}
		if strings.Contains(s.text, purpose) {
			t.Errorf("%s got the purpose of a query at %s", s.host, s.path)
		}
	}
	if len(hosts) != 3 || marked != 3 || queries <= marked {
		t.Errorf("%d queries, %d of them marked, at %v", queries, marked, hosts)
	}
}

// FETCH-31
func TestTheWorkerReachesTwoHosts(t *testing.T) {
	t.Parallel()
	cfg := config.Config{
		Authority: "https://login.example", APIURL: "https://api.example/v1.0/myorg", GraphURL: "https://graph.example/v1.0",
		GoogleIssuer: "https://accounts.google.example", PublicBaseURL: "https://book.example",
	}
	errDialed := errors.New("dialed")
	var named []string
	client, err := workerClient(cfg, fetch.Options{
		Environment: "production", Resolver: names(func(host string) { named = append(named, host) }),
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errDialed },
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]error{
		cfg.Authority + "/t/oauth2/v2.0/token": errDialed, cfg.APIURL + "/admin/workspaces/getInfo": errDialed,
		cfg.GraphURL + "/me": fetch.ErrHost, cfg.GoogleIssuer: fetch.ErrHost, cfg.PublicBaseURL: fetch.ErrHost, "https://elsewhere.example": fetch.ErrHost,
	} {
		resp, err := client.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
	slices.Sort(named)
	if got := strings.Join(named, " "); got != "api.example login.example" {
		t.Errorf("looked up %s", got)
	}
}

type names func(host string)

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n(host)
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}
