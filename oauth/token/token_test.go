package token_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/token"
	"github.com/pbmb/pbmb/policies"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

// segment decodes a part of a JWT.
func segment(t *testing.T, token string, i int) map[string]any {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// OAUTH-06, OAUTH-08, OAUTH-09, OAUTH-32
func TestCodeBuysAnAudienceBoundToken(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	verifier, challenge := oauthtest.PKCE()
	back := browser.Consent(s.AuthorizeQuery(client, challenge), true)
	if got := back.Query().Get("iss"); got != s.URL+"/api/auth" {
		t.Errorf("iss = %q", got)
	}
	if got := back.Query().Get("state"); got != "client-state" {
		t.Errorf("state = %q", got)
	}
	a := s.Exchange(client, back.Query().Get("code"), verifier, "resource", s.Site.URL(protocol.ResourceMCP))
	if a.Status != http.StatusOK {
		t.Fatal(a.Status, a.Body)
	}
	if got := a.Field("token_type") + " " + a.Field("expires_in") + " " + a.Field("scope"); got != "Bearer 3600 mcp offline_access" {
		t.Errorf("answer: %s", a.Body)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	access := a.Field("access_token")
	header, claims := segment(t, access, 0), segment(t, access, 1)
	if header["alg"] != "EdDSA" || header["typ"] != "at+jwt" || header["kid"] == "" {
		t.Errorf("header: %v", header)
	}
	if claims["exp"].(float64)-claims["iat"].(float64) != 3600 || claims["client_id"] != client ||
		claims["jti"] == "" || claims["gid"] == "" || claims["iss"] != s.URL+"/api/auth" {
		t.Errorf("claims: %v", claims)
	}
	for name := range claims {
		if strings.Contains(name, "role") {
			t.Errorf("a token carries %s", name) // AUTHZ-06
		}
	}
	if got := claims["aud"].([]any); len(got) != 1 || got[0] != s.URL+"/api/mcp" {
		t.Errorf("aud: %v", got)
	}

	bearer := "Authorization: Bearer " + access
	who := s.Browser().Get(protocol.ResourceMCP, bearer)
	if who.Status != http.StatusOK || who.Field("Email") != "viewer@sample.example" || who.Field("Via") != "connector" || who.Field("ClientID") != client {
		t.Errorf("whoami: %d %s", who.Status, who.Body)
	}
	elsewhere := s.Browser().Get("/api/v1/whoami", bearer)
	if elsewhere.Status != http.StatusUnauthorized || !strings.Contains(elsewhere.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("the other resource: %d %v", elsewhere.Status, elsewhere.Header)
	}
}

// Some clients never ask for offline_access, some ask for no scope at all.
func TestEveryClientGetsARefreshToken(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	for name, scope := range map[string]string{"scope mcp": "mcp", "no scope": ""} {
		verifier, challenge := oauthtest.PKCE()
		back := browser.Consent(s.AuthorizeQuery(client, challenge, func(v url.Values) { v.Set("scope", scope) }), true)
		a := s.Exchange(client, back.Query().Get("code"), verifier)
		if a.Field("refresh_token") == "" || a.Field("scope") != "mcp" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if a := s.Refresh(client, a.Field("refresh_token")); a.Status != http.StatusOK {
			t.Errorf("%s: refresh: %d %s", name, a.Status, a.Body)
		}
	}
}

// OAUTH-05, OAUTH-26, OAUTH-27, OAUTH-29
func TestRefusedFormsSpendNothing(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, other := s.Register(), s.Register()
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	code, verifier := browser.Code(client)
	form := func(changes ...string) []string {
		v := map[string]string{
			"grant_type": "authorization_code", "client_id": client, "code": code,
			"redirect_uri": oauthtest.Redirect, "code_verifier": verifier,
		}
		for i := 0; i < len(changes); i += 2 {
			v[changes[i]] = changes[i+1]
		}
		var pairs []string
		for name, value := range v {
			if value != "" {
				pairs = append(pairs, name, value)
			}
		}
		return pairs
	}
	for name, c := range map[string]struct {
		form []string
		want string
	}{
		"a wrong verifier":          {form("code_verifier", verifier+"x"), "invalid_grant"},
		"no verifier":               {form("code_verifier", ""), "invalid_grant"},
		"another client":            {form("client_id", other), "invalid_grant"},
		"an unknown client":         {form("client_id", "nobody"), "invalid_client"},
		"no client":                 {form("client_id", ""), "invalid_request"},
		"another redirect":          {form("redirect_uri", oauthtest.Redirect+"2"), "invalid_grant"},
		"no redirect":               {form("redirect_uri", ""), "invalid_grant"},
		"another resource":          {form("resource", s.Site.URL(protocol.ResourceAPI)), "invalid_target"},
		"a foreign resource":        {form("resource", "https://elsewhere.example/api/mcp"), "invalid_target"},
		"two equal resources":       {append(form("resource", s.Site.URL(protocol.ResourceMCP)), "resource", s.Site.URL(protocol.ResourceMCP)), "invalid_target"},
		"an unknown code":           {form("code", code+"x"), "invalid_grant"},
		"no code":                   {form("code", ""), "invalid_grant"},
		"client credentials":        {form("grant_type", "client_credentials"), "unsupported_grant_type"},
		"a password":                {form("grant_type", "password"), "unsupported_grant_type"},
		"two grant types in one":    {form("grant_type", "authorization_code refresh_token"), "unsupported_grant_type"},
		"no grant type":             {form("grant_type", ""), "invalid_request"},
		"an unknown refresh token":  {form("grant_type", "refresh_token", "refresh_token", "pbmb_rt_unknown"), "invalid_grant"},
		"a refresh without a token": {form("grant_type", "refresh_token"), "invalid_grant"},
		"client_id twice":           {append(form(), "client_id", client), "invalid_request"},
		"code twice":                {append(form(), "code", "another"), "invalid_request"},
		"redirect_uri twice":        {append(form(), "redirect_uri", oauthtest.Redirect), "invalid_request"},
		"code_verifier twice":       {append(form(), "code_verifier", verifier), "invalid_request"},
		"grant_type twice":          {append(form(), "grant_type", "refresh_token"), "invalid_request"},
		"scope twice":               {append(form("scope", "mcp"), "scope", "mcp"), "invalid_request"},
		"an unknown field twice":    {append(form("a", "1"), "a", "2"), "invalid_request"},
	} {
		a := s.Browser().PostForm(token.Path, c.form...)
		if a.Field("error") != c.want || (a.Status != http.StatusBadRequest && a.Status != http.StatusUnauthorized) {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, c.want)
		}
		if a.Field("access_token") != "" {
			t.Errorf("%s: got a token", name)
		}
		for _, secret := range []string{code, verifier} {
			if strings.Contains(a.Body, secret) {
				t.Errorf("%s: the answer repeats what was sent: %s", name, a.Body)
			}
		}
	}

	values := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code},
		"redirect_uri": {oauthtest.Redirect}, "code_verifier": {verifier},
	}
	asJSON, err := json.Marshal(map[string]string{"grant_type": "authorization_code", "client_id": client, "code": code, "code_verifier": verifier})
	if err != nil {
		t.Fatal(err)
	}
	const urlencoded = "Content-Type: application/x-www-form-urlencoded"
	for name, a := range map[string]oauthtest.Answer{
		"JSON":          s.Browser().Do("POST", token.Path, string(asJSON), "Content-Type: application/json"),
		"no type":       s.Browser().Do("POST", token.Path, values.Encode()),
		"multipart":     s.Browser().Do("POST", token.Path, "--b\r\nContent-Disposition: form-data; name=\"code\"\r\n\r\n"+code+"\r\n--b--\r\n", "Content-Type: multipart/form-data; boundary=b"),
		"the query":     s.Browser().Do("POST", token.Path+"?"+values.Encode(), "", urlencoded),
		"query besides": s.Browser().Do("POST", token.Path+"?x=1", values.Encode(), urlencoded),
		"a semicolon":   s.Browser().Do("POST", token.Path, values.Encode()+";x=1", urlencoded),
		"a bad escape":  s.Browser().Do("POST", token.Path, values.Encode()+"&x=%zz", urlencoded),
		"a huge body":   s.Browser().Do("POST", token.Path, values.Encode()+"&x="+strings.Repeat("x", 1<<15), urlencoded),
	} {
		if a.Status != http.StatusBadRequest || a.Field("error") != "invalid_request" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}

	if a := s.Exchange(client, code, verifier); a.Status != http.StatusOK {
		t.Errorf("afterwards the code is spent: %d %s", a.Status, a.Body)
	}
}

