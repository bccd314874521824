package authorize_test

import (
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
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

func TestWithoutASessionTheBrowserSignsInAndComesBack(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	_, challenge := oauthtest.PKCE()
	request := authorize.Path + "?" + s.AuthorizeQuery(s.Register(), challenge)
	a := s.Browser().Get(request)
	if a.Status != http.StatusSeeOther || a.Location().Path != "/sign-in" || a.Location().Query().Get("next") != request {
		t.Fatal(a.Status, a.Location())
	}
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	if a := browser.Get(a.Location().Query().Get("next")); a.Location().Path != "/consent" {
		t.Error(a.Status, a.Location())
	}
}

// OAUTH-29, OAUTH-30, OAUTH-31, OAUTH-32, OAUTH-53: what is wrong is said
// before anybody is asked, to the client, and by whom.
func TestWrongRequestsGoBackToTheClient(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register("http://localhost/callback", "https://app.example/cb?x=1"), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, challenge := oauthtest.PKCE()
	set := func(name, value string) func(url.Values) { return func(v url.Values) { v.Set(name, value) } }
	for name, c := range map[string]struct {
		change func(url.Values)
		want   string // "" where it goes on
	}{
		"no challenge":           {func(v url.Values) { v.Del("code_challenge") }, "invalid_request"},
		"plain":                  {set("code_challenge_method", "plain"), "invalid_request"},
		"no method":              {func(v url.Values) { v.Del("code_challenge_method") }, "invalid_request"},
		"a short challenge":      {set("code_challenge", "abc"), "invalid_request"},
		"no resource":            {func(v url.Values) { v.Del("resource") }, "invalid_target"},
		"an empty resource":      {set("resource", ""), "invalid_target"},
		"two resources":          {func(v url.Values) { v.Add("resource", s.Site.URL(protocol.ResourceAPI)) }, "invalid_target"},
		"the other resource":     {set("resource", s.Site.URL(protocol.ResourceAPI)), "invalid_target"},
		"a sub path":             {set("resource", s.Site.URL(protocol.ResourceMCP)+"/x"), "invalid_target"},
		"a resource elsewhere":   {set("resource", "https://elsewhere.example/api/mcp"), "invalid_target"},
		"a resource's fragment":  {set("resource", s.Site.URL(protocol.ResourceMCP)+"#"), "invalid_target"},
		"a resource's query":     {set("resource", s.Site.URL(protocol.ResourceMCP)+"?x"), "invalid_target"},
		"scope openid":           {set("scope", "openid"), "invalid_scope"},
		"scope api":              {set("scope", "api"), "invalid_scope"},
		"mcp and an unknown one": {set("scope", "mcp everything"), "invalid_scope"},
		"offline_access alone":   {set("scope", "offline_access"), "invalid_scope"},
		"response type token":    {set("response_type", "token"), "unsupported_response_type"},
		"two response types":     {set("response_type", "code token"), "unsupported_response_type"},
		"fragment mode":          {set("response_mode", "fragment"), "invalid_request"},
		"a request object":       {set("request", "eyJ"), "invalid_request"},
		"a request address":      {set("request_uri", "https://elsewhere.example/r"), "invalid_request"},
		"a registration":         {set("registration", "{}"), "invalid_request"},
		"two scopes":             {func(v url.Values) { v.Add("scope", "mcp") }, "invalid_request"},
		"two states":             {func(v url.Values) { v.Add("state", "other") }, "invalid_request"},
		"two of anything":        {func(v url.Values) { v["prompt"] = []string{"none", "consent"} }, "invalid_request"},
		"no state":               {func(v url.Values) { v.Del("state") }, ""},
		"a short state":          {set("state", "x"), ""},
		"no scope":               {func(v url.Values) { v.Del("scope") }, ""},
		"scope mcp":              {set("scope", "mcp"), ""},
		"an unknown parameter":   {set("audience", "https://elsewhere.example"), ""},
		"a loopback port":        {set("redirect_uri", "http://localhost:53710/callback"), ""},
		"an https redirect":      {set("redirect_uri", "https://app.example/cb?x=1"), ""},
		"the resource spelt otherwise": {set("resource",
			strings.ToUpper(s.URL[:len("http://localhost")])+s.URL[len("http://localhost"):]+"/api/mcp/"), ""},
	} {
		a := browser.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, c.change))
		if c.want == "" {
			if a.Status != http.StatusSeeOther || a.Location().Path != "/consent" {
				t.Errorf("%s: %d %s %s", name, a.Status, a.Location(), a.Body)
			}
			continue
		}
		to := a.Location()
		if a.Status != http.StatusSeeOther || to.Path != "/callback" || to.Query().Get("error") != c.want {
			t.Errorf("%s: %d %s, want %s", name, a.Status, to, c.want)
		}
		if got := to.Query().Get("iss"); got != s.URL+"/api/auth" {
			t.Errorf("%s: iss = %q", name, got)
		}
		if got := to.Query().Get("state"); got != "client-state" && name != "two states" {
			t.Errorf("%s: state = %q", name, got)
		}
	}
}

