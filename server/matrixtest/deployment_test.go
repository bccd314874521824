package matrixtest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/wire"
	"github.com/pbmb/pbmb/sync/sample"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// A deployment is the whole product over the sample tenant, synced, with every
// person's account connected.
type deployment struct {
	t      *testing.T
	db     *postgrestest.Database
	cerbos *cerbostest.Program
	tenant *sample.Tenant
	url    string
	routes []string

	// between stands between the product and the tenant, where a test wants to.
	between func(http.Handler) http.Handler
}

func newDeployment(t *testing.T, between func(http.Handler) http.Handler, layers ...fs.FS) *deployment {
	t.Helper()
	d := &deployment{t: t, db: postgrestest.New(t), cerbos: cerbostest.NewProgram(t, layers...)}
	log := slog.New(slog.DiscardHandler)
	var tenantHandler http.Handler
	microsoft := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tenantHandler.ServeHTTP(w, r) }))
	t.Cleanup(microsoft.Close)
	var err error
	if d.tenant, err = sample.New(sample.Config{URL: microsoft.URL, Unlimited: true, Log: log}); err != nil {
		t.Fatal(err)
	}
	if tenantHandler = d.tenant.Handler(); between != nil {
		tenantHandler = between(tenantHandler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.url = fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	cfg := config.Config{
		Environment: config.Test, PublicBaseURL: d.url, Deployment: "test", AuthSecret: rand.Text() + rand.Text(),
		DatabaseAPI: d.db.URL(postgres.API), DatabaseWorker: d.db.URL(postgres.Worker), CerbosAddress: d.cerbos.Target, IdentityFolder: t.TempDir(),
		TenantID: sample.TenantID, Authority: microsoft.URL + sample.LoginPath,
		GraphURL: microsoft.URL + sample.GraphPath + "/v1.0", APIURL: microsoft.URL + sample.PowerBIPath + "/v1.0/myorg",
		ClientID: sample.AppID, ScannerClientID: sample.ScannerID, AllowDevSignIn: true,
		GoogleIssuer: microsoft.URL + sample.GooglePath, TrustedProxy: "127.0.0.1",
	}
	if err := wire.SetUpSample(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	api, err := wire.API(t.Context(), cfg, listener, wire.KnownInSample(d.tenant), fetch.Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := wire.Worker(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	d.routes = api.Routes()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, p := range []interface{ Run(context.Context) error }{api, worker} {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Errorf("a process ended with %v", err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	if _, err := wire.FillSample(t.Context(), cfg, d.tenant); err != nil {
		t.Fatal(err)
	}
	// A service account has a cell of every row within seconds.
	d.db.Exec("insert into setting (key, value) values ('service_accounts.rate_per_minute', '100000')")
	return d
}

// A caller brings one credential, or none.
type caller struct {
	d      *deployment
	cookie string // of a browser session
	token  string // bearer token or API key
}

var requests struct {
	sync.Mutex
	sent int
}

// nextAddress is one that nobody asked from before, so that no limit of an address
// answers in the place of what is tried.
func nextAddress() string {
	requests.Lock()
	defer requests.Unlock()
	requests.sent++
	return fmt.Sprintf("10.%d.%d.%d", requests.sent>>16, requests.sent>>8&255, requests.sent&255)
}

type answer struct {
	status int
	header http.Header
	text   string
}

func (a answer) field(name string) string {
	var body map[string]any
	_ = json.Unmarshal([]byte(a.text), &body) // what is no JSON has no fields
	text, _ := body[name].(string)
	return text
}

// send sends a request; a body that is a url.Values is a form, a string goes as
// it is, anything else as JSON. Headers come in pairs and are added.
func (c caller) send(method, path string, body any, headers ...string) answer {
	c.d.t.Helper()
	a, err := c.try(method, path, body, headers...)
	if err != nil {
		c.d.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c caller) try(method, path string, body any, headers ...string) (answer, error) {
	var raw []byte
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		raw, kind = []byte(b), "application/json"
	case url.Values:
		raw, kind = []byte(b.Encode()), "application/x-www-form-urlencoded"
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
		kind = "application/json"
	}
	r, err := http.NewRequestWithContext(c.d.t.Context(), method, c.d.url+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("X-Forwarded-For", nextAddress())
	if c.token == "" {
		r.Header.Set("Origin", c.d.url)
	} else {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.cookie != "" {
		r.Header.Set("Cookie", session.Cookie+"="+c.cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
}

// must is send for what has to go well.
func (c caller) must(method, path string, body any) answer {
	c.d.t.Helper()
	a := c.send(method, path, body)
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		c.d.t.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
	}
	return a
}

// rpc calls a method of the connector.
func (c caller) rpc(method string, params any) answer {
	c.d.t.Helper()
	return c.send(http.MethodPost, "/api/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
		"Accept", "application/json, text/event-stream")
}

func (c caller) tool(name string, arguments any) answer {
	c.d.t.Helper()
	return c.rpc("tools/call", map[string]any{"name": name, "arguments": arguments})
}

func (d *deployment) nobody() caller { return caller{d: d} }

func (d *deployment) person(email string) caller {
	d.t.Helper()
	a := d.nobody().must(http.MethodPost, "/api/auth/dev-sign-in", map[string]string{"email": email})
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == session.Cookie {
			return caller{d: d, cookie: c.Value}
		}
	}
	d.t.Fatalf("signing %s in: %d %s", email, a.status, a.text)
	return caller{}
}

// connector lets a client in for c and returns the client, which has a token for
// the connector.
func (c caller) connector() caller {
	c.d.t.Helper()
	const redirect = "http://localhost/callback"
	id := c.d.nobody().must(http.MethodPost, "/api/auth/oauth2/register", map[string]any{"client_name": "Agent", "redirect_uris": []string{redirect}}).field("client_id")
	verifier, challenge := oauthtest.PKCE()
	asked := c.send(http.MethodGet, "/api/auth/oauth2/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {redirect}, "scope": {"mcp"}, "state": {"s"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {c.d.url + "/api/mcp"},
	}.Encode(), nil)
	screen, err := url.Parse(asked.header.Get("Location"))
	if err != nil {
		c.d.t.Fatal(err)
	}
	back, err := url.Parse(c.must(http.MethodPost, "/api/v1/oauth/consent", map[string]any{"query": screen.RawQuery, "allow": true}).field("redirect_to"))
	if err != nil {
		c.d.t.Fatal(err)
	}
	return caller{d: c.d, token: c.d.nobody().must(http.MethodPost, "/api/auth/oauth2/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {id}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "code_verifier": {verifier},
	}).field("access_token")}
}

// cli signs the command line in for c, by the device flow.
func (c caller) cli() caller {
	c.d.t.Helper()
	started := c.d.nobody().must(http.MethodPost, "/api/auth/oauth2/device_authorization", url.Values{"client_id": {"pbmb-cli"}, "resource": {c.d.url + "/api/v1"}})
	c.must(http.MethodPost, "/api/v1/oauth/device", map[string]any{"user_code": started.field("user_code"), "allow": true})
	return caller{d: c.d, token: c.d.nobody().must(http.MethodPost, "/api/auth/oauth2/token", url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {"pbmb-cli"}, "device_code": {started.field("device_code")},
	}).field("access_token")}
}

// account makes a service account and returns it with a key; c is an admin.
func (c caller) account(name string, workspaces ...string) caller {
	c.d.t.Helper()
	id := c.must(http.MethodPost, "/api/v1/admin/service-accounts", map[string]any{
		"name": name, "roles": []string{"curator"}, "workspace_ids": append([]string{}, workspaces...),
	}).field("id")
	made := c.must(http.MethodPost, "/api/v1/admin/service-accounts/"+id+"/keys", map[string]any{})
	return caller{d: c.d, token: made.field("key")}
}

// strings returns the texts of a query's only column.
func (d *deployment) strings(sql string, args ...any) (list []string) {
	d.t.Helper()
	var all string
	d.db.QueryRow("select coalesce(string_agg(x::text, chr(10)), '') from ("+sql+") as found(x)", args, &all)
	if all == "" {
		return nil
	}
	return strings.Split(all, "\n")
}
