package entra_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/sync/entra"
)

const (
	tenant   = "72f90000-0000-4000-8000-00000000000a"
	clientID = "app-1"
	oid      = "0e100000-0000-4000-8000-00000000000b"
)

// An authority answers token requests as told and publishes its key.
type authority struct {
	*httptest.Server
	key    *rsa.PrivateKey
	forms  []url.Values
	status int
	body   string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), status: 200}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		a.forms = append(a.forms, r.PostForm)
		w.WriteHeader(a.status)
		w.Write([]byte(a.body))
	})
	mux.HandleFunc("GET /{tenant}/discovery/v2.0/keys", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: a.key.Public(), KeyID: "k1", Use: "sig"}}})
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (a *authority) client(t *testing.T, secret *string, now func() time.Time) *entra.Client {
	t.Helper()
	h, err := fetch.NewFixed([]string{a.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return entra.New(a.URL, tenant, entra.Registration{
		ClientID: clientID,
		Secret:   func(context.Context) (string, error) { return *secret, nil },
	}, h, now)
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(claims)
	o, err := s.Sign(b)
	if err != nil {
		t.Fatal(err)
	}
	token, err := o.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// CONN-06, CONN-07, CONN-08
func TestVerify(t *testing.T) {
	a := newAuthority(t)
	secret := "s"
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := a.client(t, &secret, func() time.Time { return now })
	claims := func(change map[string]any) map[string]any {
		m := map[string]any{
			"iss": a.URL + "/" + tenant + "/v2.0", "aud": clientID, "tid": tenant, "oid": strings.ToUpper(oid), "nonce": "n-1",
			"exp": now.Add(time.Hour).Unix(), "nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(), "preferred_username": "ada@north.example",
		}
		for k, v := range change {
			if m[k] = v; v == nil {
				delete(m, k)
			}
		}
		return m
	}
	good := sign(t, jose.RS256, a.key, claims(nil))
	if id, name, email, err := c.Verify(t.Context(), good, "n-1"); err != nil || id != oid || name != "ada@north.example" || email != name {
		t.Fatalf("got %s %s %v", id, name, err)
	}

	parts := strings.Split(good, ".")
	payload, _ := json.Marshal(claims(map[string]any{"oid": "somebody-else"}))
	encode := base64.RawURLEncoding.EncodeToString
	bad := map[string]string{
		"issuer":          sign(t, jose.RS256, a.key, claims(map[string]any{"iss": "https://evil.example/v2.0"})),
		"audience":        sign(t, jose.RS256, a.key, claims(map[string]any{"aud": "app-2"})),
		"tenant":          sign(t, jose.RS256, a.key, claims(map[string]any{"tid": "72f90000-0000-4000-8000-00000000000c"})),
		"no tenant":       sign(t, jose.RS256, a.key, claims(map[string]any{"tid": nil})),
		"expired":         sign(t, jose.RS256, a.key, claims(map[string]any{"exp": now.Add(-time.Second).Unix()})),
		"not yet":         sign(t, jose.RS256, a.key, claims(map[string]any{"nbf": now.Add(time.Hour).Unix()})),
		"nonce":           sign(t, jose.RS256, a.key, claims(map[string]any{"nonce": "n-2"})),
		"no nonce":        sign(t, jose.RS256, a.key, claims(map[string]any{"nonce": nil})),
		"no object id":    sign(t, jose.RS256, a.key, claims(map[string]any{"oid": nil})),
		"key":             sign(t, jose.RS256, newKey(t), claims(nil)),
		"algorithm":       sign(t, jose.PS256, a.key, claims(nil)),
		"symmetric":       sign(t, jose.HS256, []byte("sssssssssssssssssssssssssssssssssssssssssssssss"), claims(nil)),
		"payload changed": parts[0] + "." + encode(payload) + "." + parts[2],
		"alg none":        encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + ".",
		"empty":           "",
	}
	for name, token := range bad {
		t.Run(name, func(t *testing.T) {
			id, _, _, err := c.Verify(t.Context(), token, "n-1")
			if err == nil {
				t.Errorf("accepted as %s", id)
			}
			if got := errors.Is(err, entra.ErrTenant); got != (name == "tenant" || name == "no tenant") {
				t.Errorf("%v is ErrTenant: %v", err, got)
			}
		})
	}
	if _, _, _, err := c.Verify(t.Context(), sign(t, jose.RS256, a.key, claims(map[string]any{"nonce": nil})), ""); err == nil {
		t.Error("an empty nonce was accepted")
	}
}

// CONN-01, CONN-33
func TestAuthorizeURL(t *testing.T) {
	a := newAuthority(t)
	secret := "s"
	u, err := url.Parse(a.client(t, &secret, time.Now).AuthorizeURL("https://pbmb.example/cb", "st", "no", "ch", []string{"openid", "x"}))
	if err != nil {
		t.Fatal(err)
	}
	if u.Path != "/"+tenant+"/oauth2/v2.0/authorize" {
		t.Errorf("path %s", u.Path)
	}
	for k, want := range map[string]string{
		"client_id": clientID, "response_type": "code", "redirect_uri": "https://pbmb.example/cb", "scope": "openid x",
		"state": "st", "nonce": "no", "code_challenge": "ch", "code_challenge_method": "S256",
	} {
		if got := u.Query().Get(k); got != want {
			t.Errorf("%s: got %q, want %q", k, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	a := newAuthority(t)
	secret := "s"
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := a.client(t, &secret, func() time.Time { return now })
	a.body = `{"token_type":"Bearer","expires_in":4000,"access_token":"at","refresh_token":"rt","id_token":"it"}`

	tok, err := c.Exchange(t.Context(), "https://pbmb.example/cb", "code-1", "verifier-1", []string{"p", "q"})
	if err != nil {
		t.Fatal(err)
	}
	if tok.AccessToken != "at" || tok.RefreshToken != "rt" || tok.Extra("id_token") != "it" || !tok.Expiry.Equal(now.Add(4000*time.Second)) {
		t.Errorf("got %+v", tok)
	}
	if _, err := c.Refresh(t.Context(), "rt", []string{"p"}); err != nil {
		t.Fatal(err)
	}
	wants := []url.Values{
		{"grant_type": {"authorization_code"}, "code": {"code-1"}, "code_verifier": {"verifier-1"}, "redirect_uri": {"https://pbmb.example/cb"},
			"scope": {"p q"}, "client_id": {clientID}, "client_secret": {"s"}},
		{"grant_type": {"refresh_token"}, "refresh_token": {"rt"}, "scope": {"p"}, "client_id": {clientID}, "client_secret": {"s"}},
	}
	for i, want := range wants {
		if got := a.forms[i].Encode(); got != want.Encode() {
			t.Errorf("got  %s\nwant %s", got, want.Encode())
		}
	}

	a.status, a.body = 400, `{"error":"invalid_grant","error_description":"AADSTS50173: for ada@north.example","error_codes":[50173]}`
	_, err = c.Refresh(t.Context(), "rt", []string{"p"})
	var e *entra.Error
	if !errors.As(err, &e) || e.OAuthCode() != "invalid_grant" || e.Status != 400 {
		t.Fatalf("got %v", err)
	}
	if err.Error() != "entra answered 400 invalid_grant AADSTS50173" {
		t.Errorf("got %q", err)
	}
	for _, body := range []string{`<html>`, `{}`} {
		a.status, a.body = 503, body
		if _, err := c.Refresh(t.Context(), "rt", nil); !errors.As(err, &e) || e.Code != "" || e.Status != 503 {
			t.Errorf("%s: got %v", body, err)
		}
		a.status = 200
		if _, err := c.Refresh(t.Context(), "rt", nil); err == nil {
			t.Errorf("%s: a 200 without a token was accepted", body)
		}
	}
}

// FETCH-28
func TestAppTokenIsKeptUntilSomethingItDependsOnChanges(t *testing.T) {
	a := newAuthority(t)
	a.body = `{"token_type":"Bearer","expires_in":3600,"access_token":"at"}`
	secret, now := "s-1", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := a.client(t, &secret, func() time.Time { return now })
	asks := func(what string, scope string, want int) {
		t.Helper()
		if got, err := c.AppToken(t.Context(), scope); err != nil || got != "at" {
			t.Fatalf("%s: %q, %v", what, got, err)
		}
		if len(a.forms) != want {
			t.Fatalf("%s: %d requests, want %d", what, len(a.forms), want)
		}
	}
	asks("first", "r/.default", 1)
	asks("again", "r/.default", 1)
	now = now.Add(57 * time.Minute)
	asks("near its end", "r/.default", 1)
	now = now.Add(2 * time.Minute)
	asks("too near its end", "r/.default", 2)
	secret = "s-2"
	asks("another secret", "r/.default", 3)
	asks("another scope", "q/.default", 4)
	if got := a.forms[2].Get("client_secret"); got != "s-2" {
		t.Errorf("sent the secret %s", got)
	}
	if got := a.forms[0]; got.Get("grant_type") != "client_credentials" || got.Get("scope") != "r/.default" {
		t.Errorf("sent %s", got.Encode())
	}
}
