// Package oauthtest runs the whole of oauth over a real PostgreSQL and real
// HTTP, for the tests of its packages.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/ratelimit"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/consent"
	"github.com/pbmb/pbmb/oauth/device"
	"github.com/pbmb/pbmb/oauth/document"
	"github.com/pbmb/pbmb/oauth/metadata"
	"github.com/pbmb/pbmb/oauth/passkey"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/register"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/oauth/token"
)

// TenantID is the tenant that every database here is bound to.
const TenantID = "6b1f0f3e-6f0c-4f5a-9b0e-1d2c3b4a5960"

// AuthSecret keys what travels by the browser.
var AuthSecret = []byte("thirty-two bytes of a test secret")

// Address is where every request comes from.
const Address = "198.51.100.7"

// A Server is a deployment of which only oauth is there. Beside its routes it
// has GET /api/mcp and GET /api/v1/whoami, which answer the caller as JSON.
type Server struct {
	T        testing.TB
	DB       *postgrestest.Database
	Store    *store.Store
	Site     protocol.Site
	Provider *provider.Provider
	Keys     *provider.Keys
	Vault    *vault.Vault
	Authn    *authn.Authn
	SignInBy *signin.Handler
	Clock    *Clock
	URL      string
	Log      *Log
	Routes   []protocol.Route

	Documents *document.Reader
	Foreign   *fetchtest.Site // at ForeignHost, where clients of others have their documents
}

// ForeignHost is the one host that is not ours.
const ForeignHost = "agents.example"

// Options differ from test to test.
type Options struct {
	Dev          *signin.Dev
	Providers    []signin.Provider
	ProvidersNow func() []signin.Provider // in the place of Providers, where they change
	Groups       signin.GroupReader
	GoogleIssuer string           // who plays Google
	Unbound      bool             // leave the database without an admin and a tenant
	Limits       document.Limiter // of how many documents are read; none where nil
	NoDocuments  bool             // clients have none
	Outside      *fetch.Options   // by which sign-in providers are reached, in the place of those of a test
}

