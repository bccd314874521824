package signin_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/sync/sample"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func rows(s *oauthtest.Server) (n int) {
	s.DB.QueryRow("select (select count(*) from person) + (select count(*) from account) + (select count(*) from session)", nil, &n)
	return n
}

// SIGNIN-01, SIGNIN-23: through the sample tenant's own pages.
func TestSignInThroughTheSampleTenant(t *testing.T) {
	t.Parallel()
	tenant, err := sample.New(sample.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(tenant.Handler())
	t.Cleanup(ts.Close)
	s := oauthtest.New(t, oauthtest.Options{Microsoft: signin.MicrosoftApp{
		Authority: ts.URL + sample.LoginPath, TenantID: sample.TenantID, ClientID: sample.AppID, ClientSecret: sample.AppSecret,
	}})
	browser := s.Browser()
	_, challenge := oauthtest.PKCE()
	next := authorize.Path + "?" + s.AuthorizeQuery(s.Register(), challenge)
	start := browser.Get("/api/auth/sign-in/microsoft?next=" + url.QueryEscape(next))
	entraPage := start.Header.Get("Location")
	if !strings.HasPrefix(entraPage, ts.URL+sample.LoginPath+"/"+sample.TenantID+"/") {
		t.Fatal(start.Status, entraPage)
	}
	chosen := browser.PostForm(entraPage, "person", "viewer@sample.example")
	back := chosen.Header.Get("Location")
	if !strings.HasPrefix(back, s.URL+"/api/auth/callback/microsoft?") {
		t.Fatal(chosen.Status, back, chosen.Body)
	}
	done := browser.Get(back)
	if done.Status != http.StatusSeeOther || done.Header.Get("Location") != next {
		t.Fatal(done.Status, done.Header)
	}
	if a := browser.Get(next); a.Location().Path != "/consent" {
		t.Error(a.Status, a.Location())
	}
	who := browser.Get("/api/v1/whoami")
	if who.Field("Email") != "viewer@sample.example" || who.Field("Roles") != "[viewer]" || who.Field("Name") == "" {
		t.Errorf("whoami: %d %s", who.Status, who.Body)
	}
	var objectID string
	s.DB.QueryRow("select account_id from account where provider = 'microsoft' and scope = ''", nil, &objectID)
	for _, p := range tenant.People() {
		if p.Email == "viewer@sample.example" && p.ObjectID != objectID {
			t.Errorf("the account is %s, the person %s", objectID, p.ObjectID)
		}
	}
	if a := browser.Get(back); a.Location().Path != "/sign-in" || a.Location().Query().Get("error") != "expired" {
		t.Errorf("the same callback again: %d %s", a.Status, a.Location())
	}
}

// SIGNIN-07, SIGNIN-08, SIGNIN-12
func TestIDTokensThatProveNothingAreRefused(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Microsoft: e.app()})
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := x509.MarshalPKCS1PublicKey(&e.key.PublicKey)
	changed := func(name string, value any) func(string) string {
		return func(nonce string) string { return e.sign(e.claims(nonce, map[string]any{name: value})) }
	}
	issuer := "/" + oauthtest.TenantID + "/v2.0"
	for name, c := range map[string]struct {
		issue func(nonce string) string
		want  string
	}{
		"an unknown key":    {func(n string) string { return e.signBy(jwt.SigningMethodRS256, stranger, "k1", e.claims(n, nil)) }, "refused"},
		"an unknown key id": {func(n string) string { return e.signBy(jwt.SigningMethodRS256, stranger, "k2", e.claims(n, nil)) }, "refused"},
		"no algorithm": {func(n string) string {
			return e.signBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "k1", e.claims(n, nil))
		}, "refused"},
		"HS256 by the public key":  {func(n string) string { return e.signBy(jwt.SigningMethodHS256, public, "k1", e.claims(n, nil)) }, "refused"},
		"a changed payload":        {func(n string) string { return tamper(e.sign(e.claims(n, nil))) }, "refused"},
		"no token":                 {func(string) string { return "" }, "refused"},
		"not a token":              {func(string) string { return "x" }, "refused"},
		"another issuer":           {changed("iss", "https://login.example"+issuer), "refused"},
		"the common issuer":        {changed("iss", e.url+"/common/v2.0"), "refused"},
		"another client":           {changed("aud", "other"), "refused"},
		"two audiences":            {changed("aud", []string{clientID, "other"}), "refused"},
		"another tenant":           {changed("tid", "00000000-0000-4000-8000-000000000000"), "wrong_tenant"},
		"no tenant":                {changed("tid", nil), "wrong_tenant"},
		"expired":                  {changed("exp", time.Now().Add(-time.Second).Unix()), "refused"},
		"no expiry":                {changed("exp", nil), "refused"},
		"another nonce":            {changed("nonce", "other"), "refused"},
		"no nonce":                 {changed("nonce", nil), "refused"},
		"no object id":             {changed("oid", nil), "refused"},
		"an object id of no uuid":  {changed("oid", "ada"), "refused"},
		"no email":                 {changed("preferred_username", nil), "no_email"},
		"a telephone number":       {changed("preferred_username", "+441632960000"), "no_email"},
		"a bare name":              {changed("preferred_username", "ada"), "no_email"},
		"a guest's directory name": {changed("preferred_username", "ada_home.example#EXT#@sample.example"), "no_email"},
	} {
		a := e.signIn(s.Browser(), c.issue)
		if got := a.Location().Query().Get("error"); a.Location().Path != "/sign-in" || got != c.want {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Location(), c.want)
		}
		if len(a.Header.Values("Set-Cookie")) != 0 {
			t.Errorf("%s: sets a cookie", name)
		}
	}
	if n := rows(s); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	good := func(n string) string { return e.sign(e.claims(n, nil)) }
	a := e.signIn(s.Browser(), good)
	if a.Header.Get("Location") != "/datasets?x=1" {
		t.Errorf("a good one: %d %s %s", a.Status, a.Location(), s.Log)
	}
	cookie := a.Header.Get("Set-Cookie")
	for _, attribute := range []string{"Secure", "HttpOnly", "SameSite=Lax", "Path=/", "__Host-"} { // NET-12
		if !strings.Contains(cookie, attribute) {
			t.Errorf("the cookie lacks %s: %s", attribute, cookie)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.discover != 1 {
		t.Errorf("discovered %d times", e.discover)
	}
	for _, marked := range []string{"marked-access", "marked-refresh", "marked-description", "eyJ"} {
		if strings.Contains(s.Log.String(), marked) {
			t.Errorf("the log holds %s", marked)
		}
		var found bool
		s.DB.QueryRow(`select exists (select from person p where p::text like $1) or exists (select from account a where a::text like $1)
			or exists (select from session x where x::text like $1) or exists (select from sign_in_state x where x::text like $1)`,
			[]any{"%" + marked + "%"}, &found)
		if found {
			t.Errorf("the database holds %s", marked)
		}
	}
}

func tamper(token string) string {
	parts := strings.Split(token, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), "ada@", "eve@", 1)))
	return strings.Join(parts, ".")
}

