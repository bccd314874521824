package consent_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/consent"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/policies"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

// ask sends a signed-in browser to the consent screen and returns its query.
func ask(t *testing.T, s *oauthtest.Server, b *oauthtest.Browser, client string, changes ...func(url.Values)) string {
	t.Helper()
	_, challenge := oauthtest.PKCE()
	a := b.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, changes...))
	if a.Location().Path != "/consent" {
		t.Fatal(a.Status, a.Location(), a.Body)
	}
	return a.Location().RawQuery
}

// OAUTH-49, OAUTH-50, OAUTH-51, OAUTH-52
func TestTheScreenSaysWhoAsksForWhat(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client := s.Register("https://app.example/cb", "http://127.0.0.1/cb", "com.example.app:/cb")
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	type screen struct {
		Person      struct{ Email, Name string }
		ClientID    string `json:"client_id"`
		ClaimedName string `json:"claimed_name"`
		Registered  struct {
			Kind string
			At   time.Time
		}
		VouchedHost *string `json:"vouched_host"`
		Redirect    struct {
			Scheme, Host string
			Loopback     bool
		}
		Can, Cannot []string
	}
	read := func(redirect, scope string) (sc screen) {
		t.Helper()
		a := browser.Get(consent.Path + "?" + ask(t, s, browser, client, func(v url.Values) {
			v.Set("redirect_uri", redirect)
			v.Set("scope", scope)
		}))
		if err := json.Unmarshal([]byte(a.Body), &sc); err != nil || a.Status != http.StatusOK {
			t.Fatal(a.Status, a.Body)
		}
		return sc
	}
	https := read("https://app.example/cb", "mcp")
	if https.Person.Email != "viewer@sample.example" || https.Person.Name != "Viewer" || https.ClientID != client ||
		https.ClaimedName != "Test client" || https.Registered.Kind != "registered" || time.Since(https.Registered.At) > time.Hour ||
		https.VouchedHost != nil || len(https.Can) == 0 || len(https.Cannot) == 0 {
		t.Errorf("%+v", https)
	}
	if r := https.Redirect; r.Scheme != "https" || r.Host != "app.example" || r.Loopback {
		t.Errorf("https: %+v", r)
	}
	if r := read("http://127.0.0.1:4711/cb", "mcp").Redirect; r.Scheme != "http" || r.Host != "127.0.0.1:4711" || !r.Loopback {
		t.Errorf("loopback: %+v", r)
	}
	if r := read("com.example.app:/cb", "mcp offline_access").Redirect; r.Scheme != "com.example.app" || r.Host != "" || r.Loopback {
		t.Errorf("private-use scheme: %+v", r)
	}
}