// golang.org/x/oauth2 tries a Basic header with an empty password first.
func TestPublicClientMayNameItselfInABasicHeader(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	basic := func(user, password string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	code, verifier := browser.Code(client)
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {oauthtest.Redirect}, "code_verifier": {verifier},
	}
	const urlencoded = "Content-Type: application/x-www-form-urlencoded"
	for name, header := range map[string]string{
		"with a password":         basic(client, "secret"),
		"as somebody else":        basic("nobody", ""),
		"by another scheme":       "Authorization: Bearer " + client,
		"without a name at all":   basic("", ""),
		"with a broken user name": basic("%zz", ""),
	} {
		if a := s.Browser().Do("POST", token.Path, form.Encode(), urlencoded, header); a.Field("error") != "invalid_client" || a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := s.Browser().Do("POST", token.Path, form.Encode(), urlencoded, basic(client, "")); a.Status != http.StatusOK {
		t.Errorf("without a password: %d %s", a.Status, a.Body)
	}
}

// OAUTH-18, OAUTH-19, OAUTH-13
func TestReusedRefreshTokenEndsItsGrantAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access0, refresh0 := browser.Tokens(client)
	_, otherRefresh := browser.Tokens(client) // another installation
	first := s.Refresh(client, refresh0, "resource", s.Site.URL(protocol.ResourceMCP))
	access1, refresh1 := first.Field("access_token"), first.Field("refresh_token")
	if first.Status != http.StatusOK || refresh1 == refresh0 {
		t.Fatal(first.Status, first.Body)
	}
	c0, c1 := segment(t, access0, 1), segment(t, access1, 1)
	if c0["jti"] == c1["jti"] || c0["gid"] != c1["gid"] {
		t.Errorf("the token's id must change and the grant's stay: %v %v", c0, c1)
	}
	second := s.Refresh(client, refresh1)
	if second.Status != http.StatusOK {
		t.Fatal(second.Status, second.Body)
	}
	if got := s.Call(access1); got != http.StatusOK {
		t.Errorf("before the reuse: %d", got)
	}

	if a := s.Refresh(client, refresh0); a.Status != http.StatusBadRequest || a.Field("error") != "invalid_grant" {
		t.Errorf("reuse: %d %s", a.Status, a.Body)
	}
	if a := s.Refresh(client, second.Field("refresh_token")); a.Field("error") != "invalid_grant" {
		t.Errorf("the successor: %d %s", a.Status, a.Body)
	}
	var why string
	s.DB.QueryRow("select reason from audit_event where action = 'revoke_grant'", nil, &why)
	if why != "reuse" {
		t.Errorf("audited: %q", why)
	}
	for name, access := range map[string]string{"first": access0, "second": access1, "third": second.Field("access_token")} {
		if got := s.Call(access); got != http.StatusUnauthorized {
			t.Errorf("%s access token: %d", name, got)
		}
	}
	if a := s.Refresh(client, otherRefresh); a.Status != http.StatusOK {
		t.Errorf("the other grant: %d %s", a.Status, a.Body)
	}
}