// SIGNIN-10, SIGNIN-11, SIGNIN-13
func TestWhichEmailCounts(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Microsoft: e.app()})
	for name, c := range map[string]struct {
		claims map[string]any
		want   string // "" where there is none
	}{
		"verified":                       {map[string]any{"email": "mail@other.example", "xms_edov": true}, "mail@other.example"},
		"not verified":                   {map[string]any{"email": "mail@other.example", "xms_edov": false}, "ada@sample.example"},
		"0":                              {map[string]any{"email": "mail@other.example", "xms_edov": 0}, "ada@sample.example"},
		"the word true":                  {map[string]any{"email": "mail@other.example", "xms_edov": "true"}, "ada@sample.example"},
		"nothing said":                   {map[string]any{"email": "mail@other.example"}, "ada@sample.example"},
		"verified without a name":        {map[string]any{"email": "mail@other.example", "xms_edov": true, "preferred_username": nil}, "mail@other.example"},
		"not verified, without a name":   {map[string]any{"email": "mail@other.example", "xms_edov": false, "preferred_username": nil}, ""},
		"nothing said, without a name":   {map[string]any{"email": "mail@other.example", "preferred_username": nil}, ""},
		"verified but not an email":      {map[string]any{"email": "mail", "xms_edov": true}, "ada@sample.example"},
		"a guest's home address as name": {map[string]any{"preferred_username": "guest@home.example"}, "guest@home.example"},
	} {
		b := s.Browser()
		a := e.signIn(b, func(n string) string { return e.sign(e.claims(n, c.claims)) })
		if c.want == "" {
			if a.Location().Query().Get("error") != "no_email" {
				t.Errorf("%s: %s", name, a.Location())
			}
			continue
		}
		if got := b.Get("/api/v1/whoami").Field("Email"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		var domain string
		s.DB.QueryRow("select vouched_domain from person_sign_in", nil, &domain)
		if _, want, _ := strings.Cut(c.want, "@"); domain != want {
			t.Errorf("%s: domain %q", name, domain)
		}
	}
}