// OAUTH-36: nothing is sent to an address that is not the client's.
func TestForeignRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client := s.Register("http://localhost/callback", "http://127.0.0.1:8000/callback?x=1", "https://app.example/cb", "com.example.app:/cb")
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, challenge := oauthtest.PKCE()
	for name, uri := range map[string]string{
		"another path":            "http://localhost:1/other",
		"another case":            "http://localhost:1/Callback",
		"another loopback host":   "http://[::1]:1/callback",
		"a name like loopback":    "http://localhost.example.com/callback",
		"loopback over https":     "https://localhost/callback",
		"a user name":             "http://x@localhost:1/callback",
		"a fragment":              "http://localhost:1/callback#",
		"an escaped path":         "http://localhost:1/%63allback",
		"a query":                 "http://localhost:1/callback?x=1",
		"an empty query":          "http://localhost:1/callback?",
		"no query":                "http://127.0.0.1:1/callback",
		"another port over https": "https://app.example:444/cb",
		"a trailing slash":        "https://app.example/cb/",
		"another host":            "https://evil.example/cb",
		"another private scheme":  "com.example.app:/cb2",
		"a script":                "javascript:alert(1)",
		"nothing":                 "",
	} {
		a := browser.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, func(v url.Values) { v.Set("redirect_uri", uri) }))
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, a.Status, a.Location())
		}
		if uri != "" && strings.Contains(a.Body, uri) {
			t.Errorf("%s: the page repeats the address", name)
		}
	}
	for name, change := range map[string]func(url.Values){
		"an unknown client": func(v url.Values) { v.Set("client_id", "nobody") },
		"no client":         func(v url.Values) { v.Del("client_id") },
		"two clients":       func(v url.Values) { v.Add("client_id", client) },
		"two redirects":     func(v url.Values) { v.Add("redirect_uri", oauthtest.Redirect) },
	} {
		a := browser.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, change))
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, a.Status, a.Location())
		}
	}
	for _, uri := range []string{"http://localhost:53710/callback", "http://127.0.0.1:1/callback?x=1", "com.example.app:/cb"} {
		a := browser.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, func(v url.Values) { v.Set("redirect_uri", uri) }))
		if a.Location().Path != "/consent" {
			t.Errorf("%s: %d %s", uri, a.Status, a.Body)
		}
	}
}

// OAUTH-31: the command line's client has the device flow alone.
func TestBuiltInClientHasNoAuthorizationCode(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	_, challenge := oauthtest.PKCE()
	a := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Get(authorize.Path + "?" + s.AuthorizeQuery(store.CLI, challenge))
	if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
		t.Error(a.Status, a.Location())
	}
}

// OAUTH-45, OAUTH-46
func TestUnusedClientsGoAfterADay(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	idle, consented, asked, askedLongAgo := s.Register(), s.Register(), s.Register(), s.Register()
	browser.Tokens(consented)
	s.Clock.Advance(25 * time.Hour)
	browser = s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, challenge := oauthtest.PKCE()
	browser.Get(authorize.Path + "?" + s.AuthorizeQuery(askedLongAgo, challenge))
	s.Clock.Advance(2 * time.Minute)
	pending := browser.Get(authorize.Path + "?" + s.AuthorizeQuery(asked, challenge))
	s.Clock.Advance(19 * time.Minute)
	young := s.Register()
	for id, want := range map[string]bool{idle: false, consented: true, asked: true, askedLongAgo: false, young: true, store.CLI: true} {
		var exists bool
		s.DB.QueryRow("select exists (select from oauth_client where id = $1)", []any{id}, &exists)
		if exists != want {
			t.Errorf("client %s exists: %v, want %v (idle %s, consented %s, asked %s, asked long ago %s, young %s)",
				id, exists, want, idle, consented, asked, askedLongAgo, young)
		}
	}
	a := browser.PostJSON(consent.Path, map[string]any{"query": pending.Location().RawQuery, "allow": true})
	if a.Status != http.StatusOK {
		t.Errorf("an Allow under way: %d %s", a.Status, a.Body)
	}
}
