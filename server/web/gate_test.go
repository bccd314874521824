package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/web"
	"github.com/pbmb/pbmb/ui"
)

const origin = "https://book.example"

// callers knows two sessions, by cookie, and one token.
type callers struct{}

func (callers) Session(r *http.Request) (*policies.Principal, error) {
	c, err := r.Cookie("__Host-pbmb")
	switch {
	case err != nil:
		return nil, authn.ErrUnauthenticated
	case c.Value == "viewer":
		return &policies.Principal{Kind: policies.Person, ID: "viewer", Roles: []string{"viewer"}, Via: policies.ViaBrowser}, nil
	case c.Value == "roleless":
		return &policies.Principal{Kind: policies.Person, ID: "roleless", Via: policies.ViaBrowser}, authn.ErrNoRole
	case c.Value == "broken":
		return nil, errors.New("the database is away")
	}
	return nil, authn.ErrUnauthenticated
}

func (callers) Bearer(_ context.Context, token, path string) (*policies.Principal, error) {
	if token != "cli" || path != protocol.ResourceAPI {
		return nil, authn.ErrInvalidToken
	}
	return &policies.Principal{Kind: policies.Person, ID: "cli", Roles: []string{"viewer"}, Via: policies.ViaCLI}, nil
}

func (callers) Challenge(path string, _ error) string { return "Bearer for " + path }

// limits lets everything through but the rule that it names.
type limits struct{ full string }

func (l limits) Count(_ context.Context, rule, _ string, _ int, _ time.Duration) (bool, time.Duration, error) {
	return rule != l.full, 7 * time.Second, nil
}

func say(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if p, ok := policies.FromContext(r.Context()); ok {
			who = p.ID + "@" + p.Address
		}
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprintf(w, "%s for %s", what, who)
	}
}

func newGate(t *testing.T, full string) *httptest.Server {
	t.Helper()
	return newGateThatLogs(t, full, slog.New(slog.DiscardHandler))
}

func newGateThatLogs(t *testing.T, full string, log *slog.Logger) *httptest.Server {
	t.Helper()
	site, err := protocol.NewSite(origin)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(web.New(web.Config{
		Site: site, Origin: origin, HTTPS: true, Screens: []string{"/", "/consent", "/datasets/:id"},
		Shell: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>shell")}, "assets/app-1.js": {Data: []byte("app")}},
		Routes: []protocol.Route{
			{Method: "GET", Path: "/api/auth/config", Access: protocol.Anyone, Handler: say("config")},
			{Method: "POST", Path: "/api/auth/oauth2/token", Access: protocol.Anyone, AnyOrigin: true, Limit: protocol.PerMinute("token", 60), Handler: say("token")},
			{Method: "POST", Path: "/api/auth/sign-out", Access: protocol.WithSession, Handler: say("sign-out")},
			{Method: "GET", Path: "/api/v1/oauth/consent", Access: protocol.WithRole, Handler: say("consent")},
			{Method: "POST", Path: "/api/v1/oauth/consent", Access: protocol.WithRole, Handler: say("consent")},
			{Method: "GET", Path: "/api/auth/broken", Access: protocol.WithSession, Handler: func(http.ResponseWriter, *http.Request) { panic("a fault of ours") }},
			{Method: "GET", Path: "/api/auth/broken-halfway", Access: protocol.WithSession, Handler: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				http.NewResponseController(w).Flush()
				panic("a fault of ours")
			}},
			{Method: "GET", Path: "/api/connect/callback", Access: protocol.WithRole, Handler: say("connect")},
		},
		API: say("api"), MCP: say("mcp"), Auth: callers{}, Limits: limits{full},
		Ready:   func(context.Context) error { return errors.New("not yet") },
		Address: func(*http.Request) string { return "192.0.2.1" },
		Log:     log,
	}))
	t.Cleanup(s.Close)
	return s
}

type request struct {
	method, path, cookie, token, origin string
	body                                string
}