// OAUTH-20
func TestRefreshTokenOfAnEndedGrantStaysDead(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, refresh := browser.Tokens(client)
	s.DB.Exec("update oauth_grant set revoked_at = now(), revoked_why = 'by hand'")
	if a := s.Refresh(client, refresh); a.Field("error") != "invalid_grant" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("access token: %d", got)
	}
	var live int
	s.DB.QueryRow("select count(*) from oauth_grant where revoked_at is null", nil, &live)
	if live != 0 {
		t.Errorf("%d grants live", live)
	}
}

func TestRefreshKeepsScopeAndResource(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, refresh := browser.Tokens(client)
	for name, c := range map[string]struct{ field, value, want string }{
		"more scope":       {"scope", "mcp api", "invalid_scope"},
		"another resource": {"resource", s.Site.URL(protocol.ResourceAPI), "invalid_target"},
		"a sub path":       {"resource", s.Site.URL(protocol.ResourceMCP) + "/tools", "invalid_target"},
	} {
		if a := s.Refresh(client, refresh, c.field, c.value); a.Field("error") != c.want {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	a := s.Refresh(client, refresh, "scope", "mcp")
	if a.Status != http.StatusOK || a.Field("scope") != "mcp offline_access" {
		t.Errorf("less scope: %d %s", a.Status, a.Body)
	}
	if a := s.Refresh(s.Register(), a.Field("refresh_token")); a.Field("error") != "invalid_grant" {
		t.Errorf("by another client: %d %s", a.Status, a.Body)
	}
}

// OAUTH-21, OAUTH-23, OAUTH-27, OAUTH-28
func TestDecoysDoNotHideAUsedRefreshToken(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, alive := browser.Tokens(client)
	for name, form := range map[string]func(used string) []string{
		"used first, then random":       func(used string) []string { return []string{"refresh_token", used, "refresh_token", "random"} },
		"random first, then used":       func(used string) []string { return []string{"refresh_token", "random", "refresh_token", used} },
		"used, then a live one":         func(used string) []string { return []string{"refresh_token", used, "refresh_token", alive} },
		"a live one, then used":         func(used string) []string { return []string{"refresh_token", alive, "refresh_token", used} },
		"the used one twice":            func(used string) []string { return []string{"refresh_token", used, "refresh_token", used} },
		"beside another repeated field": func(used string) []string { return []string{"refresh_token", used, "scope", "mcp", "scope", "mcp"} },
		"under another grant type":      func(used string) []string { return []string{"refresh_token", used, "grant_type", "authorization_code"} },
		"under a padded grant type":     func(used string) []string { return []string{"refresh_token", used, "grant_type", " refresh_token "} },
	} {
		access, used := browser.Tokens(client)
		if a := s.Refresh(client, used); a.Status != http.StatusOK {
			t.Fatal(a.Status, a.Body)
		}
		pairs := append([]string{"client_id", client}, form(used)...)
		if !strings.Contains(strings.Join(pairs, " "), "grant_type") {
			pairs = append(pairs, "grant_type", "refresh_token")
		}
		if a := s.Browser().PostForm(token.Path, pairs...); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if got := s.Call(access); got != http.StatusUnauthorized {
			t.Errorf("%s: the grant of the used token lives: %d", name, got)
		}
	}
	if a := s.Refresh(client, alive); a.Status != http.StatusOK {
		t.Errorf("the live decoy: %d %s", a.Status, a.Body)
	}
}

// OAUTH-23
func TestFormsAreBoundedBeforeTheDatabaseIsAsked(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, used := browser.Tokens(client)
	s.Refresh(client, used)
	fields := func(n int, more ...string) []string {
		pairs := append([]string{"grant_type", "refresh_token", "client_id", client}, more...)
		for i := len(pairs) / 2; i < n; i++ {
			pairs = append(pairs, "x"+string(rune('a'+i)), "1")
		}
		return pairs
	}
	for name, pairs := range map[string][]string{
		"13 fields":        fields(13, "refresh_token", used),
		"3 refresh tokens": fields(5, "refresh_token", used, "refresh_token", "a", "refresh_token", "b"),
	} {
		a := s.Browser().PostForm(token.Path, pairs...)
		if a.Status != http.StatusBadRequest || a.Field("error") != "invalid_request" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if got := s.Call(access); got != http.StatusOK { // reuse would have been seen
			t.Errorf("%s: the database was asked", name)
		}
	}
	if a := s.Browser().PostForm(token.Path, fields(12, "refresh_token", used, "refresh_token", "a")...); a.Status != http.StatusBadRequest {
		t.Errorf("12 fields and 2 tokens: %d %s", a.Status, a.Body)
	}
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("12 fields and 2 tokens were not read: %d", got)
	}
}

// OAUTH-33
func TestReplayedCodeEndsItsGrant(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	code, verifier := browser.Code(client)
	a := s.Exchange(client, code, verifier)
	access, refresh := a.Field("access_token"), a.Field("refresh_token")
	if got := s.Call(access); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	if a := s.Exchange(client, code, verifier); a.Status != http.StatusBadRequest || a.Field("error") != "invalid_grant" {
		t.Errorf("replay: %d %s", a.Status, a.Body)
	}
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("access token: %d", got)
	}
	if a := s.Refresh(client, refresh); a.Field("error") != "invalid_grant" {
		t.Errorf("refresh token: %d %s", a.Status, a.Body)
	}
}

