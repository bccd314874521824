package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A jar is a browser at a demo, which keeps its cookies, and follows no redirect.
type jar struct {
	*http.Client
	d       *demo
	t       *testing.T
	address string // which nobody else comes from
}

func (d *demo) jar(t *testing.T) *jar {
	t.Helper()
	kept, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &jar{
		Client: &http.Client{
			Jar: kept, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		d: d, t: t, address: fmt.Sprintf("198.18.%d.%d", rand.N(256), 1+rand.N(254)),
	}
}

// ask sends a request; a body is JSON or, as url.Values, a form.
func (v *jar) ask(method, address string, body any) (status int, to string, text string) {
	v.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = v.d.URL + address
	}
	var sent []byte
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case url.Values:
		sent, kind = []byte(b.Encode()), "application/x-www-form-urlencoded"
	default:
		var err error
		if sent, err = json.Marshal(b); err != nil {
			v.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, bytes.NewReader(sent))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Origin", v.d.URL)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Forwarded-For", v.address)
	answer, err := v.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Location"), string(read)
}

// signInAnswers holds the paths of the sign-in against what they may answer.
func signInAnswers(t *testing.T, d *demo) {
	nobody, admin := d.jar(t), d.jar(t)
	if status, _, text := admin.ask("POST", "/api/auth/dev-sign-in", map[string]string{"email": "admin@sample.example"}); status != 200 {
		t.Fatal(status, text)
	}

	// NET-39: behind a proxy that is trusted, which is what keeps clients apart here.
	if _, _, text := admin.ask("GET", "/api/v1/me", nil); !strings.Contains(text, `"client_address":"`+admin.address+`"`) {
		t.Errorf("it comes from %s: %s", admin.address, text)
	}

	// SIGNIN-31
	for request, want := range map[string]int{
		"GET /api/auth/config":                         200,
		"GET /api/auth/sign-in/microsoft":              303,
		"GET /api/auth/sign-in/google":                 303,
		"GET /api/auth/sign-in/oidc?provider=tarnwick": 303,
		"GET /api/auth/sign-in/oidc":                   404,
		"GET /api/auth/callback/microsoft":             303,
		"GET /api/auth/callback/google":                303,
		"GET /api/auth/callback/oidc":                  303,
		"POST /api/auth/dev-sign-in":                   400,
		"GET /api/auth/oauth2/authorize":               400,
		"POST /api/auth/oauth2/token":                  400,
		"POST /api/auth/oauth2/register":               400,
		"POST /api/auth/oauth2/device_authorization":   400,
		"POST /api/auth/sign-in/passkey":               400,
		"POST /api/auth/sign-in/passkey/options":       200,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, to, text := nobody.ask(method, path, nil); status != want {
			t.Errorf("%s: %d %s %s, want %d", request, status, to, text, want)
		}
	}
	// SIGNIN-34, SIGNIN-35
	for _, path := range []string{
		"introspect", "revoke", "jwks", "consent", "device", "device/approve", "device/deny", "oauth2/introspect", "oauth2/revoke",
		"oauth2/clients", "oauth2/consents", "callback/acme", "callback/tarnwick", "sign-in/tarnwick", "sign-in/google/x", "providers",
		"sso/register", "sign-in/email", "sign-up", "forget-password", "magic-link", "",
	} {
		if status, _, _ := nobody.ask("GET", "/api/auth/"+path, nil); status != 404 {
			t.Errorf("GET %s by nobody: %d", path, status)
		}
		if status, _, _ := admin.ask("POST", "/api/auth/"+path, map[string]string{"issuer": "https://evil.example"}); status != 404 {
			t.Errorf("POST %s by an admin: %d", path, status)
		}
	}

	// SIGNIN-01: each provider by the pages of the sample tenant.
	for name, c := range map[string]struct{ start, person, want string }{
		"Microsoft":                          {"microsoft", "viewer@sample.example", "[viewer]"},
		"Google":                             {"google", "viewer@sample.example", "[viewer]"},
		"a personal Google account":          {"google", "vera.lindqvist@post.example", "no_role"},
		"a company address that is nobody's": {"google", "front.desk@sample.example", "no_role"},
		"OpenID Connect":                     {"oidc?provider=tarnwick", "viewer@sample.example", "[viewer]"},
		"an email that is not verified":      {"oidc?provider=tarnwick", "temp@sample.example", "no_email"},
	} {
		v := d.jar(t)
		_, page, _ := v.ask("GET", "/api/auth/sign-in/"+c.start, nil)
		_, back, _ := v.ask("POST", page, url.Values{"person": {c.person}})
		_, to, _ := v.ask("GET", back, nil)
		got := ""
		if at, err := url.Parse(to); err == nil {
			got = at.Query().Get("error")
		}
		if got == "" {
			_, _, text := v.ask("GET", "/api/v1/me", nil)
			var who struct{ Roles []string }
			_ = json.Unmarshal([]byte(text), &who) // no JSON has no roles
			got = fmt.Sprint(who.Roles)
		}
		if got != c.want {
			t.Errorf("%s: %s at %s, want %s", name, got, to, c.want)
		}
	}

	// SIGNIN-09, SIGNIN-35: only an admin changes the list, and only after a test.
	viewer := d.jar(t)
	viewer.ask("POST", "/api/auth/dev-sign-in", map[string]string{"email": "viewer@sample.example"})
	test := map[string]string{
		"kind": "oidc", "id": "second", "name": "Second", "issuer": d.SampleURL + "/openid", "client_id": "pbmb", "client_secret": "sample-openid-credential",
	}
	if status, _, text := viewer.ask("POST", "/api/v1/admin/sign-in/tests", test); status != 403 {
		t.Errorf("a viewer's test: %d %s", status, text)
	}
	status, _, text := admin.ask("POST", "/api/v1/admin/sign-in/tests", test)
	var started struct{ Test, Address string }
	if err := json.Unmarshal([]byte(text), &started); err != nil || status != 200 {
		t.Fatal(status, text)
	}
	add := map[string]string{"test": started.Test}
	if status, _, text := admin.ask("POST", "/api/v1/admin/sign-in/providers", add); status != 409 {
		t.Errorf("adding before the test: %d %s", status, text)
	}
	_, back, _ := admin.ask("POST", started.Address, url.Values{"person": {"viewer@sample.example"}})
	if _, to, _ := admin.ask("GET", back, nil); !strings.Contains(to, started.Test) {
		t.Errorf("the test ended at %s", to)
	}
	if status, _, text := viewer.ask("POST", "/api/v1/admin/sign-in/providers", add); status != 403 {
		t.Errorf("added by a viewer: %d %s", status, text)
	}
	ways := func() (ids []string) {
		_, _, text := nobody.ask("GET", "/api/auth/config", nil)
		var config struct{ Providers []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		for _, p := range config.Providers {
			ids = append(ids, p.ID)
		}
		return ids
	}
	if status, _, text := admin.ask("POST", "/api/v1/admin/sign-in/providers", add); status != 200 || strings.Contains(text, "credential") {
		t.Errorf("adding: %d %s", status, text)
	}
	if got := ways(); !slices.Equal(got, []string{"microsoft", "google", "tarnwick", "second"}) {
		t.Errorf("the ways in are %q", got)
	}
	if status, _, text := admin.ask("DELETE", "/api/v1/admin/sign-in/providers/microsoft", nil); status != 404 {
		t.Errorf("removing what the operator configured: %d %s", status, text)
	}
	if status, _, text := admin.ask("DELETE", "/api/v1/admin/sign-in/providers/second", nil); status != 200 {
		t.Errorf("removing: %d %s", status, text)
	}
	if got := ways(); !slices.Equal(got, []string{"microsoft", "google", "tarnwick"}) {
		t.Errorf("afterwards the ways in are %q", got)
	}
}
