package signin_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
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

// An issuer stands in for a provider and issues whatever ID token a test wants:
// the sample tenant issues only good ones.
type issuer struct {
	t    *testing.T
	kind signin.Kind
	url  string
	root string // path of its endpoints
	key  *rsa.PrivateKey

	mu       sync.Mutex
	document map[string]any            // what the discovery document has besides, or instead
	issue    func(nonce string) string // gives the next ID token
	nonce    string                    // of the sign-in under way
	nonces   map[string]string         // by code, of sign-ins under way at once
	verifier string                    // that the last code was redeemed with
	asked    map[string]int            // requests by path
}

func newEntra(t *testing.T) *issuer {
	t.Helper()
	return newIssuer(t, signin.Microsoft)
}

func newIssuer(t *testing.T, kind signin.Kind) *issuer {
	t.Helper()
	e, h := newIssuerHandler(t, kind)
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	e.url = ts.URL
	return e
}

// newIssuerHandler has no address yet.
func newIssuerHandler(t *testing.T, kind signin.Kind) (*issuer, http.HandlerFunc) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e := &issuer{t: t, kind: kind, key: key, asked: map[string]int{}}
	discovery := "/.well-known/openid-configuration"
	switch kind {
	case signin.Microsoft:
		e.root = "/" + oauthtest.TenantID
		discovery = "/v2.0" + discovery
	case signin.OpenIDConnect:
		e.root = "/realm"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+e.root+discovery, func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		document := map[string]any{
			"issuer": e.issuer(), "jwks_uri": e.url + e.root + "/keys",
			"authorization_endpoint": e.url + e.root + "/authorize", "token_endpoint": e.url + e.root + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
		}
		maps.Copy(document, e.document)
		writeJSON(w, document)
	})
	mux.HandleFunc("GET "+e.root+"/keys", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"keys": []map[string]any{{
			"kty": "RSA", "use": "sig", "kid": "k1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST "+e.root+"/token", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.verifier = r.FormValue("code_verifier")
		nonce, known := e.nonces[r.FormValue("code")]
		if r.FormValue("code") == "code" {
			nonce, known = e.nonce, true
		}
		if r.FormValue("client_secret") != "secret" || !known || r.FormValue("client_id") != clientID {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, map[string]any{"error": "invalid_grant", "error_description": "marked-description"})
			return
		}
		answer := map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": "marked-access", "refresh_token": "marked-refresh"}
		if token := e.issue(nonce); token != "" {
			answer["id_token"] = token
		}
		writeJSON(w, answer)
	})
	return e, func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.asked[r.URL.Path]++
		e.mu.Unlock()
		mux.ServeHTTP(w, r)
	}
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (e *issuer) issuer() string {
	if e.kind == signin.Microsoft {
		return e.url + e.root + "/v2.0"
	}
	return e.url + e.root
}

// discovered is how often the discovery document was asked for.
func (e *issuer) discovered() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path, times := range e.asked {
		if path != e.root+"/keys" && path != e.root+"/token" {
			n += times
		}
	}
	return n
}

func secret(context.Context) (string, error) { return "secret", nil }

// provider is how the issuer is configured.
func (e *issuer) provider() signin.Provider {
	switch e.kind {
	case signin.Microsoft:
		return signin.NewMicrosoft(e.url, oauthtest.TenantID, clientID, secret)
	case signin.Google:
		return signin.Provider{ID: "google", Kind: e.kind, Name: "Google", Issuer: e.issuer(), ClientID: clientID, Secret: secret}
	}
	return signin.Provider{ID: "acme", Kind: e.kind, Name: "Acme", Issuer: e.issuer(), ClientID: clientID, Secret: secret}
}

func (e *issuer) providers() []signin.Provider { return []signin.Provider{e.provider()} }

// claims are those of a good ID token, with changes; nil removes one.
func (e *issuer) claims(nonce string, changes map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": e.issuer(), "aud": clientID, "sub": "Pairwise-1", "name": "Ada",
		"nonce": nonce, "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	switch e.kind {
	case signin.Microsoft:
		c["tid"], c["oid"], c["preferred_username"] = oauthtest.TenantID, oauthtest.ViewerID, "ada@sample.example"
	case signin.Google:
		c["hd"] = "sample.example"
		fallthrough
	default:
		c["email"], c["email_verified"] = "ada@sample.example", true
	}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (e *issuer) sign(c jwt.MapClaims) string {
	return e.signBy(jwt.SigningMethodRS256, e.key, "k1", c)
}

func (e *issuer) signBy(method jwt.SigningMethod, key any, kid string, c jwt.MapClaims) string {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		e.t.Error(err)
	}
	return signed
}

// good issues a good token, with changes.
func (e *issuer) good(changes map[string]any) func(nonce string) string {
	return func(nonce string) string { return e.sign(e.claims(nonce, changes)) }
}

// signIn takes a browser through a sign-in for which the provider issues this
// token, and returns the answer of the callback.
func (e *issuer) signIn(b *oauthtest.Browser, issue func(nonce string) string) oauthtest.Answer {
	e.t.Helper()
	return b.Get(e.callback(b, issue))
}

// start is the path at which a sign-in starts.
func (e *issuer) start() string {
	return "/api/auth/sign-in/" + string(e.kind) + "?provider=acme&next=" + url.QueryEscape("/datasets?x=1")
}

// callback starts a sign-in and returns the address that the provider would send
// the browser back to.
func (e *issuer) callback(b *oauthtest.Browser, issue func(nonce string) string) string {
	e.t.Helper()
	start := b.Get(e.start())
	q := start.Location().Query()
	if start.Status != http.StatusSeeOther || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		e.t.Fatal(start.Status, start.Location(), start.Body)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nonce, e.issue = q.Get("nonce"), issue
	return "/api/auth/callback/" + string(e.kind) + "?" + url.Values{"state": {q.Get("state")}, "code": {"code"}}.Encode()
}