func send(t *testing.T, s *httptest.Server, in request) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), in.method, s.URL+in.path, strings.NewReader(in.body))
	if err != nil {
		t.Fatal(err)
	}
	if in.cookie != "" {
		r.Header.Set("Cookie", "__Host-pbmb="+in.cookie)
	}
	if in.token != "" {
		r.Header.Set("Authorization", "Bearer "+in.token)
	}
	if in.origin != "" {
		r.Header.Set("Origin", in.origin)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestGate(t *testing.T) {
	tests := map[string]struct {
		request
		status int
		says   string
	}{
		// NET-06, NET-07
		"a screen is the shell":          {request{method: "GET", path: "/"}, 200, "shell"},
		"a screen with a name in it":     {request{method: "GET", path: "/datasets/abc"}, 200, "shell"},
		"an asset":                       {request{method: "GET", path: "/assets/app-1.js"}, 200, "app"},
		"an asset that is not there":     {request{method: "GET", path: "/assets/app-2.js"}, 404, "nothing at this path"},
		"a path below an asset":          {request{method: "GET", path: "/assets/a/b"}, 401, "not signed in"},
		"a screen posted to":             {request{method: "POST", path: "/", origin: origin}, 401, "not signed in"},
		"a path that is no screen":       {request{method: "GET", path: "/datasets/a/b"}, 401, "not signed in"},
		"an encoded slash in a name":     {request{method: "GET", path: "/datasets/a%2Fb"}, 401, "not signed in"},
		"dot segments for a name":        {request{method: "GET", path: "/datasets/%2e%2e"}, 401, ""},
		"a public path":                  {request{method: "GET", path: "/api/auth/config"}, 200, "config for nobody"},
		"a public path, other method":    {request{method: "DELETE", path: "/api/auth/config", origin: origin}, 404, ""},
		"readiness without details":      {request{method: "GET", path: "/readyz"}, 503, ""},
		"the api without a credential":   {request{method: "GET", path: "/api/v1/me"}, 401, "not signed in"},
		"the api by session":             {request{method: "GET", path: "/api/v1/me", cookie: "viewer"}, 200, "api for viewer@192.0.2.1"},
		"the api by token":               {request{method: "GET", path: "/api/v1/me", token: "cli"}, 200, "api for cli@192.0.2.1"},
		"a session that is unknown":      {request{method: "GET", path: "/api/v1/me", cookie: "stolen"}, 401, ""},
		"a session without a role":       {request{method: "GET", path: "/api/v1/me", cookie: "roleless"}, 403, ""},
		"a database that is away":        {request{method: "GET", path: "/api/v1/me", cookie: "broken"}, 503, ""},
		"a connector that checks itself": {request{method: "POST", path: "/api/mcp"}, 200, "mcp for nobody"},
		// SIGNIN-34
		"what /api/auth does not serve": {request{method: "GET", path: "/api/auth/jwks", cookie: "viewer"}, 404, ""},
		// SIGNIN-26
		"a session without a role ends itself": {request{method: "POST", path: "/api/auth/sign-out", cookie: "roleless", origin: origin}, 200, "sign-out for roleless"},
		"no session to end":                    {request{method: "POST", path: "/api/auth/sign-out", origin: origin}, 401, ""},
		// OAUTH-10
		"a bad token beside a good cookie": {request{method: "GET", path: "/api/v1/me", cookie: "viewer", token: "forged"}, 401, ""},
		"a token alone decides":            {request{method: "GET", path: "/api/v1/me", cookie: "viewer", token: "cli"}, 200, "api for cli"},
		// OAUTH-47
		"consent by token":   {request{method: "GET", path: "/api/v1/oauth/consent", token: "cli"}, 401, ""},
		"consent by session": {request{method: "GET", path: "/api/v1/oauth/consent", cookie: "viewer"}, 200, "consent for viewer"},
		// NET-15
		"a write without an origin":          {request{method: "POST", path: "/api/v1/x", cookie: "viewer"}, 403, ""},
		"a write of another origin":          {request{method: "POST", path: "/api/v1/x", cookie: "viewer", origin: "https://evil.example"}, 403, ""},
		"a write of origin null":             {request{method: "POST", path: "/api/v1/x", cookie: "viewer", origin: "null"}, 403, ""},
		"a write of our own":                 {request{method: "POST", path: "/api/v1/x", cookie: "viewer", origin: origin}, 200, "api for viewer"},
		"consent answered from elsewhere":    {request{method: "POST", path: "/api/v1/oauth/consent", cookie: "viewer", origin: "https://evil.example"}, 403, ""},
		"sign-out from elsewhere":            {request{method: "POST", path: "/api/auth/sign-out", cookie: "viewer", origin: "https://evil.example"}, 403, ""},
		"a token endpoint without an origin": {request{method: "POST", path: "/api/auth/oauth2/token"}, 200, "token for nobody"},
		// NET-16
		"a token endpoint with a cookie": {request{method: "POST", path: "/api/auth/oauth2/token", cookie: "viewer", origin: "https://evil.example"}, 200, "token for nobody"},
		// NET-18
		"a write by token without an origin": {request{method: "POST", path: "/api/v1/x", token: "cli"}, 200, "api for cli"},
		"a write by token with a cookie":     {request{method: "POST", path: "/api/v1/x", token: "cli", cookie: "viewer"}, 403, ""},
		// NET-20
		"a body of 1 MiB":          {request{method: "POST", path: "/api/v1/x", token: "cli", body: strings.Repeat("x", 1<<20)}, 200, "api for cli"},
		"a body of a byte more":    {request{method: "POST", path: "/api/v1/x", token: "cli", body: strings.Repeat("x", 1<<20+1)}, 413, ""},
		"such a body for a client": {request{method: "POST", path: "/api/auth/oauth2/token", body: strings.Repeat("x", 1<<20+1)}, 413, ""},
	}
	s := newGate(t, "")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := send(t, s, tt.request)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("%d %s, want %d with %q", resp.StatusCode, body, tt.status, tt.says)
			}
			// NET-13, NET-14, OPS-08: on every answer.
			csp := resp.Header.Get("Content-Security-Policy")
			if !slices.Contains(strings.Split(csp, "; "), "script-src 'self'") || strings.Contains(csp, "unsafe") ||
				resp.Header.Get("X-Frame-Options") != "DENY" || len(resp.Header.Get("X-Request-Id")) < 20 {
				t.Errorf("headers %v", resp.Header)
			}
		})
	}
}

