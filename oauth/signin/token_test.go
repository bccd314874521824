package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
)

// kinds are all of them, by the name of a test's case.
var kinds = map[string]signin.Kind{"Microsoft": signin.Microsoft, "Google": signin.Google, "OpenID Connect": signin.OpenIDConnect}

// newDeployment has one provider, and everybody at sample.example is a viewer.
func newDeployment(t *testing.T, kind signin.Kind) (*issuer, *oauthtest.Server) {
	t.Helper()
	e := newIssuer(t, kind)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
	if _, err := s.Store.AssignRole(t.Context(), store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return e, s
}

// refusedAs fails unless a callback sent the browser to the sign-in page with a
// code, and gave it nothing.
func refusedAs(t *testing.T, what string, a oauthtest.Answer, code string) {
	t.Helper()
	if a.Location().Path != "/sign-in" || a.Location().Query().Get("error") != code {
		t.Errorf("%s: %d %s, want %s", what, a.Status, a.Location(), code)
	}
	if len(a.Header.Values("Set-Cookie")) != 0 {
		t.Errorf("%s: sets a cookie", what)
	}
}

// SIGNIN-08: whatever the provider.
func TestIDTokensThatProveNothingAreRefused(t *testing.T) {
	t.Parallel()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := newDeployment(t, kind)
			public := x509.MarshalPKCS1PublicKey(&e.key.PublicKey)
			by := func(method jwt.SigningMethod, key any, kid string) func(string) string {
				return func(n string) string { return e.signBy(method, key, kid, e.claims(n, nil)) }
			}
			changed := func(name string, value any) func(string) string { return e.good(map[string]any{name: value}) }
			for name, issue := range map[string]func(nonce string) string{
				"an unknown key":                by(jwt.SigningMethodRS256, stranger, "k1"),
				"an unknown key id":             by(jwt.SigningMethodRS256, stranger, "k2"),
				"a key of another kind":         by(jwt.SigningMethodES256, curve, "k1"),
				"no algorithm":                  by(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "k1"),
				"HS256 by the public key":       by(jwt.SigningMethodHS256, public, "k1"),
				"HS256 by the client secret":    by(jwt.SigningMethodHS256, []byte("secret"), "k1"),
				"a changed payload":             func(n string) string { return tamper(e.sign(e.claims(n, nil))) },
				"a signature cut off":           func(n string) string { return unsigned(e.sign(e.claims(n, nil))) },
				"no token":                      func(string) string { return "" },
				"not a token":                   func(string) string { return "x" },
				"another issuer":                changed("iss", "https://login.example"),
				"an issuer that begins like it": changed("iss", e.issuer()+"/"),
				"no issuer":                     changed("iss", nil),
				"Google's short issuer":         changed("iss", "accounts.google.com"),
				"another client":                changed("aud", "other"),
				"no audience":                   changed("aud", nil),
				"two audiences":                 changed("aud", []string{clientID, "other"}),
				"expired":                       changed("exp", time.Now().Add(-time.Second).Unix()),
				"no expiry":                     changed("exp", nil),
				"not yet valid":                 changed("nbf", time.Now().Add(time.Hour).Unix()),
				"another nonce":                 changed("nonce", "other"),
				"an empty nonce":                changed("nonce", ""),
				"no nonce":                      changed("nonce", nil),
				"no subject":                    changed("sub", nil),
			} {
				refusedAs(t, name, e.signIn(s.Browser(), issue), "refused")
			}
			if n := rows(s); n != 0 {
				t.Errorf("%d rows were written", n)
			}

			a := e.signIn(s.Browser(), e.good(nil))
			if a.Header.Get("Location") != "/datasets?x=1" {
				t.Errorf("a good one: %d %s %s", a.Status, a.Location(), s.Log)
			}
			cookie := a.Header.Get("Set-Cookie")
			for _, attribute := range []string{"Secure", "HttpOnly", "SameSite=Lax", "Path=/", "__Host-"} { // NET-12
				if !strings.Contains(cookie, attribute) {
					t.Errorf("the cookie lacks %s: %s", attribute, cookie)
				}
			}
			if n := e.discovered(); n != 1 {
				t.Errorf("discovered %d times", n)
			}
			noTokenIsKept(t, s)
		})
	}
}

// SIGNIN-23
func noTokenIsKept(t *testing.T, s *oauthtest.Server) {
	t.Helper()
	found, err := s.DB.API().Query(t.Context(), `select table_name::text from information_schema.tables
		where table_schema = 'public' and table_type = 'BASE TABLE' and has_table_privilege(quote_ident(table_name), 'select')`)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var tables []string
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if len(tables) < 10 {
		t.Fatalf("only %v can be read", tables)
	}
	for _, marked := range []string{"marked-access", "marked-refresh", "marked-description", "eyJ"} {
		if strings.Contains(s.Log.String(), marked) {
			t.Errorf("the log holds %s", marked)
		}
		for _, table := range tables {
			var held bool
			s.DB.QueryRow(`select exists (select from "`+table+`" x where x::text like $1)`, []any{"%" + marked + "%"}, &held)
			if held {
				t.Errorf("%s holds %s", table, marked)
			}
		}
	}
}

func tamper(token string) string {
	parts := strings.Split(token, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), "ada@", "eve@", 1)))
	return strings.Join(parts, ".")
}

func unsigned(token string) string { return token[:strings.LastIndexByte(token, '.')+1] }

// SIGNIN-06: a valid token by itself opens nothing, wherever it is posted.
func TestPostedIDTokensSignNobodyIn(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := newDeployment(t, kind)
			b := s.Browser()
			state := strings.TrimPrefix(e.callback(b, e.good(nil)), "/api/auth/callback/"+string(kind)+"?")
			token := e.sign(e.claims(e.nonce, nil))
			for _, path := range []string{"/api/auth/sign-in/" + string(kind), "/api/auth/callback/" + string(kind)} {
				for _, a := range []oauthtest.Answer{
					b.PostForm(path, "id_token", token, "state", "x"),
					b.PostForm(path+"?"+state, "id_token", token),
					b.PostJSON(path, map[string]string{"id_token": token, "provider": "acme"}),
				} {
					if a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusNotFound {
						t.Errorf("posting an ID token to %s: %d", path, a.Status)
					}
				}
			}
			withoutCode := strings.Replace(e.callback(b, e.good(nil)), "code=code", "id_token="+token, 1)
			refusedAs(t, "in the query", b.Get(withoutCode), "access_denied")
			if n := rows(s); n != 0 {
				t.Errorf("%d rows were written", n)
			}
		})
	}
}