func TestCodesAndRefreshTokensExpire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life  time.Duration
		spend func(s *oauthtest.Server, client, code, verifier, refresh string) oauthtest.Answer
	}{
		"a code": {provider.CodeLife, func(s *oauthtest.Server, client, code, verifier, _ string) oauthtest.Answer {
			return s.Exchange(client, code, verifier)
		}},
		"a refresh token": {provider.RefreshTokenLife, func(s *oauthtest.Server, client, _, _, refresh string) oauthtest.Answer {
			return s.Refresh(client, refresh)
		}},
	} {
		for _, late := range []bool{false, true} {
			s := oauthtest.New(t, oauthtest.Options{})
			client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
			_, refresh := browser.Tokens(client)
			code, verifier := browser.Code(client)
			if s.Clock.Advance(c.life - 5*time.Second); late {
				s.Clock.Advance(6 * time.Second)
			}
			a := c.spend(s, client, code, verifier, refresh)
			if late && a.Field("error") != "invalid_grant" || !late && a.Status != http.StatusOK {
				t.Errorf("%s, late %v: %d %s", name, late, a.Status, a.Body)
			}
		}
	}
}

// OAUTH-22, OAUTH-33: of a race there is at most one winner, and what it won is
// worth nothing either.
func TestNobodyProfitsFromARace(t *testing.T) {
	t.Parallel()
	const racers, rounds = 8, 8
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	race := func(attempt func() oauthtest.Answer) {
		t.Helper()
		answers := make([]oauthtest.Answer, racers)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				<-start
				answers[i] = attempt()
			})
		}
		close(start)
		all.Wait()
		winners := 0
		for _, a := range answers {
			if a.Status != http.StatusOK {
				if a.Field("error") != "invalid_grant" {
					t.Errorf("a loser got %d %s", a.Status, a.Body)
				}
				continue
			}
			winners++
			if got := s.Call(a.Field("access_token")); got != http.StatusUnauthorized {
				t.Errorf("a winner's access token: %d", got)
			}
			if b := s.Refresh(client, a.Field("refresh_token")); b.Field("error") != "invalid_grant" {
				t.Errorf("a winner's refresh token: %d %s", b.Status, b.Body)
			}
		}
		if winners > 1 {
			t.Errorf("%d winners", winners)
		}
	}
	for range rounds {
		_, refresh := browser.Tokens(client)
		race(func() oauthtest.Answer { return s.Refresh(client, refresh) })
		code, verifier := browser.Code(client)
		race(func() oauthtest.Answer { return s.Exchange(client, code, verifier) })
	}
}

