package sample_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/sync/sample"
)

// An openIDSite is one of the tenant's two sign-in providers that are not Microsoft's.
type openIDSite struct {
	*site
	issuer string
	client oauth2.Config
}

func (s *site) openID(path, clientID, secret string, style oauth2.AuthStyle) *openIDSite {
	issuer := s.url + path
	return &openIDSite{s, issuer, oauth2.Config{
		ClientID: clientID, ClientSecret: secret, RedirectURL: "http://localhost:9/callback", Scopes: []string{"openid", "profile", "email"},
		Endpoint: oauth2.Endpoint{AuthURL: issuer + "/authorize", TokenURL: issuer + "/token", AuthStyle: style},
	}}
}

func (s *site) google() *openIDSite {
	return s.openID(sample.GooglePath, sample.GoogleClientID, sample.GoogleClientSecret, oauth2.AuthStyleInParams)
}

func (s *site) company() *openIDSite {
	return s.openID(sample.OpenIDPath, sample.OpenIDClientID, sample.OpenIDClientSecret, oauth2.AuthStyleInHeader)
}

func (s *openIDSite) signIn(person string) *oauth2.Token {
	s.t.Helper()
	verifier := oauth2.GenerateVerifier()
	back := s.pick(newBrowser(s.t), s.client.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier), oidc.Nonce("n-1")), person)
	if back.Get("state") != "st" || back.Get("code") == "" {
		s.t.Fatalf("came back with %v", back)
	}
	token, err := s.client.Exchange(s.t.Context(), back.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

type openIDClaims struct {
	Subject  string   `json:"sub"`
	Email    string   `json:"email"`
	Verified *bool    `json:"email_verified"`
	Name     string   `json:"name"`
	Domain   string   `json:"hd"`
	Groups   []string `json:"groups"`
}

// SAMPLE-01: a generic client library discovers, signs in and verifies at both, and
// a token of one is nothing to the others.
func TestSignInElsewhere(t *testing.T) {
	s := sharedSite(t)
	google, company := s.google(), s.company()
	yes, no := true, false
	for name, c := range map[string]struct {
		at     *openIDSite
		person string
		want   openIDClaims
	}{
		"a person at Google":              {google, "viewer@sample.example", openIDClaims{Email: "viewer@sample.example", Verified: &yes, Name: "Vera Lindqvist", Domain: "sample.example"}},
		"a personal account":              {google, "vera.lindqvist@post.example", openIDClaims{Email: "vera.lindqvist@post.example", Verified: &yes, Name: "Vera Lindqvist"}},
		"a personal account of an office": {google, "front.desk@sample.example", openIDClaims{Email: "front.desk@sample.example", Verified: &yes, Name: "Front desk"}},
		"a person at the company's own":   {company, "viewer@sample.example", openIDClaims{Email: "viewer@sample.example", Verified: &yes, Name: "Vera Lindqvist", Groups: []string{"Sales readers"}}},
		"groups within groups":            {company, "grace@sample.example", openIDClaims{Email: "grace@sample.example", Verified: &yes, Name: "Grace Tolland", Groups: []string{"Commercial department", "Regional managers", "West team"}}},
		"an email that nobody verified":   {company, "temp@sample.example", openIDClaims{Email: "temp@sample.example", Verified: &no, Name: "Tess Amori"}},
	} {
		t.Run(name, func(t *testing.T) {
			provider, err := oidc.NewProvider(t.Context(), c.at.issuer)
			if err != nil {
				t.Fatal(err)
			}
			token := c.at.signIn(c.person)
			raw, _ := token.Extra("id_token").(string)
			id, err := provider.Verifier(&oidc.Config{ClientID: c.at.client.ClientID}).Verify(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			var got openIDClaims
			if err := id.Claims(&got); err != nil || id.Nonce != "n-1" || got.Subject == "" {
				t.Fatalf("%+v, nonce %q, %v", got, id.Nonce, err)
			}
			if got.Email != c.want.Email || *got.Verified != *c.want.Verified || got.Name != c.want.Name || got.Domain != c.want.Domain || !slices.Equal(got.Groups, c.want.Groups) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			info, err := provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
			if err != nil || info.Subject != got.Subject || info.Email != got.Email {
				t.Errorf("userinfo %+v, %v", info, err)
			}
			for name, wrong := range map[string]string{"Google's": google.issuer + "/userinfo", "the company's": company.issuer + "/userinfo", "Graph": s.url + sample.GraphPath + "/v1.0/me"} {
				for what, presented := range map[string]string{"access token": token.AccessToken, "id token": raw} {
					if wrong == c.at.issuer+"/userinfo" && what == "access token" {
						continue
					}
					r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, wrong, nil)
					r.Header.Set("Authorization", "Bearer "+presented)
					res, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					res.Body.Close()
					if res.StatusCode != http.StatusUnauthorized {
						t.Errorf("the %s at %s: %s", what, name, res.Status)
					}
				}
			}
			other := google
			if c.at == google {
				other = company
			}
			foreign, err := oidc.NewProvider(t.Context(), other.issuer)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := foreign.Verifier(&oidc.Config{ClientID: c.at.client.ClientID, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}}).Verify(t.Context(), raw); err == nil {
				t.Error("the other provider's keys verify the token")
			}
		})
	}
}

