package sample_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/sync/sample"
)

type idClaims struct {
	Tenant    string            `json:"tid"`
	Object    string            `json:"oid"`
	Username  string            `json:"preferred_username"`
	Email     string            `json:"email"`
	Name      string            `json:"name"`
	Groups    []string          `json:"groups"`
	Owner     bool              `json:"xms_edov"`
	Elsewhere map[string]string `json:"_claim_names"`
}

// SAMPLE-01: a generic client library discovers, signs in and verifies.
func TestSignIn(t *testing.T) {
	s := sharedSite(t)
	provider, err := oidc.NewProvider(t.Context(), s.issuer())
	if err != nil {
		t.Fatal(err)
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: sample.AppID})
	cases := map[string]struct {
		want   idClaims
		groups int // how many the token carries
	}{
		"viewer@sample.example":                            {want: idClaims{Username: "viewer@sample.example", Email: "viewer@sample.example", Name: "Vera Lindqvist", Owner: true}, groups: 1},
		"outsider@sample.example":                          {want: idClaims{Username: "outsider@sample.example", Email: "outsider@sample.example", Name: "Oskar Pohl", Owner: true}},
		"grace@sample.example":                             {want: idClaims{Username: "grace@sample.example", Email: "grace@sample.example", Name: "Grace Tolland", Owner: true}, groups: 3},
		"noor_partner.example#EXT#@sample.onmicrosoft.com": {want: idClaims{Username: "noor@partner.example", Email: "noor@partner.example", Name: "Noor Haddad"}, groups: 2},
		"joiner@sample.example": {want: idClaims{Username: "joiner@sample.example", Email: "joiner@sample.example", Name: "Jo Marchetti", Owner: true,
			Elsewhere: map[string]string{"groups": "src1"}}},
	}
	for upn, c := range cases {
		t.Run(upn, func(t *testing.T) {
			s := &site{Tenant: s.Tenant, t: t, url: s.url}
			token := s.tokens(upn, "User.Read")
			raw, _ := token.Extra("id_token").(string)
			id, err := verifier.Verify(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			if id.Nonce != "n-1" {
				t.Errorf("nonce %q", id.Nonce)
			}
			var got idClaims
			if err := id.Claims(&got); err != nil {
				t.Fatal(err)
			}
			if len(got.Groups) != c.groups {
				t.Errorf("%d groups, want %d", len(got.Groups), c.groups)
			}
			if got.Tenant != sample.TenantID || got.Object != objectID(s, upn) {
				t.Errorf("tid %s, oid %s", got.Tenant, got.Object)
			}
			if got.Username != c.want.Username || got.Email != c.want.Email || got.Name != c.want.Name || got.Owner != c.want.Owner ||
				len(got.Elsewhere) != len(c.want.Elsewhere) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func objectID(s *site, upn string) string {
	for _, p := range s.People() {
		if p.UPN == upn {
			return p.ObjectID
		}
	}
	return ""
}

func TestKeysRotate(t *testing.T) {
	s := newSite(t, sample.Config{})
	provider, err := oidc.NewProvider(t.Context(), s.issuer())
	if err != nil {
		t.Fatal(err)
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: sample.AppID})
	old := s.tokens("ada@sample.example", "User.Read").Extra("id_token").(string)
	if _, err := verifier.Verify(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := s.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	fresh := s.tokens("ada@sample.example", "User.Read").Extra("id_token").(string)
	for name, raw := range map[string]string{"old": old, "fresh": fresh} {
		if _, err := verifier.Verify(t.Context(), raw); err != nil {
			t.Errorf("%s token: %v", name, err)
		}
	}
	if keyID(t, old) == keyID(t, fresh) {
		t.Error("both tokens are signed by one key")
	}
}

func keyID(t *testing.T, token string) string {
	t.Helper()
	header, _, _ := strings.Cut(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(header)
	var h struct{ Kid string }
	if err != nil || json.Unmarshal(data, &h) != nil || h.Kid == "" {
		t.Fatalf("header %s", data)
	}
	return h.Kid
}

func TestTokenEndpointRefuses(t *testing.T) {
	s := sharedSite(t)
	cfg := s.client()
	verifier := oauth2.GenerateVerifier()
	newCode := func() string {
		return s.pick(newBrowser(t), cfg.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier)), "ada@sample.example").Get("code")
	}
	used := newCode()
	good := func(code string) url.Values {
		return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {cfg.RedirectURL},
			"code_verifier": {verifier}, "client_id": {sample.AppID}, "client_secret": {sample.AppSecret}}
	}
	if _, problem := s.post(cfg.Endpoint.TokenURL, good(used)); problem.Error != "" {
		t.Fatalf("a good code: %+v", problem)
	}
	with := func(v url.Values, key, value string) url.Values { v.Set(key, value); return v }
	cases := map[string]struct {
		form   url.Values
		status int
		code   string
		number int
	}{
		"code used before":       {good(used), 400, "invalid_grant", 54005},
		"unknown code":           {good("1.x"), 400, "invalid_grant", 70008},
		"wrong verifier":         {with(good(newCode()), "code_verifier", oauth2.GenerateVerifier()), 400, "invalid_grant", 501481},
		"no verifier":            {with(good(newCode()), "code_verifier", ""), 400, "invalid_grant", 501481},
		"other reply address":    {with(good(newCode()), "redirect_uri", "http://localhost:9/other"), 400, "invalid_grant", 500112},
		"wrong secret":           {with(good(newCode()), "client_secret", "guess"), 401, "invalid_client", 7000215},
		"no secret":              {with(good(newCode()), "client_secret", ""), 401, "invalid_client", 7000218},
		"unknown client":         {with(good(newCode()), "client_id", sample.TenantID), 400, "unauthorized_client", 700016},
		"another client's code":  {with(with(good(newCode()), "client_id", sample.ScannerID), "client_secret", sample.ScannerSecret), 400, "invalid_grant", 70008},
		"two resources":          {with(good(newCode()), "scope", "User.Read "+powerBIScope), 400, "invalid_scope", 28000},
		"unknown grant type":     {with(good(""), "grant_type", "password"), 400, "unsupported_grant_type", 70003},
		"unknown refresh token":  {with(with(good(""), "grant_type", "refresh_token"), "refresh_token", "x"), 400, "invalid_grant", 50173},
		"app with single scopes": {url.Values{"grant_type": {"client_credentials"}, "client_id": {sample.ScannerID}, "client_secret": {sample.ScannerSecret}, "scope": {sample.PowerBIAudience + "/Tenant.Read.All"}}, 400, "invalid_scope", 1002012},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res, problem := s.post(cfg.Endpoint.TokenURL, c.form)
			if res.StatusCode != c.status || problem.Error != c.code || !slices.Equal(problem.Codes, []int{c.number}) {
				t.Errorf("got %d %+v, want %d %s %d", res.StatusCode, problem, c.status, c.code, c.number)
			}
		})
	}
}