// OAUTH-15, OAUTH-20: a refresh that is under way while its grant ends waits for
// the end, and then gives nothing.
func TestRefreshDuringTheEndOfItsGrant(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, refresh := browser.Tokens(client)
	ending, err := s.DB.API().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ending.Rollback(context.Background()) }() // it is committed by then, unless the test failed
	if _, err := ending.Exec(t.Context(), "update oauth_grant set revoked_at = now(), revoked_why = 'test'"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan oauthtest.Answer, 1)
	go func() { answer <- s.Refresh(client, refresh) }()
	for waiting := false; !waiting; {
		select {
		case a := <-answer:
			t.Fatalf("it did not wait: %d %s", a.Status, a.Body)
		default:
			s.DB.QueryRow("select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')", nil, &waiting)
		}
	}
	if err := ending.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := <-answer; a.Status != http.StatusBadRequest || a.Field("error") != "invalid_grant" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// OAUTH-07, OAUTH-08, OAUTH-09
func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, _ := browser.Tokens(client)
	var seed []byte
	var kid string
	s.DB.QueryRow("select kid, private_key from jwks", nil, &kid, &seed)
	plain, err := s.Vault.Open(seed)
	if err != nil {
		t.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(plain)
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, header, change map[string]any) string {
		t.Helper()
		claims := jwt.MapClaims{}
		for name, value := range segment(t, access, 1) {
			claims[name] = value
		}
		for name, value := range change {
			if claims[name] = value; value == nil {
				delete(claims, name)
			}
		}
		token := jwt.NewWithClaims(method, claims)
		token.Header["typ"], token.Header["kid"] = "at+jwt", kid
		for name, value := range header {
			token.Header[name] = value
		}
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	ed := jwt.SigningMethodEdDSA
	type fields = map[string]any
	if got := s.Call(sign(ed, key, nil, nil)); got != http.StatusOK {
		t.Fatalf("the forger's tool does not work: %d", got)
	}
	parts := strings.Split(access, ".")
	for name, forged := range map[string]string{
		"another key":               sign(ed, stranger, nil, nil),
		"an unknown key id":         sign(ed, key, fields{"kid": "other"}, nil),
		"no algorithm":              sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil),
		"HS256 with the public key": sign(jwt.SigningMethodHS256, []byte(key.Public().(ed25519.PublicKey)), nil, nil),
		"typ JWT":                   sign(ed, key, fields{"typ": "JWT"}, nil),
		"another issuer":            sign(ed, key, nil, fields{"iss": "https://elsewhere.example"}),
		"expired a second ago":      sign(ed, key, nil, fields{"exp": time.Now().Add(-time.Second).Unix()}),
		"no expiry":                 sign(ed, key, nil, fields{"exp": nil}),
		"issued in the future":      sign(ed, key, nil, fields{"iat": time.Now().Add(time.Hour).Unix()}),
		"two audiences":             sign(ed, key, nil, fields{"aud": []string{s.URL + "/api/mcp", s.URL + "/api/v1"}}),
		"no audience":               sign(ed, key, nil, fields{"aud": nil}),
		"another grant":             sign(ed, key, nil, fields{"gid": "other"}),
		"another person":            sign(ed, key, nil, fields{"sub": "other"}),
		"another client":            sign(ed, key, nil, fields{"client_id": "other"}),
		"no time of issue":          sign(ed, key, nil, fields{"iat": nil}),
		"a changed payload":         parts[0] + "." + parts[1] + "x." + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"nothing":                   "",
	} {
		if got := s.Call(forged); got != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, scope := range []any{"offline_access", "", nil, "api", "mcpx"} {
		a := s.Browser().Get(protocol.ResourceMCP, "Authorization: Bearer "+sign(ed, key, nil, fields{"scope": scope}))
		if challenge := a.Header.Get("WWW-Authenticate"); a.Status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) {
			t.Errorf("scope %v: %d %s", scope, a.Status, challenge)
		}
	}
	if got := s.Call(access); got != http.StatusOK {
		t.Errorf("the real one: %d", got)
	}
	s.Clock.Advance(time.Hour + time.Second) // also where the signature is remembered
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("the real one after an hour: %d", got)
	}
}