// OAUTH-47, OAUTH-32
func TestOnlyABrowserSessionAnswers(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, _ := browser.Tokens(client)
	query := ask(t, s, browser, client)
	body := map[string]any{"query": query, "allow": true}
	bearer := "Authorization: Bearer " + access
	for name, a := range map[string]oauthtest.Answer{
		"read without a session":     s.Browser().Get(consent.Path + "?" + query),
		"answer without a session":   s.Browser().PostJSON(consent.Path, body),
		"read with a token":          s.Browser().Get(consent.Path+"?"+query, bearer),
		"answer with a token":        s.Browser().PostJSON(consent.Path, body, bearer),
		"read with both":             browser.Get(consent.Path+"?"+query, bearer),
		"answer with both":           browser.PostJSON(consent.Path, body, bearer),
		"answer with an API key too": browser.PostJSON(consent.Path, body, "Authorization: Bearer pbmb_key"),
	} {
		if a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	var grants int
	s.DB.QueryRow("select count(*) from oauth_grant", nil, &grants)
	if grants != 1 { // that of the token
		t.Errorf("%d grants", grants)
	}

	body["allow"] = false
	denied, err := url.Parse(browser.PostJSON(consent.Path, body).Field("redirect_to"))
	if err != nil {
		t.Fatal(err)
	}
	q := denied.Query()
	if q.Get("error") != "access_denied" || q.Get("iss") != s.URL+"/api/auth" || q.Get("state") != "client-state" || q.Has("code") {
		t.Errorf("denied: %s", denied)
	}
}

// SIGNIN-04
func TestWithoutARoleNobodyConsents(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	query := ask(t, s, browser, client)
	s.SetDefaultRole("none")
	if a := browser.PostJSON(consent.Path, map[string]any{"query": query, "allow": true}); a.Status != http.StatusForbidden {
		t.Error(a.Status, a.Body)
	}
}

// OAUTH-48
func TestTheRequestIsSigned(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register("http://localhost/callback", "https://app.example/cb"), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	other := s.SignIn("other@sample.example", oauthtest.OtherID)
	good := ask(t, s, browser, client)
	change := func(f func(url.Values)) string {
		v, err := url.ParseQuery(good)
		if err != nil {
			t.Fatal(err)
		}
		f(v)
		return v.Encode()
	}
	set := func(name, value string) string { return change(func(v url.Values) { v.Set(name, value) }) }
	_, challenge := oauthtest.PKCE()
	for name, query := range map[string]string{
		"unsigned":                 s.AuthorizeQuery(client, challenge),
		"empty":                    "",
		"another redirect":         set("redirect_uri", "https://app.example/cb"),
		"another challenge":        set("code_challenge", challenge),
		"another scope":            set("scope", "mcp"),
		"another client":           set("client_id", s.Register()),
		"another state":            set("state", "other"),
		"an added parameter":       set("nonce", "1"),
		"a removed one":            change(func(v url.Values) { v.Del("state") }),
		"a repeated one":           good + "&scope=mcp",
		"a later expiry":           set("pbmb_expires", "9999999999"),
		"no expiry":                change(func(v url.Values) { v.Del("pbmb_expires") }),
		"an empty signature":       set("pbmb_signature", ""),
		"two signatures":           good + "&pbmb_signature=x",
		"a signature of other use": set("pbmb_signature", strings.Repeat("A", 43)),
	} {
		read, answer := browser.Get(consent.Path+"?"+query), browser.PostJSON(consent.Path, map[string]any{"query": query, "allow": true})
		if read.Status != http.StatusBadRequest || answer.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %d %s", name, read.Status, answer.Status, answer.Body)
		}
	}
	if a := other.PostJSON(consent.Path, map[string]any{"query": good, "allow": true}); a.Status != http.StatusBadRequest {
		t.Errorf("somebody else's: %d %s", a.Status, a.Body)
	}
	for name, body := range map[string]string{
		"no answer":      `{"query": "` + good + `"}`,
		"another answer": `{"query": "` + good + `", "allow": "true"}`,
		"more":           `{"query": "` + good + `", "allow": true, "person": "other"}`,
		"two":            `{"query": "` + good + `", "allow": true} {}`,
		"not JSON":       "query=" + url.QueryEscape(good) + "&allow=true",
	} {
		if a := browser.Do("POST", consent.Path, body, "Content-Type: application/json"); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := browser.Do("POST", consent.Path, `{"query": "`+good+`", "allow": true}`, "Content-Type: text/plain"); a.Status != http.StatusBadRequest {
		t.Errorf("as text: %d %s", a.Status, a.Body)
	}
	if strings.Contains(s.Log.String(), "client-state") {
		t.Error("the log holds the request")
	}
	if a := browser.Get(consent.Path + "?" + good); a.Status != http.StatusOK {
		t.Errorf("the good one: %d %s", a.Status, a.Body)
	}
	s.Clock.Advance(20 * time.Minute)
	if a := browser.PostJSON(consent.Path, map[string]any{"query": good, "allow": true}); a.Status != http.StatusBadRequest {
		t.Errorf("after its time: %d %s", a.Status, a.Body)
	}
}

func TestSignerNeedsASecret(t *testing.T) {
	t.Parallel()
	if _, err := consent.NewSigner([]byte("short"), time.Now); err == nil {
		t.Error("a short secret is taken")
	}
}

// OAUTH-13: two persons of one client, one person of two clients, one person of
// one client twice.
func TestEachAllowIsAGrantUnderOneConsent(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	a, b := s.Register(), s.Register()
	viewer, other := s.SignIn("viewer@sample.example", oauthtest.ViewerID), s.SignIn("other@sample.example", oauthtest.OtherID)
	first, _ := viewer.Tokens(a)
	second, _ := viewer.Tokens(a)
	onB, _ := viewer.Tokens(b)
	others, _ := other.Tokens(a)
	var consents, grants int
	s.DB.QueryRow("select (select count(*) from oauth_consent), (select count(*) from oauth_grant)", nil, &consents, &grants)
	if consents != 3 || grants != 4 {
		t.Errorf("%d consents, %d grants", consents, grants)
	}
	var person string
	s.DB.QueryRow("select id from person where email = 'viewer@sample.example'", nil, &person)
	if err := s.Store.EndConsent(t.Context(), &policies.Principal{Kind: policies.Person, ID: person}, a, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{"first": {first, 401}, "second": {second, 401}, "on the other client": {onB, 200}, "the other person's": {others, 200}} {
		if got := s.Call(c.token); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