type entraProblem struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Codes       []int  `json:"error_codes"`
}

func (s *site) post(address string, form url.Values) (*http.Response, entraProblem) {
	s.t.Helper()
	res, err := http.PostForm(address, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var problem entraProblem
	if err := json.NewDecoder(res.Body).Decode(&problem); err != nil {
		s.t.Fatal(err)
	}
	return res, problem
}

func TestAuthorize(t *testing.T) {
	s := newSite(t, sample.Config{RedirectURIs: []string{"http://localhost:9/callback"}})
	cfg := s.client()
	get := func(browser *http.Client, address string) *http.Response {
		res, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	text := func(res *http.Response) string {
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		return string(data)
	}
	t.Run("the page has a button for everybody and no script", func(t *testing.T) {
		page := text(get(newBrowser(t), cfg.AuthCodeURL("st", oauth2.SetAuthURLParam("login_hint", "grace@sample.example"))))
		for _, p := range s.People() {
			contains(t, strings.ReplaceAll(page, "&#43;", "+"), `<button name="person" value="`+p.UPN+`">`)
		}
		if strings.Contains(page, "<script") {
			t.Error("the page has script")
		}
		if first := strings.Index(page, "value="); !strings.HasPrefix(page[first:], `value="grace@sample.example"`) {
			t.Errorf("the hinted person is not first: %s", page[first:first+60])
		}
	})
	t.Run("an address that is not registered is never redirected to", func(t *testing.T) {
		other := s.client()
		other.RedirectURL = "http://localhost:10/callback"
		res := get(newBrowser(t), other.AuthCodeURL("st"))
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("got %s", res.Status)
		}
		contains(t, text(res), "AADSTS50011")
	})
	t.Run("prompt none without a session", func(t *testing.T) {
		back := s.redirected(get(newBrowser(t), cfg.AuthCodeURL("st", oauth2.SetAuthURLParam("prompt", "none"))))
		if back.Get("error") != "login_required" || back.Get("state") != "st" {
			t.Errorf("came back with %v", back)
		}
	})
	t.Run("a session signs in silently until it is asked not to", func(t *testing.T) {
		browser := newBrowser(t)
		s.pick(browser, cfg.AuthCodeURL("st"), "ada@sample.example")
		for _, prompt := range []string{"", "none"} {
			back := s.redirected(get(browser, cfg.AuthCodeURL("st", oauth2.SetAuthURLParam("prompt", prompt))))
			if back.Get("code") == "" {
				t.Errorf("prompt %q came back with %v", prompt, back)
			}
		}
		contains(t, text(get(browser, cfg.AuthCodeURL("st", oauth2.SetAuthURLParam("prompt", "select_account")))), "Pick a sample person")
		back := s.redirected(get(browser, cfg.AuthCodeURL("st", oauth2.SetAuthURLParam("prompt", "none"), oauth2.SetAuthURLParam("login_hint", "grace@sample.example"))))
		if back.Get("error") != "interaction_required" {
			t.Errorf("another person came back with %v", back)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		res, err := newBrowser(t).PostForm(cfg.AuthCodeURL("st"), url.Values{"cancel": {"1"}})
		if err != nil {
			t.Fatal(err)
		}
		if back := s.redirected(res); back.Get("error") != "access_denied" {
			t.Errorf("came back with %v", back)
		}
	})
	t.Run("somebody disabled", func(t *testing.T) {
		res, err := newBrowser(t).PostForm(cfg.AuthCodeURL("st"), url.Values{"person": {"former@sample.example"}})
		if err != nil {
			t.Fatal(err)
		}
		contains(t, text(res), "AADSTS50057")
	})
}

// Tokens of one resource are refused by the others, refresh tokens give those of
// another, and end when they are revoked.
func TestAudiences(t *testing.T) {
	// SAMPLE-01
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	first := s.tokens("viewer@sample.example", "User.Read")
	_, err := s.client().Exchange(t.Context(), "spent")
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
		t.Errorf("a code that is none: %v", err)
	}
	var second struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Scope   string `json:"scope"`
		Expires int    `json:"expires_in"`
	}
	renew := renewal(first.RefreshToken)
	renew.Set("scope", powerBIScope)
	res, err := http.PostForm(s.client().Endpoint.TokenURL, renew)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&second); err != nil {
		t.Fatal(err)
	}
	if second.Refresh == "" || second.Refresh == first.RefreshToken {
		t.Errorf("the refresh token did not change: %q", second.Refresh)
	}
	contains(t, second.Scope, sample.PowerBIAudience+"/Dataset.Read.All")
	if second.Expires < 3600 || second.Expires > 5400 {
		t.Errorf("the token lasts %d s", second.Expires)
	}
	const graph, powerBI = sample.GraphPath + "/v1.0/me", sample.PowerBIPath + "/v1.0/myorg/groups"
	for _, ask := range []struct {
		token, path string
		want        int
	}{
		{first.AccessToken, graph, 200}, {second.Access, powerBI, 200},
		{first.AccessToken, powerBI, 401}, {second.Access, graph, 401},
		{first.Extra("id_token").(string), graph, 401}, {first.Extra("id_token").(string), powerBI, 401},
		{"", graph, 401}, {"", powerBI, 401}, {"x.y.z", powerBI, 401},
	} {
		if res := s.call(ask.token, "GET", ask.path, nil, nil); res.StatusCode != ask.want {
			t.Errorf("%s answered %s, want %d", ask.path, res.Status, ask.want)
		}
	}
	c.at = c.at.Add(2 * time.Hour)
	var problem struct{ Error struct{ Code string } }
	if res := s.call(second.Access, "GET", powerBI, nil, &problem); res.StatusCode != 403 || problem.Error.Code != "TokenExpired" {
		t.Errorf("an expired token: %s %+v", res.Status, problem)
	}
	if err := s.RevokeTokens("viewer@sample.example"); err != nil {
		t.Fatal(err)
	}
	if res, problem := s.post(s.client().Endpoint.TokenURL, renew); res.StatusCode != 400 || problem.Error != "invalid_grant" {
		t.Errorf("a revoked token: %s %+v", res.Status, problem)
	}
}

// SYNC-01: the scanner's token has no permission of its own.
func TestScannerTokenHasNoRoles(t *testing.T) {
	s := sharedSite(t)
	_, rest, _ := strings.Cut(s.scanner(), ".")
	payload, _, _ := strings.Cut(rest, ".")
	data, err := base64.RawURLEncoding.DecodeString(payload)
	var claims map[string]any
	if err != nil || json.Unmarshal(data, &claims) != nil {
		t.Fatalf("payload %s", data)
	}
	if claims["idtyp"] != "app" || claims["roles"] != nil || claims["scp"] != nil {
		t.Errorf("claims %v", claims)
	}
}

// renewal is the form that redeems a refresh token.
func renewal(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {sample.AppID}, "client_secret": {sample.AppSecret}}
}
