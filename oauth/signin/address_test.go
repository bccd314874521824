package signin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
)

const acmeHost = "login.acme.example"

// An outside is a provider at its real names, as production reaches it: by https,
// at public addresses.
type outside struct {
	*issuer
	site   *fetchtest.Site
	server *oauthtest.Server

	// before is called with the path before a request is answered.
	before func(path string)
}

func newOutside(t *testing.T, kind signin.Kind) *outside {
	t.Helper()
	hosts := []string{acmeHost}
	if kind == signin.Google {
		hosts = []string{"accounts.google.com", "oauth2.googleapis.com", "www.googleapis.com", "evil.example"}
	}
	e, h := newIssuerHandler(t, kind)
	o := &outside{issuer: e, site: fetchtest.NewSite(t, hosts...), before: func(string) {}}
	e.url = "https://" + hosts[0]
	if kind == signin.Google {
		e.document = map[string]any{
			"token_endpoint": "https://oauth2.googleapis.com/token", "jwks_uri": "https://www.googleapis.com/keys",
			"userinfo_endpoint": "https://openidconnect.googleapis.com/v1/userinfo",
		}
	} else {
		e.document = map[string]any{"userinfo_endpoint": e.url + e.root + "/userinfo"}
	}
	o.site.Serve(func(w http.ResponseWriter, r *http.Request) {
		o.before(r.URL.Path)
		h(w, r)
	})
	options := o.site.Options()
	o.server = oauthtest.New(t, oauthtest.Options{Providers: e.providers(), Outside: &options})
	assign(t, o.server, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	return o
}

// signsIn says whether somebody gets in.
func (o *outside) signsIn() bool {
	b := o.server.Browser()
	start := b.Get(o.start())
	q := start.Location().Query()
	if q.Get("state") == "" {
		return false
	}
	o.mu.Lock()
	o.nonce, o.issue = q.Get("nonce"), o.good(nil)
	o.mu.Unlock()
	b.Get(signin.Provider{Kind: o.kind}.Callback() + "?code=code&state=" + q.Get("state"))
	return b.Get("/api/v1/whoami").Status == http.StatusOK
}

// FETCH-18, FETCH-21: the address behind the name is looked at for each request.
// Once it is a private one nothing is dialed any more and nobody gets in; the
// userinfo endpoint is not asked at all.
func TestAProviderThatMovesToAPrivateAddressIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after string // the endpoint after whose answer the name leads to a private address
		dials int
	}{
		"from the start":      {"", 0},
		"after the discovery": {"/realm/.well-known/openid-configuration", 1},
		"after the token":     {"/realm/token", 2},
		"never":               {"nothing", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t, signin.OpenIDConnect)
			if c.after == "" {
				o.site.Resolve("10.0.0.1")
			}
			o.before = func(path string) {
				if path == c.after {
					o.site.Resolve("10.0.0.1")
				}
			}
			if got, want := o.signsIn(), c.after == "nothing"; got != want {
				t.Errorf("signed in: %v\n%s", got, o.server.Log)
			}
			dialed := o.site.Dialed()
			if len(dialed) != c.dials || slices.ContainsFunc(dialed, func(a string) bool { return a != fetchtest.PublicAddress+":443" }) {
				t.Errorf("dialed %v, want %d times the public address", dialed, c.dials)
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.asked["/realm/userinfo"] > 0 {
				t.Error("the userinfo endpoint was asked")
			}
		})
	}
}

// FETCH-18, FETCH-21: nor is one whose issuer, or an endpoint of whose document, is
// such an address in any way of writing it.
func TestAProviderAtAPrivateAddressIsNotAsked(t *testing.T) {
	t.Parallel()
	private := []string{"https://10.0.0.1", "https://127.0.0.1", "https://[::1]", "https://[::ffff:10.0.0.1]", "https://169.254.169.254", "https://[fd00::1]"}
	for _, address := range private {
		o := newOutside(t, signin.OpenIDConnect)
		o.url = address
		_, _, err := o.server.SignInBy.Try(t.Context(), newAdmin(t, o.server).Principal, o.provider(), "secret")
		if err == nil || len(o.site.Dialed()) > 0 {
			t.Errorf("%s: %v, dialed %v", address, err, o.site.Dialed())
		}
	}
	for _, endpoint := range []string{"token_endpoint", "jwks_uri", "authorization_endpoint"} {
		for _, address := range private {
			o := newOutside(t, signin.OpenIDConnect)
			o.document[endpoint] = address + "/realm/x"
			if o.signsIn() {
				t.Errorf("%s at %s: signed in", endpoint, address)
			}
			if got := o.site.Dialed(); len(got) != 1 || got[0] != fetchtest.PublicAddress+":443" {
				t.Errorf("%s at %s: dialed %v", endpoint, address, got)
			}
		}
	}
}

// FETCH-22
func TestGoogleIsAskedAtItsOwnHostsAlone(t *testing.T) {
	t.Parallel()
	o := newOutside(t, signin.Google)
	if !o.signsIn() {
		t.Fatalf("not signed in\n%s", o.server.Log)
	}
	if got := strings.Join(o.site.Named(), " "); got != "accounts.google.com oauth2.googleapis.com www.googleapis.com" {
		t.Errorf("asked %s", got)
	}
	if dialed := o.site.Dialed(); len(dialed) != 3 || slices.ContainsFunc(dialed, func(a string) bool { return a != fetchtest.PublicAddress+":443" }) {
		t.Errorf("dialed %v", dialed)
	}
	for path, dials := range map[string]int{"": 0, "/.well-known/openid-configuration": 1, "/token": 2} {
		o := newOutside(t, signin.Google)
		if path == "" {
			o.site.Resolve(fetchtest.PublicAddress, "192.168.1.1")
		}
		o.before = func(p string) {
			if p == path {
				o.site.Resolve(fetchtest.PublicAddress, "192.168.1.1") // one of two is enough
			}
		}
		if o.signsIn() || len(o.site.Dialed()) != dials {
			t.Errorf("a private address after %q: dialed %v, want %d", path, o.site.Dialed(), dials)
		}
	}
	for _, endpoint := range []string{"token_endpoint", "jwks_uri"} {
		o := newOutside(t, signin.Google)
		o.document[endpoint] = "https://evil.example/x"
		if o.signsIn() || slices.Contains(o.site.Named(), "evil.example") {
			t.Errorf("%s elsewhere: asked %v", endpoint, o.site.Named())
		}
	}
}