// SIGNIN-02, SIGNIN-06
func TestOnlyAnAdmittedCodeSignsIn(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Microsoft: e.app()})
	good := func(n string) string { return e.sign(e.claims(n, nil)) }
	refused := func(what string, a oauthtest.Answer, code string) {
		t.Helper()
		if a.Location().Path != "/sign-in" || a.Location().Query().Get("error") != code {
			t.Errorf("%s: %d %s, want %s", what, a.Status, a.Location(), code)
		}
	}
	b := s.Browser()
	callback := e.callback(b, good)
	refused("in another browser", s.Browser().Get(callback), "expired")
	refused("with another state", b.Get(strings.Replace(callback, "state=", "state=x", 1)), "expired")
	refused("without a state", b.Get("/api/auth/callback/microsoft?code=code"), "expired")
	refused("with two states", b.Get(callback+"&state=x"), "refused")
	if a := b.Get(callback); a.Header.Get("Location") != "/datasets?x=1" {
		t.Errorf("in its own: %d %s", a.Status, a.Location())
	}
	refused("a second time", b.Get(callback), "expired")

	callback = e.callback(b, good)
	refused("with a code that Entra refuses", b.Get(strings.Replace(callback, "code=code", "code=other", 1)), "refused")
	refused("after Entra's refusal", b.Get(callback), "expired")
	callback = e.callback(b, good)
	refused("cancelled", b.Get(strings.Replace(callback, "code=code", "error=access_denied&error_description=x", 1)), "access_denied")

	callback = e.callback(b, good)
	s.Clock.Advance(10*time.Minute + time.Second)
	refused("after ten minutes", b.Get(callback), "expired")

	before := rows(s)
	s.SetDefaultRole("none")
	refused("without a role", e.signIn(s.Browser(), func(n string) string {
		return e.sign(e.claims(n, map[string]any{"oid": oauthtest.OtherID, "preferred_username": "new@sample.example"}))
	}), "no_role")
	refused("without a role any more", e.signIn(s.Browser(), good), "no_role")
	if n := rows(s); n != before {
		t.Errorf("%d rows, before %d", n, before)
	}

	token := e.sign(e.claims("n", nil))
	for _, path := range []string{"/api/auth/sign-in/microsoft", "/api/auth/callback/microsoft"} {
		a := s.Browser().PostForm(path, "id_token", token, "state", "x")
		if a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusNotFound {
			t.Errorf("posting an ID token to %s: %d", path, a.Status)
		}
	}
}

// The verifier that redeems the code belongs to the challenge that was sent.
func TestTwoTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Microsoft: e.app()})
	b := s.Browser()
	good := func(n string) string { return e.sign(e.claims(n, nil)) }
	first := e.callback(b, good)
	firstNonce := e.nonce
	second := e.callback(b, good)
	if a := b.Get(second); a.Header.Get("Location") != "/datasets?x=1" {
		t.Errorf("the second: %s", a.Location())
	}
	secondVerifier := e.verifier
	e.nonce = firstNonce
	if a := b.Get(first); a.Header.Get("Location") != "/datasets?x=1" {
		t.Errorf("the first: %s", a.Location())
	}
	if e.verifier == secondVerifier || e.verifier == "" {
		t.Error("two sign-ins share a verifier")
	}
}

