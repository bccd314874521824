package signin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
)

const clientID = "99999999-9999-4999-8999-999999999999"

// entra is a stand-in for Entra that issues whatever ID token a test wants: the
// sample tenant issues only good ones.
type entra struct {
	t   *testing.T
	url string
	key *rsa.PrivateKey

	mu       sync.Mutex
	issue    func(nonce string) string // gives the next ID token
	nonce    string                    // of the sign-in under way
	verifier string                    // that the last code was redeemed with
	discover int
}

func newEntra(t *testing.T) *entra {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e := &entra{t: t, key: key}
	mux := http.NewServeMux()
	root := "/" + oauthtest.TenantID
	mux.HandleFunc("GET "+root+"/v2.0/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		e.discover++
		e.mu.Unlock()
		writeJSON(w, map[string]any{
			"issuer": e.url + root + "/v2.0", "jwks_uri": e.url + root + "/keys",
			"authorization_endpoint": e.url + root + "/authorize", "token_endpoint": e.url + root + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET "+root+"/keys", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"keys": []map[string]any{{
			"kty": "RSA", "use": "sig", "kid": "k1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST "+root+"/token", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.verifier = r.FormValue("code_verifier")
		if r.FormValue("client_secret") != "secret" || r.FormValue("code") != "code" {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, map[string]any{"error": "invalid_grant", "error_description": "marked-description"})
			return
		}
		answer := map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": "marked-access", "refresh_token": "marked-refresh"}
		if token := e.issue(e.nonce); token != "" {
			answer["id_token"] = token
		}
		writeJSON(w, answer)
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	e.url = ts.URL
	return e
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (e *entra) app() signin.MicrosoftApp {
	return signin.MicrosoftApp{Authority: e.url, TenantID: oauthtest.TenantID, ClientID: clientID, ClientSecret: "secret"}
}

// claims are those of a good ID token, with changes; nil removes one.
func (e *entra) claims(nonce string, changes map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": e.url + "/" + oauthtest.TenantID + "/v2.0", "aud": clientID, "sub": "pairwise",
		"tid": oauthtest.TenantID, "oid": oauthtest.ViewerID, "name": "Ada", "preferred_username": "ada@sample.example",
		"nonce": nonce, "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (e *entra) sign(c jwt.MapClaims) string {
	return e.signBy(jwt.SigningMethodRS256, e.key, "k1", c)
}

func (e *entra) signBy(method jwt.SigningMethod, key any, kid string, c jwt.MapClaims) string {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		e.t.Error(err)
	}
	return signed
}

// signIn takes a browser through a sign-in for which Entra issues this token,
// and returns the answer of the callback.
func (e *entra) signIn(b *oauthtest.Browser, issue func(nonce string) string) oauthtest.Answer {
	e.t.Helper()
	return b.Get(e.callback(b, issue))
}

// callback starts a sign-in and returns the address that Entra would send the
// browser back to.
func (e *entra) callback(b *oauthtest.Browser, issue func(nonce string) string) string {
	e.t.Helper()
	start := b.Get("/api/auth/sign-in/microsoft?next=" + url.QueryEscape("/datasets?x=1"))
	q := start.Location().Query()
	if start.Status != http.StatusSeeOther || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		e.t.Fatal(start.Status, start.Location(), start.Body)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nonce, e.issue = q.Get("nonce"), issue
	return "/api/auth/callback/microsoft?" + url.Values{"state": {q.Get("state")}, "code": {"code"}}.Encode()
}