func TestElsewhereRefuses(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	for name, at := range map[string]*openIDSite{"Google": s.google(), "the company's": s.company()} {
		t.Run(name, func(t *testing.T) {
			verifier := oauth2.GenerateVerifier()
			code := func() string {
				return at.pick(newBrowser(t), at.client.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier)), "viewer@sample.example").Get("code")
			}
			form := func(code string, changes ...string) url.Values {
				v := url.Values{
					"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {at.client.RedirectURL}, "code_verifier": {verifier},
					"client_id": {at.client.ClientID}, "client_secret": {at.client.ClientSecret},
				}
				for i := 0; i < len(changes); i += 2 {
					v.Set(changes[i], changes[i+1])
				}
				return v
			}
			used := code()
			late := code()
			for name, tt := range map[string]struct {
				form url.Values
				want string
			}{
				"a good code":      {form(used), ""},
				"wrong verifier":   {form(code(), "code_verifier", oauth2.GenerateVerifier()), "invalid_grant"},
				"no verifier":      {form(code(), "code_verifier", ""), "invalid_grant"},
				"other redirect":   {form(code(), "redirect_uri", "http://localhost:9/other"), "invalid_grant"},
				"an unknown code":  {form("x"), "invalid_grant"},
				"a wrong secret":   {form(code(), "client_secret", "guess"), "invalid_client"},
				"another client":   {form(code(), "client_id", "other"), "invalid_client"},
				"a password grant": {form(code(), "grant_type", "password"), "unsupported_grant_type"},
			} {
				if got := at.redeem(tt.form); got != tt.want {
					t.Errorf("%s: %q, want %q", name, got, tt.want)
				}
			}
			if got := at.redeem(form(used)); got != "invalid_grant" {
				t.Errorf("a second use: %q", got)
			}
			c.at = c.at.Add(11 * time.Minute)
			if got := at.redeem(form(late)); got != "invalid_grant" {
				t.Errorf("after eleven minutes: %q", got)
			}
			for name, change := range map[string]oauth2.AuthCodeOption{
				"another client":             oauth2.SetAuthURLParam("client_id", "other"),
				"an address of another host": oauth2.SetAuthURLParam("redirect_uri", "https://evil.example/"),
			} {
				res, err := newBrowser(t).Get(at.client.AuthCodeURL("st", change))
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != http.StatusBadRequest {
					t.Errorf("%s: %s", name, res.Status)
				}
			}
			res, err := newBrowser(t).PostForm(at.client.AuthCodeURL("st"), url.Values{"cancel": {"1"}})
			if err != nil {
				t.Fatal(err)
			}
			if back := at.redirected(res); back.Get("error") != "access_denied" || back.Get("state") != "st" {
				t.Errorf("cancelled: %v", back)
			}
		})
	}
}

// redeem gives the error of the token endpoint, or nothing.
func (s *openIDSite) redeem(form url.Values) string {
	s.t.Helper()
	res, err := http.PostForm(s.client.Endpoint.TokenURL, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Error string `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.Error
}