type groupsFunc func(token string) ([]string, error)

func (f groupsFunc) GroupIDs(_ context.Context, token string) ([]string, error) { return f(token) }

// SIGNIN-20
func TestGroupsComeFromTheTokenOrFromGraph(t *testing.T) {
	t.Parallel()
	const group = "CCCCCCCC-cccc-4ccc-8ccc-cccccccccccc"
	e := newEntra(t)
	var graph error
	s := oauthtest.New(t, oauthtest.Options{Microsoft: e.app(), Groups: groupsFunc(func(token string) ([]string, error) {
		if token != "marked-access" {
			t.Errorf("asked with %q", token)
		}
		return []string{group}, graph
	})})
	if _, err := s.Store.AssignRole(t.Context(), store.Assignment{Role: "curator", Kind: store.ToGroup, Subject: group, Provider: store.Microsoft}, time.Now()); err != nil {
		t.Fatal(err)
	}
	roles := func(claims map[string]any) string {
		t.Helper()
		b := s.Browser()
		e.signIn(b, func(n string) string { return e.sign(e.claims(n, claims)) })
		return b.Get("/api/v1/whoami").Field("Roles")
	}
	if got := roles(map[string]any{"groups": []string{group}}); got != "[curator]" {
		t.Errorf("by the claim: %s", got)
	}
	if got := roles(map[string]any{"groups": []string{}}); got != "[viewer]" {
		t.Errorf("by an empty claim: %s", got)
	}
	if got := roles(map[string]any{
		"_claim_names":   map[string]string{"groups": "src1"},
		"_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.windows.net/x"}},
	}); got != "[curator]" {
		t.Errorf("by Graph: %s", got)
	}
	graph = errors.New("graph is down")
	if got := roles(nil); got != "[curator]" { // what was read counts for its time
		t.Errorf("while Graph is down: %s", got)
	}
}

func TestUnreachableEntraIsUnavailable(t *testing.T) {
	t.Parallel()
	app := newEntra(t).app()
	app.Authority = "http://127.0.0.1:1"
	s := oauthtest.New(t, oauthtest.Options{Microsoft: app})
	if a := s.Browser().Get("/api/auth/sign-in/microsoft"); a.Location().Query().Get("error") != "unavailable" {
		t.Error(a.Status, a.Location())
	}
	app.TenantID = "common" // stands for every tenant
	s = oauthtest.New(t, oauthtest.Options{Microsoft: app})
	if a := s.Browser().Get("/api/auth/sign-in/microsoft"); a.Location().Query().Get("error") != "unavailable" {
		t.Error(a.Status, a.Location())
	}
}

// CONN-09's rule, for the sign-in.
func TestSafeNext(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/": "/", "/datasets/x?y=%20z": "/datasets/x?y=%20z", "/api/auth/oauth2/authorize?a=b": "/api/auth/oauth2/authorize?a=b",
		"": "/", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"/%2fevil.example": "/", "/%5cevil.example": "/", "javascript:alert(1)": "/", "datasets": "/", "/a//b": "/",
		"/../x": "/", "/./x": "/", "/a\nb": "/", "/a\tb": "/", " /a": "/", "/api/v1/me": "/", "/api/auth/oauth2/authorizes": "/",
		"/api/auth/../v1": "/", "http:/x": "/", "/\t/evil.example": "/",
	} {
		if got := signin.SafeNext(next); got != want {
			t.Errorf("%q: %q, want %q", next, got, want)
		}
	}
}

// TENANT-17
func TestIsMock(t *testing.T) {
	t.Parallel()
	mock := []string{"http://localhost", "http://LOCALHOST:8090/login", "http://sample.localhost", "http://127.0.0.1:1", "http://[::1]:8090"}
	for _, authority := range append(mock, "http://localhost.example.com", "http://127.0.0.2", "http://10.0.0.1", "http://notlocalhost",
		"https://login.microsoftonline.com", "", "localhost", "http://127.0.0.1.example.com") {
		if got := signin.IsMock(authority); got != slices.Contains(mock, authority) {
			t.Errorf("%q: %v", authority, got)
		}
	}
}
