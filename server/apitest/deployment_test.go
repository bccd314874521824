package apitest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/wire"
	"github.com/pbmb/pbmb/sync/sample"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// A deployment is the real api, on a database and a Cerbos of its own and the
// sample tenant, without a worker. It believes what 127.0.0.1 says of the
// client's address, so that a test is as many clients as it likes.
type deployment struct {
	t      *testing.T
	db     *postgrestest.Database
	url    string
	routes []string
	log    *syncedBuffer
}

func newDeployment(t *testing.T, changes ...func(*config.Config)) *deployment {
	t.Helper()
	d := &deployment{t: t, db: postgrestest.New(t), log: &syncedBuffer{}}
	var tenantHandler http.Handler
	tenantServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tenantHandler.ServeHTTP(w, r) }))
	t.Cleanup(tenantServer.Close)
	log := slog.New(slog.NewTextHandler(d.log, nil))
	tenant, err := sample.New(sample.Config{URL: tenantServer.URL, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	tenantHandler = tenant.Handler()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.url = fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	cfg := config.Config{
		Environment: config.Test, PublicBaseURL: d.url, Deployment: "test", AuthSecret: rand.Text() + rand.Text(),
		DatabaseAPI: d.db.URL(postgres.API), DatabaseWorker: d.db.URL(postgres.Worker), CerbosAddress: cerbostest.Start(t), IdentityFolder: t.TempDir(),
		TenantID: sample.TenantID, Authority: tenantServer.URL + sample.LoginPath,
		GraphURL: tenantServer.URL + sample.GraphPath + "/v1.0", APIURL: tenantServer.URL + sample.PowerBIPath + "/v1.0/myorg",
		ClientID: sample.AppID, AllowDevSignIn: true, GoogleIssuer: signin.GoogleIssuer, TrustedProxy: "127.0.0.1",
	}
	for _, change := range changes {
		change(&cfg)
	}
	if err := wire.SetUpSample(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	foreign := fetchtest.NewSite(t, oauthtest.ForeignHost)
	api, err := wire.API(t.Context(), cfg, listener, wire.KnownInSample(tenant), foreign.Options(), log)
	if err != nil {
		t.Fatal(err)
	}
	d.routes = api.Routes()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the api ended with %v", err)
		}
	})
	return d
}

// addressOf is the address of the i-th of several callers.
func addressOf(i int) string { return fmt.Sprintf("203.0.113.%d", i%250) }

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A caller is one client at an address of its own.
type caller struct {
	*http.Client
	d       *deployment
	address string
	token   string
}

// from returns a caller at an address, with no credential.
func (d *deployment) from(address string) *caller {
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return &caller{d: d, address: address, Client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as returns a caller who signed in.
func (d *deployment) as(email string) *caller {
	d.t.Helper()
	c := d.from(fmt.Sprintf("198.51.100.%d", len(email)))
	if a := c.send(http.MethodPost, "/api/auth/dev-sign-in", map[string]any{"email": email}, "Origin", d.url); a.status != http.StatusOK {
		d.t.Fatalf("signing %s in: %d %s", email, a.status, a.text)
	}
	return c
}

type answer struct {
	status int
	header http.Header
	text   string
}

func (a answer) field(name string) string {
	var body map[string]any
	_ = json.Unmarshal([]byte(a.text), &body) // what is no JSON has no fields
	if body[name] == nil {
		return ""
	}
	return fmt.Sprint(body[name])
}

// send sends a request with headers in pairs; a body that is a url.Values is a
// form, any other is JSON. Where no Origin is among the headers, a write has ours.
func (c *caller) send(method, path string, body any, headers ...string) answer {
	c.d.t.Helper()
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case url.Values:
		reader, kind = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.d.t.Fatal(err)
		}
		reader, kind = bytes.NewReader(raw), "application/json"
	}
	r, err := http.NewRequestWithContext(c.d.t.Context(), method, c.d.url+path, reader)
	if err != nil {
		c.d.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if method != http.MethodGet && c.token == "" {
		r.Header.Set("Origin", c.d.url)
	}
	for pair := range slices.Chunk(headers, 2) {
		if r.Header.Set(pair[0], pair[1]); pair[1] == "" {
			r.Header.Del(pair[0])
		}
	}
	r.Header.Set("X-Forwarded-For", c.address)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.do(r)
}

func (c *caller) do(r *http.Request) answer {
	c.d.t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		c.d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.d.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// letIn registers a client, has the caller allow it, and returns the client as a
// caller with its token.
func (c *caller) letIn() (client *caller, clientID string) {
	c.d.t.Helper()
	const redirect = "http://localhost/callback"
	client = c.d.from("203.0.113.7")
	clientID = client.send(http.MethodPost, "/api/auth/oauth2/register", map[string]any{"client_name": "Agent", "redirect_uris": []string{redirect}}).field("client_id")
	verifier, challenge := oauthtest.PKCE()
	asked := c.send(http.MethodGet, "/api/auth/oauth2/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {redirect}, "scope": {"mcp"}, "state": {"s"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {c.d.url + "/api/mcp"},
	}.Encode(), nil)
	screen, err := url.Parse(asked.header.Get("Location"))
	if err != nil || screen.Path != "/consent" {
		c.d.t.Fatalf("authorize: %d %s %s", asked.status, screen, asked.text)
	}
	allowed := c.send(http.MethodPost, "/api/v1/oauth/consent", map[string]any{"query": screen.RawQuery, "allow": true})
	back, err := url.Parse(allowed.field("redirect_to"))
	if err != nil || back.Query().Get("code") == "" {
		c.d.t.Fatalf("consent: %d %s", allowed.status, allowed.text)
	}
	tokens := client.send(http.MethodPost, "/api/auth/oauth2/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "code": {back.Query().Get("code")},
		"redirect_uri": {redirect}, "code_verifier": {verifier},
	})
	if client.token = tokens.field("access_token"); client.token == "" {
		c.d.t.Fatalf("token: %d %s", tokens.status, tokens.text)
	}
	return client, clientID
}

// connectPowerBI takes the browser through the connection of the person's own account.
func (c *caller) connectPowerBI(person string) {
	c.d.t.Helper()
	start := c.send(http.MethodGet, "/api/v1/me/connection/start", nil)
	chosen, err := c.PostForm(start.header.Get("Location"), url.Values{"person": {person}})
	if err != nil {
		c.d.t.Fatal(err)
	}
	defer chosen.Body.Close()
	back := strings.TrimPrefix(chosen.Header.Get("Location"), c.d.url)
	if a := c.send(http.MethodGet, back, nil); !strings.Contains(a.header.Get("Location"), "power_bi=connected") {
		c.d.t.Fatalf("connecting: %d %s %s", a.status, a.header.Get("Location"), a.text)
	}
}

// tool calls one tool of the connector.
func (c *caller) tool(name string) answer {
	c.d.t.Helper()
	return c.send(http.MethodPost, "/api/mcp", map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": map[string]any{}},
	}, "Accept", "application/json, text/event-stream")
}

// syncedBuffer is a log that is read while it is written.
type syncedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