// OAUTH-14
func TestTokenIsNotOlderThanItsConsent(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, refresh := browser.Tokens(client)
	browser.Tokens(client) // a further Allow leaves the consent's time
	if got := s.Call(access); got != http.StatusOK {
		t.Fatalf("after a further Allow: %d", got)
	}
	var person string
	s.DB.QueryRow("select person_id from oauth_consent", nil, &person)
	if err := s.Store.EndConsent(t.Context(), &policies.Principal{Kind: policies.Person, ID: person}, client, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("after the end of the consent: %d", got)
	}
	if a := s.Refresh(client, refresh); a.Field("error") != "invalid_grant" {
		t.Errorf("refresh after the end of the consent: %d %s", a.Status, a.Body)
	}
	anew, _ := browser.Tokens(client)
	if got := s.Call(access); got != http.StatusUnauthorized {
		t.Errorf("the old token under a new consent: %d", got)
	}
	if got := s.Call(anew); got != http.StatusOK {
		t.Errorf("the new token: %d", got)
	}
	s.DB.Exec("update oauth_consent set created_at = created_at + interval '1 minute' where ended_at is null")
	if got := s.Call(anew); got != http.StatusUnauthorized {
		t.Errorf("a token dated before its consent: %d", got)
	}
}

// OAUTH-25: whatever is stored, in any column, is refused at the token endpoint.
func TestStoredValuesAreNoCredentials(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, refresh := browser.Tokens(client)
	code, verifier := browser.Code(client)
	var dump string
	s.DB.QueryRow(`select string_agg(t::text, E'\n') from (
		select row_to_json(c)::text t from oauth_code c union all select row_to_json(r)::text from oauth_refresh_token r
		union all select row_to_json(g)::text from oauth_grant g union all select row_to_json(j)::text from jwks j) t`, nil, &dump)
	for name, secret := range map[string]string{"the code": code, "the refresh token": refresh, "the verifier": verifier} {
		if strings.Contains(dump, secret) || strings.Contains(dump, strings.TrimPrefix(secret, "pbmb_rt_")) {
			t.Errorf("%s is stored", name)
		}
	}
	var codeDigest, refreshDigest string
	s.DB.QueryRow("select encode(digest, 'base64') from oauth_code where used_at is null", nil, &codeDigest)
	s.DB.QueryRow("select encode(digest, 'base64') from oauth_refresh_token", nil, &refreshDigest)
	if a := s.Exchange(client, codeDigest, verifier); a.Field("error") != "invalid_grant" {
		t.Errorf("the code's digest: %d %s", a.Status, a.Body)
	}
	if a := s.Refresh(client, refreshDigest); a.Field("error") != "invalid_grant" {
		t.Errorf("the refresh token's digest: %d %s", a.Status, a.Body)
	}
}

// A client must not take an unreachable database for the end of its
// registration or of its tokens.
func TestDatabaseFailureIsNotTheClientsMistake(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	client, browser := s.Register(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, refresh := browser.Tokens(client)
	code, verifier := browser.Code(client)
	s.DB.API().Close()
	for name, a := range map[string]oauthtest.Answer{
		"refresh": s.Refresh(client, refresh),
		"code":    s.Exchange(client, code, verifier),
		"decoy":   s.Refresh(client, refresh, "refresh_token", "other"),
	} {
		if a.Status != http.StatusServiceUnavailable || a.Field("error") != "temporarily_unavailable" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if got := s.Call(access); got != http.StatusServiceUnavailable {
		t.Errorf("a call: %d", got)
	}
	for _, secret := range []string{access, refresh, code, verifier} {
		if strings.Contains(s.Log.String(), secret) {
			t.Error("the log holds a credential")
		}
	}
}
