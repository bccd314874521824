package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/consent"
	"github.com/pbmb/pbmb/oauth/register"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/token"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/sample"
)

// A deployment is the whole product over the sample tenant, on a database that the
// test can look into.
type deployment struct {
	*testing.T
	db     *postgrestest.Database
	cfg    config.Config
	tenant *sample.Tenant

	mu     sync.Mutex
	log    bytes.Buffer
	issued []string       // every token that the tenant has given to anybody
	asked  map[string]int // how often each client has asked it for one
	sent   []sent         // every request that it got
}

// A sent is a request that the deployment, or a browser, made of a host.
type sent struct{ host, path, text string } // the text is all of it

func (d *deployment) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

// newDeployment starts it and returns when everybody's account is connected and the
// first sync is done.
// Layers are policies of its own.
func newDeployment(t *testing.T, layers ...fs.FS) *deployment {
	t.Helper()
	d := startDeployment(t, true, layers...)
	if _, err := FillSample(t.Context(), d.cfg, d.tenant); err != nil {
		t.Fatal(err)
	}
	return d
}

// startDeployment starts it, with its worker or without.
func startDeployment(t *testing.T, withWorker bool, layers ...fs.FS) *deployment {
	t.Helper()
	d := &deployment{T: t, db: postgrestest.New(t), asked: map[string]int{}}
	log := slog.New(slog.NewTextHandler(d, nil))
	var err error
	if d.tenant, err = sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	host := func(name string) string {
		s := httptest.NewServer(d.recorded(name, d.tenant.Handler()))
		t.Cleanup(s.Close)
		return s.URL
	}
	login := host("login")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.cfg = config.Config{
		Environment: config.Test, PublicBaseURL: fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port),
		Deployment: "a deployment", AuthSecret: strings.Repeat("planted-auth-secret", 2), IdentityFolder: t.TempDir(),
		DatabaseAPI: d.db.URL(postgres.API), DatabaseWorker: d.db.URL(postgres.Worker), CerbosAddress: cerbostest.Start(t, layers...),
		TenantID: sample.TenantID, Authority: login + sample.LoginPath,
		GraphURL: host("graph") + sample.GraphPath + "/v1.0", APIURL: host("power bi") + sample.PowerBIPath + "/v1.0/myorg",
		ClientID: sample.AppID, ScannerClientID: sample.ScannerID, GoogleIssuer: login + sample.GooglePath, AllowDevSignIn: true,
	}
	if err := SetUpSample(t.Context(), d.cfg); err != nil {
		t.Fatal(err)
	}
	api, err := API(t.Context(), d.cfg, listener, KnownInSample(d.tenant), fetch.Options{}, log)
	if err != nil {
		t.Fatal(err)
	}
	processes := []interface{ Run(context.Context) error }{api}
	if withWorker {
		worker, err := Worker(t.Context(), d.cfg, log)
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, worker)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		for line := range strings.Lines(d.log.String()) {
			if t.Failed() && !strings.Contains(line, "level=INFO") {
				t.Log(line)
			}
		}
	})
	for _, p := range processes {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return d
}

// recorded keeps the requests that a host gets, and the tokens that answers of the
// tenant's token endpoint carry.
func (d *deployment) recorded(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := httputil.DumpRequest(r, true)
		if err != nil {
			d.Error(err)
		}
		d.mu.Lock()
		d.sent = append(d.sent, sent{host, r.URL.Path, string(text)})
		d.mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/token") {
			h.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		d.mu.Lock()
		d.asked[r.PostFormValue("client_id")]++
		d.mu.Unlock()
		var tokens map[string]any
		if json.Unmarshal(answer.Body.Bytes(), &tokens) == nil { // a refusal has none
			d.mu.Lock()
			for _, name := range []string{"access_token", "refresh_token", "id_token"} {
				if text, ok := tokens[name].(string); ok {
					d.issued = append(d.issued, text)
				}
			}
			d.mu.Unlock()
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client may have gone
	})
}

// A browser is a person's, signed in.
type browser struct {
	*deployment
	cookie string
	key    string // an API key, in place of a session
}

func (d *deployment) signIn(email string) *browser {
	d.Helper()
	b := &browser{deployment: d}
	body, err := json.Marshal(map[string]string{"email": email})
	if err != nil {
		d.Fatal(err)
	}
	answer := b.send(http.MethodPost, "/api/auth/dev-sign-in", string(body), nil)
	for _, c := range answer.cookies {
		if c.Name == session.Cookie {
			b.cookie = c.Value
		}
	}
	if b.cookie == "" {
		d.Fatalf("signing in answered %d %s", answer.status, answer.body)
	}
	return b
}

type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// send makes a request with the session's cookie and waits where there were too many.
func (b *browser) send(method, path, body string, header map[string]string) answer {
	b.Helper()
	client := &http.Client{Transport: fetchtest.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for {
		r, err := http.NewRequestWithContext(b.Context(), method, b.cfg.PublicBaseURL+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Origin", b.cfg.PublicBaseURL)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if b.cookie != "" {
			r.AddCookie(&http.Cookie{Name: session.Cookie, Value: b.cookie})
		}
		if b.key != "" {
			r.Header.Set("Authorization", "Bearer "+b.key)
		}
		for name, value := range header {
			r.Header.Set(name, value)
		}
		response, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		if response.StatusCode == http.StatusTooManyRequests {
			// The counts are the database's: without them there is nothing to wait for.
			b.db.Exec("delete from request_rate")
			continue
		}
		return answer{response.StatusCode, response.Header, response.Cookies(), string(text)}
	}
}

func (a answer) field(name string) string {
	var fields map[string]any
	_ = json.Unmarshal([]byte(a.body), &fields) // what is no JSON has no fields
	text, _ := fields[name].(string)
	return text
}

// A grant is what a client got by a person's consent.
type grant struct{ code, verifier, access, refresh string }

// letIn takes a client for the connector through registration and consent.
func (b *browser) letIn() grant {
	b.Helper()
	const redirect = "http://localhost/callback"
	client := b.send(http.MethodPost, register.Path, `{"client_name":"A client","redirect_uris":["`+redirect+`"]}`, nil).field("client_id")
	g := grant{verifier: oauth2.GenerateVerifier()}
	query := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"mcp offline_access"}, "state": {"s"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(g.verifier)}, "code_challenge_method": {"S256"},
		"resource": {b.cfg.PublicBaseURL + "/api/mcp"},
	}
	screen, err := url.Parse(b.send(http.MethodGet, authorize.Path+"?"+query.Encode(), "", nil).header.Get("Location"))
	if err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"query": screen.RawQuery, "allow": true})
	if err != nil {
		b.Fatal(err)
	}
	back, err := url.Parse(b.send(http.MethodPost, consent.Path, string(body), nil).field("redirect_to"))
	if err != nil {
		b.Fatal(err)
	}
	g.code = back.Query().Get("code")
	tokens := b.send(http.MethodPost, token.Path, url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {g.code}, "redirect_uri": {redirect}, "code_verifier": {g.verifier},
	}.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	if g.access, g.refresh = tokens.field("access_token"), tokens.field("refresh_token"); g.access == "" || g.refresh == "" {
		b.Fatalf("the token endpoint answered %d %s", tokens.status, tokens.body)
	}
	return g
}

// rpc calls a method of the connector.
func (b *browser) rpc(access, method string, params any) answer {
	b.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		b.Fatal(err)
	}
	return (&browser{deployment: b.deployment}).send(http.MethodPost, "/api/mcp", string(body), map[string]string{
		"Authorization": "Bearer " + access, "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18",
	})
}