// NET-20: a body without a length is stopped where it goes over.
func TestChunkedBodyIsStopped(t *testing.T) {
	s := newGate(t, "")
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/v1/x", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer cli")
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// NET-26, NET-27: a route is counted under its own rule, and everything below
// /api/auth under one.
func TestLimits(t *testing.T) {
	for rule, path := range map[string]string{"token": "/api/auth/oauth2/token", "auth": "/api/auth/config"} {
		s := newGate(t, rule)
		method := "GET"
		if rule == "token" {
			method = "POST"
		}
		resp, _ := send(t, s, request{method: method, path: path})
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "8" {
			t.Errorf("%s: %d, Retry-After %q", path, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
}

// NET-09: the shell is the same bytes for everybody.
func TestShellHasNoData(t *testing.T) {
	s := newGate(t, "")
	_, anonymous := send(t, s, request{method: "GET", path: "/"})
	_, viewer := send(t, s, request{method: "GET", path: "/", cookie: "viewer"})
	_, screen := send(t, s, request{method: "GET", path: "/consent", cookie: "viewer"})
	if anonymous != viewer || viewer != screen {
		t.Errorf("%q, %q and %q", anonymous, viewer, screen)
	}
}

// NET-04, NET-08: what a :name and the one wildcard stand for.
func TestWhatAPublicPathMatches(t *testing.T) {
	s := newGate(t, "")
	for path, public := range map[string]bool{
		"/datasets/abc":        true,
		"/datasets/a%20b":      true,
		"/datasets/a:b*c":      true,
		"/datasets/%C3%A9":     true,
		"/datasets/...":        true,
		"/datasets":            false,
		"/datasets/":           false,
		"/datasets//":          false,
		"/datasets//abc":       false,
		"//datasets/abc":       false,
		"/datasets/abc/":       false,
		"/datasets/a/b":        false,
		"/datasets/a%2Fb":      false,
		"/datasets/a%2fb":      false,
		"/datasets/a%5Cb":      false,
		"/datasets/.":          false,
		"/datasets/..":         false,
		"/datasets/%2e":        false,
		"/datasets/%2E%2e":     false,
		"/datasets/../consent": false,
		"/Datasets/abc":        false,

		"/catalog/categories/a":                   true,
		"/catalog/categories/a/b/c":               true,
		"/catalog/categories/1/2/3/4/5/6/7/8/9/0": true,
		"/catalog/categories":                     false,
		"/catalog/categories/":                    false,
		"/catalog/categories/a/":                  false,
		"/catalog/categories//a":                  false,
		"/catalog/categories/a/../b":              false,
		"/catalog/categories/a/%2e%2e/%2e%2e/x":   false,
		"/catalog/other/a":                        false,
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			resp, body := send(t, s, request{method: method, path: path, origin: origin})
			if served := resp.StatusCode == http.StatusOK; served != (public && method == "GET") {
				t.Errorf("%s %s: %d", method, path, resp.StatusCode)
			} else if !served && resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s %s: %d, want 401", method, path, resp.StatusCode)
			} else if served && body != "<!doctype html>shell" {
				t.Errorf("%s %s serves %q", method, path, body)
			}
		}
	}
}

// NET-05, NET-08: no other path below /api/v1 is public, and no other wildcard is.
func TestThePublicListIsNarrow(t *testing.T) {
	for _, entry := range web.PublicPaths(ui.Paths()) {
		if strings.Contains(entry, " /api/v1") && entry != "GET /api/v1/results/:id/csv" {
			t.Errorf("%s is public", entry)
		}
		if strings.ContainsAny(entry, "*{") && entry != "GET /catalog/categories/*" {
			t.Errorf("%s is a wildcard", entry)
		}
	}
}

// records is a log that is read while it is written.
type records struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// NET-41: a handler that panics is one record and a problem that says nothing of
// why; one that had begun to answer is broken off.
func TestAPanicIsOneRecord(t *testing.T) {
	var out records
	s := newGateThatLogs(t, "", slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})))
	resp, body := send(t, s, request{method: "GET", path: "/api/auth/broken", cookie: "viewer"})
	if resp.StatusCode != http.StatusInternalServerError || resp.Header.Get("Content-Type") != "application/problem+json" || strings.Contains(body, "fault") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if log := out.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "a fault of ours") ||
		!strings.Contains(log, resp.Header.Get("X-Request-Id")) || !strings.Contains(log, "gate_test.go") {
		t.Errorf("logged %s", log)
	}

	before := len(out.String())
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/auth/broken-halfway", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", "__Host-pbmb=viewer")
	if resp, err := s.Client().Do(r); err == nil {
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("the answer looks whole: %q", text)
		}
	}
	if n := strings.Count(out.String()[before:], "level=ERROR"); n != 1 {
		t.Errorf("%d records: %s", n, out.String())
	}
}