// New starts a server. Unless it is unbound, admin@sample.example is admin and
// everybody who signs in with an object id a viewer.
func New(t testing.TB, opt Options) *Server {
	t.Helper()
	db := postgrestest.New(t)
	s := &Server{T: t, DB: db, Store: store.New(db.API(), setting.Base{}), Clock: &Clock{}, Log: &Log{}}
	log := slog.New(slog.NewTextHandler(s.Log, nil))

	var handler http.Handler
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(ts.Close)
	s.URL = strings.Replace(ts.URL, "127.0.0.1", "localhost", 1)

	var err error
	if s.Site, err = protocol.NewSite(s.URL); err != nil {
		t.Fatal(err)
	}
	if s.Vault, err = vault.FromFile(filepath.Join(t.TempDir(), "identity")); err != nil {
		t.Fatal(err)
	}
	if s.Keys, err = provider.LoadKeys(t.Context(), s.Store, s.Vault, s.Clock.Now); err != nil {
		t.Fatal(err)
	}
	if !opt.Unbound {
		first := store.FirstAdmin{Email: "admin@sample.example", TenantID: TenantID, Mock: true}
		if err := s.Store.BindFirstAdmin(t.Context(), first, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if opt.Limits == nil {
		opt.Limits = unlimited{}
	}
	s.Foreign = fetchtest.NewSite(t, ForeignHost)
	untrusted, err := fetch.NewUntrusted(nil, s.Foreign.Options())
	if err != nil {
		t.Fatal(err)
	}
	if opt.NoDocuments {
		untrusted = nil
	}
	s.Documents = document.New(s.Store, opt.Limits, untrusted, s.Clock.Now, log)
	signer, err := consent.NewSigner(AuthSecret, s.Clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.Provider = provider.New(s.Site, s.Store, s.Documents, s.Keys, s.Clock.Now, log)
	s.Authn = authn.New(s.Site, s.Store, s.Provider, s.Clock.Now)
	passkeys, err := passkey.New(passkey.Config{
		Site: s.Site, Deployment: "Test", Store: s.Store, Sessions: s.Authn, DevSignIn: opt.Dev != nil, Now: s.Clock.Now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	if opt.GoogleIssuer == "" {
		opt.GoogleIssuer = signin.GoogleIssuer
	}
	signIn := signin.New(signin.Config{
		Trials: &signin.Trials{Vault: s.Vault, GoogleIssuer: opt.GoogleIssuer, Relaxed: true},
		Site:   s.Site, Store: s.Store, Dev: opt.Dev, Groups: opt.Groups, Passkeys: passkeys.Usable(), Now: s.Clock.Now, Log: log,
		Providers: func(context.Context) ([]signin.Provider, error) {
			if opt.ProvidersNow != nil {
				return opt.ProvidersNow(), nil
			}
			return append(slices.Clone(opt.Providers), s.added()...), nil
		},
		Client: func(p signin.Provider) (*http.Client, error) {
			outside := fetch.Options{Environment: "test"}
			if opt.Outside != nil {
				outside = *opt.Outside
			}
			return fetch.NewIssuer(p.Addresses(), outside)
		},
	})

	s.SignInBy = signIn

	devices, err := device.New(device.Config{
		Site: s.Site, Store: s.Store, Sessions: s.Authn, Limits: ratelimit.New(db.API(), s.Clock.Now),
		Address: func(context.Context) string { return Address }, AuthSecret: AuthSecret, Now: s.Clock.Now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	for _, routes := range [][]protocol.Route{
		authorize.New(s.Provider, s.Store, signer, s.Clock.Now, log).Routes(),
		consent.New(s.Provider, s.Authn, signer, log).Routes(),
		token.New(s.Provider).Routes(),
		devices.Routes(),
		register.New(s.Store, s.Clock.Now, log).Routes(),
		metadata.New(s.Site, !opt.NoDocuments).Routes(),
		session.New(s.Store, s.Clock.Now, log).Routes(),
		signIn.Routes(),
		passkeys.Routes(),
	} {
		s.Routes = append(s.Routes, routes...)
		for _, r := range routes {
			mux.HandleFunc(r.Method+" "+r.Path, r.Handler)
		}
	}
	mux.HandleFunc("GET /api/mcp", s.whoami(protocol.ResourceMCP))
	mux.HandleFunc("GET /api/v1/whoami", s.whoami(protocol.ResourceAPI))
	handler = mux
	return s
}

// SetDefaultRole saves access.default_role; with none, only who has an assignment
// gets in.
func (s *Server) SetDefaultRole(role setting.DefaultRole) {
	s.T.Helper()
	s.DB.Exec(`insert into setting (key, value) values ('access.default_role', to_jsonb($1::text))
		on conflict (key) do update set value = excluded.value`, string(role))
}

// Secrets keeps the client secrets of providers.
func (s *Server) Secrets() store.SealedSecrets {
	return store.SealedSecrets{Store: secret.New(s.DB.API(), vault.API, s.Vault)}
}

// added are the providers that were added after a trial.
func (s *Server) added() (list []signin.Provider) {
	added, err := s.Store.Providers(context.Background())
	if err != nil {
		s.T.Error(err)
	}
	for _, p := range added {
		list = append(list, signin.Provider{
			ID: p.ID, Kind: signin.Kind(p.Kind), Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID,
			Secret: func(ctx context.Context) (string, error) { return s.Secrets().Open(ctx, secret.OfProvider(p.ID)) },
		})
	}
	return list
}

type unlimited struct{}

func (unlimited) Allow(context.Context, string, string, int) (bool, time.Duration, error) {
	return true, 0, nil
}

func (s *Server) whoami(resource string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := s.Authn.Request(r, resource)
		if err != nil {
			if challenge := s.Authn.Challenge(resource, err); challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			protocol.WriteProblem(w, authn.Status(err), err.Error())
			return
		}
		protocol.WriteJSON(w, http.StatusOK, p)
	}
}

// A Clock shows the time that a test sets; the database has its own.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance moves it.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A Log keeps what was logged.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write is for the handler.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A Browser keeps cookies and follows no redirect.
type Browser struct {
	*http.Client
	s *Server
}

// Browser returns a new one.
func (s *Server) Browser() *Browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.T.Fatal(err)
	}
	return &Browser{s: s, Client: &http.Client{
		Jar:           jar,
		Transport:     fetchtest.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An Answer is a response with its body read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Field gives a field of a JSON object as text.
func (a Answer) Field(name string) string {
	var body map[string]any
	_ = json.Unmarshal([]byte(a.Body), &body) // no JSON has no fields
	if v, ok := body[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// Location is where a redirect leads.
func (a Answer) Location() *url.URL {
	u, err := url.Parse(a.Header.Get("Location"))
	if err != nil {
		return &url.URL{}
	}
	return u
}

// Do sends a request. A header is "Name: value".
func (b *Browser) Do(method, address, body string, headers ...string) Answer {
	b.s.T.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.s.URL + address
	}
	r, err := http.NewRequestWithContext(b.s.T.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.s.T.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	response, err := b.Client.Do(r)
	if err != nil {
		b.s.T.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.s.T.Fatal(err)
	}
	return Answer{response.StatusCode, response.Header, string(text)}
}

// Get gets a page.
func (b *Browser) Get(address string, headers ...string) Answer {
	b.s.T.Helper()
	return b.Do(http.MethodGet, address, "", headers...)
}

// PostJSON posts a value.
func (b *Browser) PostJSON(address string, body any, headers ...string) Answer {
	b.s.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.s.T.Fatal(err)
	}
	return b.Do(http.MethodPost, address, string(text), append(headers, "Content-Type: application/json")...)
}

// PostForm posts a form, given as names and values in turn.
func (b *Browser) PostForm(address string, pairs ...string) Answer {
	b.s.T.Helper()
	form := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		form = append(form, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return b.Do(http.MethodPost, address, strings.Join(form, "&"), "Content-Type: application/x-www-form-urlencoded")
}

// SignIn signs a browser in as a person of the tenant, without a sign-in.
func (s *Server) SignIn(email, objectID string) *Browser {
	s.T.Helper()
	secret, now := rand.Text()+rand.Text(), s.Clock.Now()
	_, err := s.Store.SignIn(s.T.Context(), store.SignIn{
		Provider: store.Microsoft, AccountID: objectID, ObjectID: objectID, Email: email, EmailVerified: true,
		VouchedDomain: email[strings.IndexByte(email, '@')+1:], Name: strings.ToUpper(email[:1]) + email[1:strings.IndexByte(email, '@')],
	}, store.NewSession{
		Digest: store.Digest(secret), Provider: store.Microsoft, At: now, ExpiresAt: now.Add(session.Life),
	}, store.SignInOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	b := s.Browser()
	site, err := url.Parse(s.URL)
	if err != nil {
		s.T.Fatal(err)
	}
	b.Jar.SetCookies(site, []*http.Cookie{{Name: session.Cookie, Value: secret, Path: "/", Secure: true}})
	return b
}

// Object ids of some people.
const (
	ViewerID = "11111111-1111-4111-8111-111111111111"
	OtherID  = "22222222-2222-4222-8222-222222222222"
)

// Redirect is where the clients of [Server.Register] are sent back to.
const Redirect = "http://localhost/callback"

// Register registers a client.
func (s *Server) Register(redirectURIs ...string) (clientID string) {
	s.T.Helper()
	if len(redirectURIs) == 0 {
		redirectURIs = []string{Redirect}
	}
	a := s.Browser().PostJSON(register.Path, map[string]any{"client_name": "Test client", "redirect_uris": redirectURIs})
	if a.Status != http.StatusCreated {
		s.T.Fatalf("registering: %d %s", a.Status, a.Body)
	}
	return a.Field("client_id")
}

// PKCE makes a verifier and its challenge.
func PKCE() (verifier, challenge string) {
	verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	return verifier, base64.RawURLEncoding.EncodeToString(sum[:])
}

// AuthorizeQuery is an authorization request that is in order, for the MCP
// resource, with changes.
func (s *Server) AuthorizeQuery(clientID, challenge string, changes ...func(url.Values)) string {
	v := url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {Redirect}, "scope": {"mcp offline_access"},
		"state": {"client-state"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"},
		"resource": {s.Site.URL(protocol.ResourceMCP)},
	}
	for _, change := range changes {
		change(v)
	}
	return v.Encode()
}

// Consent takes a signed-in browser through the authorization endpoint and the
// consent screen, and returns where the client is sent back to.
func (b *Browser) Consent(query string, allow bool) *url.URL {
	b.s.T.Helper()
	a := b.Get(authorize.Path + "?" + query)
	if a.Status != http.StatusSeeOther || a.Location().Path != "/consent" {
		b.s.T.Fatalf("authorize: %d %s %s", a.Status, a.Location(), a.Body)
	}
	answer := b.PostJSON(consent.Path, map[string]any{"query": a.Location().RawQuery, "allow": allow})
	if answer.Status != http.StatusOK {
		b.s.T.Fatalf("consent: %d %s", answer.Status, answer.Body)
	}
	u, err := url.Parse(answer.Field("redirect_to"))
	if err != nil {
		b.s.T.Fatal(err)
	}
	return u
}

// Code lets a client in and returns the code and its verifier.
func (b *Browser) Code(clientID string) (code, verifier string) {
	b.s.T.Helper()
	verifier, challenge := PKCE()
	return b.Consent(b.s.AuthorizeQuery(clientID, challenge), true).Query().Get("code"), verifier
}

// Exchange redeems a code at the token endpoint.
func (s *Server) Exchange(clientID, code, verifier string, more ...string) Answer {
	s.T.Helper()
	return s.Browser().PostForm(token.Path, append([]string{
		"grant_type", "authorization_code", "client_id", clientID, "code", code,
		"redirect_uri", Redirect, "code_verifier", verifier,
	}, more...)...)
}

// Refresh redeems a refresh token.
func (s *Server) Refresh(clientID, refreshToken string, more ...string) Answer {
	s.T.Helper()
	return s.Browser().PostForm(token.Path, append([]string{
		"grant_type", "refresh_token", "client_id", clientID, "refresh_token", refreshToken,
	}, more...)...)
}

// StartDevice asks for a device's two codes, as the command line does.
func (s *Server) StartDevice() (deviceCode, userCode string) {
	s.T.Helper()
	a := s.Browser().PostForm(device.AuthorizationPath,
		"client_id", store.CLI, "scope", "api offline_access", "resource", s.Site.URL(protocol.ResourceAPI))
	if a.Status != http.StatusOK {
		s.T.Fatalf("device authorization: %d %s", a.Status, a.Body)
	}
	return a.Field("device_code"), a.Field("user_code")
}

// Poll asks for a device's tokens.
func (s *Server) Poll(deviceCode string, more ...string) Answer {
	s.T.Helper()
	return s.Browser().PostForm(token.Path, append([]string{
		"grant_type", provider.DeviceGrant, "client_id", store.CLI, "device_code", deviceCode,
	}, more...)...)
}

// AnswerDevice allows or denies a user code.
func (b *Browser) AnswerDevice(userCode string, allow bool) Answer {
	b.s.T.Helper()
	return b.PostJSON(device.AnswerPath, map[string]any{"user_code": userCode, "allow": allow})
}

// Tokens lets a client in and redeems the code.
func (b *Browser) Tokens(clientID string) (access, refresh string) {
	b.s.T.Helper()
	code, verifier := b.Code(clientID)
	a := b.s.Exchange(clientID, code, verifier)
	if a.Status != http.StatusOK {
		b.s.T.Fatalf("token: %d %s", a.Status, a.Body)
	}
	return a.Field("access_token"), a.Field("refresh_token")
}

// Call calls the MCP resource with a token and returns the status.
func (s *Server) Call(accessToken string) int {
	s.T.Helper()
	return s.Browser().Get(protocol.ResourceMCP, "Authorization: Bearer "+accessToken).Status
}
