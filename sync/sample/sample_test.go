package sample_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/sync/sample"
)

const powerBIScope = sample.PowerBIAudience + "/.default"

// A site is a tenant that serves.
type site struct {
	*sample.Tenant
	t   *testing.T
	url string
}

func newSite(t *testing.T, cfg sample.Config) *site {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	tenant, err := sample.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	return &site{Tenant: tenant, t: t, url: srv.URL}
}

// sharedTenant serves the tests that change nothing, without limits on calls, so
// that keys are made and rows are loaded once.
var sharedTenant = sync.OnceValues(func() (*sample.Tenant, error) {
	return sample.New(sample.Config{Unlimited: true, Log: slog.New(slog.DiscardHandler)})
})

func sharedSite(t *testing.T) *site {
	t.Helper()
	tenant, err := sharedTenant()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	return &site{Tenant: tenant, t: t, url: srv.URL}
}

func (s *site) issuer() string { return s.url + sample.LoginPath + "/" + sample.TenantID + "/v2.0" }

func (s *site) client() *oauth2.Config {
	root := s.url + sample.LoginPath + "/" + sample.TenantID + "/oauth2/v2.0"
	return &oauth2.Config{
		ClientID: sample.AppID, ClientSecret: sample.AppSecret, RedirectURL: "http://localhost:9/callback",
		Endpoint: oauth2.Endpoint{AuthURL: root + "/authorize", TokenURL: root + "/token"},
		Scopes:   []string{"openid", "profile", "email", "offline_access", "User.Read", powerBIScope},
	}
}

// newBrowser is a client that keeps cookies and follows no redirect.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// pick answers the page at an authorization address as a person and returns
// what comes back to the client.
func (s *site) pick(browser *http.Client, address, person string) url.Values {
	s.t.Helper()
	res, err := browser.PostForm(address, url.Values{"person": {person}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.redirected(res)
}

// redirected returns the parameters with which a browser is sent to the client.
func (s *site) redirected(res *http.Response) url.Values {
	s.t.Helper()
	defer res.Body.Close()
	to, err := res.Location()
	if err != nil {
		body, _ := io.ReadAll(res.Body)
		s.t.Fatalf("no redirect but %s: %s", res.Status, body)
	}
	return to.Query()
}

// tokens walks the whole flow for a person, for the resource of a scope.
func (s *site) tokens(person, scope string) *oauth2.Token {
	s.t.Helper()
	verifier := oauth2.GenerateVerifier()
	cfg := s.client()
	back := s.pick(newBrowser(s.t), cfg.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("nonce", "n-1")), person)
	if back.Get("code") == "" || back.Get("state") != "st" {
		s.t.Fatalf("came back with %v", back)
	}
	token, err := cfg.Exchange(s.t.Context(), back.Get("code"), oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("scope", scope))
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// powerBI returns a person's access token for Power BI.
func (s *site) powerBI(person string) string {
	s.t.Helper()
	return s.tokens(person+"@sample.example", powerBIScope).AccessToken
}

// scanner returns the scanner's access token.
func (s *site) scanner() string {
	s.t.Helper()
	return s.app(sample.ScannerID, sample.ScannerSecret)
}

// app returns the access token of an app on its own behalf.
func (s *site) app(client, secret string) string {
	s.t.Helper()
	var answer struct {
		Token string `json:"access_token"`
	}
	res, err := http.PostForm(s.client().Endpoint.TokenURL, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret}, "scope": {powerBIScope},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Token == "" {
		s.t.Fatalf("no token for the app %s: %s, %v", client, res.Status, err)
	}
	return answer.Token
}

// call asks one of the APIs and decodes a JSON answer into out, where out is not nil.
func (s *site) call(token, method, path string, body, out any) *http.Response {
	s.t.Helper()
	if token != "" {
		token = "Bearer " + token
	}
	return s.send(token, method, path, body, out)
}

// send is call with the whole header Authorization, where it is not empty.
func (s *site) send(authorization, method, path string, body, out any) *http.Response {
	s.t.Helper()
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	if out != nil {
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), out); err != nil {
			s.t.Fatalf("%s %s answered %s, which is no JSON (%v): %s", method, path, res.Status, err, data)
		}
	}
	return res
}

// A list is a Power BI list.
type list struct {
	Value []map[string]any `json:"value"`
}

func (l list) names(key string) []string {
	names := []string{}
	for _, v := range l.Value {
		names = append(names, v[key].(string))
	}
	slices.Sort(names)
	return names
}

// A clock is a time that a test moves.
type clock struct{ at time.Time }

func newClock() *clock {
	return &clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) now() time.Time { return c.at }

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want it to contain %s", got, want)
	}
}
