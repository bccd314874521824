package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/sync/sample"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

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
	s := oauthtest.New(t, oauthtest.Options{Providers: []signin.Provider{
		signin.NewMicrosoft(ts.URL+sample.LoginPath, sample.TenantID, sample.AppID, func(context.Context) (string, error) { return sample.AppSecret, nil }),
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

// SIGNIN-07, SIGNIN-12
func TestMicrosoftTokensOfSomebodyElseAreRefused(t *testing.T) {
	t.Parallel()
	e, s := newDeployment(t, signin.Microsoft)
	for name, c := range map[string]struct {
		claim string
		value any
		want  string
	}{
		"another tenant's issuer":  {"iss", e.url + "/00000000-0000-4000-8000-000000000000/v2.0", "refused"},
		"the common issuer":        {"iss", e.url + "/common/v2.0", "refused"},
		"the version 1 issuer":     {"iss", "https://sts.windows.net/" + oauthtest.TenantID + "/", "refused"},
		"another client":           {"aud", "other", "refused"},
		"another tenant":           {"tid", "00000000-0000-4000-8000-000000000000", "wrong_tenant"},
		"no tenant":                {"tid", nil, "wrong_tenant"},
		"no object id":             {"oid", nil, "refused"},
		"an object id of no uuid":  {"oid", "ada", "refused"},
		"no email":                 {"preferred_username", nil, "no_email"},
		"a telephone number":       {"preferred_username", "+441632960000", "no_email"},
		"a bare name":              {"preferred_username", "ada", "no_email"},
		"a guest's directory name": {"preferred_username", "ada_home.example#EXT#@sample.example", "no_email"},
	} {
		refusedAs(t, name, e.signIn(s.Browser(), e.good(map[string]any{c.claim: c.value})), c.want)
	}
	if n := rows(s); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

// SIGNIN-10, SIGNIN-11, SIGNIN-13
func TestWhichEmailCounts(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
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

// SIGNIN-02
func TestOnlyAnAdmittedCodeSignsIn(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
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
}

// The verifier that redeems the code belongs to the challenge that was sent.
func TestTwoTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
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
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers(), Groups: groupsFunc(func(token string) ([]string, error) {
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
