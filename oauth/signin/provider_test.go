package signin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
)

func assign(t *testing.T, s *oauthtest.Server, a store.Assignment) {
	t.Helper()
	if _, err := s.Store.AssignRole(t.Context(), a, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// rolesOf signs somebody in and returns their roles, or the code of the refusal.
func rolesOf(e *issuer, s *oauthtest.Server, claims map[string]any) string {
	e.t.Helper()
	b := s.Browser()
	if a := e.signIn(b, e.good(claims)); a.Location().Path == "/sign-in" {
		return a.Location().Query().Get("error")
	}
	return b.Get("/api/v1/whoami").Field("Roles")
}

// SIGNIN-10
func TestAnEmailCountsOnlyWhereTheTokenSaysThatItIsVerified(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]signin.Kind{"Google": signin.Google, "OpenID Connect": signin.OpenIDConnect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIssuer(t, kind)
			s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
			assign(t, s, store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"})
			for name, c := range map[string]struct {
				claims map[string]any
				want   string
			}{
				"false":         {map[string]any{"email_verified": false}, "no_email"},
				"missing":       {map[string]any{"email_verified": nil}, "no_email"},
				"the word true": {map[string]any{"email_verified": "true"}, "no_email"},
				"1":             {map[string]any{"email_verified": 1}, "no_email"},
				"no email":      {map[string]any{"email": nil}, "no_email"},
				"no address":    {map[string]any{"email": "ada"}, "no_email"},
				"two addresses": {map[string]any{"email": "ada@sample.example, eve@sample.example"}, "no_email"},
				"another email": {map[string]any{"email": "eve@elsewhere.example", "sub": "2"}, "no_role"},
				// Entra's words prove nothing here.
				"xms_edov": {map[string]any{"email_verified": false, "xms_edov": true, "preferred_username": "ada@sample.example", "tid": oauthtest.TenantID}, "no_email"},
			} {
				if got := rolesOf(e, s, c.claims); got != c.want {
					t.Errorf("%s: %s, want %s", name, got, c.want)
				}
			}
			if n := rows(s); n != 0 {
				t.Errorf("%d rows were written", n)
			}
			if got := rolesOf(e, s, nil); got != "[curator]" {
				t.Errorf("true: %s", got)
			}
		})
	}
}

// SIGNIN-17, SIGNIN-18
func TestWhoVouchesForADomain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   signin.Kind
		claims map[string]any
		want   string
	}{
		"Microsoft's own tenant":                   {signin.Microsoft, nil, "[viewer]"},
		"OpenID Connect":                           {signin.OpenIDConnect, nil, "[viewer]"},
		"OpenID Connect, not verified":             {signin.OpenIDConnect, map[string]any{"email_verified": false}, "no_email"},
		"OpenID Connect, another domain":           {signin.OpenIDConnect, map[string]any{"email": "ada@other.example"}, "no_role"},
		"OpenID Connect, a domain below":           {signin.OpenIDConnect, map[string]any{"email": "ada@x.sample.example"}, "no_role"},
		"OpenID Connect, another domain with hd":   {signin.OpenIDConnect, map[string]any{"email": "ada@other.example", "hd": "sample.example"}, "no_role"},
		"Google with the domain in hd":             {signin.Google, nil, "[viewer]"},
		"Google with the domain in capitals":       {signin.Google, map[string]any{"hd": "Sample.Example"}, "[viewer]"},
		"Google with another hd":                   {signin.Google, map[string]any{"hd": "other.example"}, "no_role"},
		"Google without hd":                        {signin.Google, map[string]any{"hd": nil}, "no_role"},
		"Google with an empty hd":                  {signin.Google, map[string]any{"hd": ""}, "no_role"},
		"Google with hd, and an email elsewhere":   {signin.Google, map[string]any{"email": "ada@other.example"}, "no_role"},
		"Google with an hd that is no text at all": {signin.Google, map[string]any{"hd": []string{"sample.example"}}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIssuer(t, c.kind)
			s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
			s.SetDefaultRole("none")
			assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
			if got := rolesOf(e, s, c.claims); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// SIGNIN-16, SIGNIN-20: what a sign-in vouched for ends after a week.
func TestWhatAProviderVouchesForEnds(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	assign(t, s, store.Assignment{Role: "curator", Kind: store.ToGroup, Subject: "book team", Provider: "acme"})
	assign(t, s, store.Assignment{Role: "pii_reader", Kind: store.ToPerson, Subject: "ada@sample.example"})
	b := s.Browser()
	e.signIn(b, e.good(map[string]any{"groups": []string{"book team"}}))
	for age, want := range map[string]string{
		"interval '7 days' - interval '1 minute'": "[curator pii_reader viewer]",
		"interval '7 days' + interval '1 minute'": "[pii_reader]",
	} {
		s.DB.Exec("update person_sign_in set signed_in_at = now() - (" + age + ")")
		if got := b.Get("/api/v1/whoami").Field("Roles"); got != want {
			t.Errorf("after %s: %s, want %s", age, got, want)
		}
	}
}

// SIGNIN-19, VIS-21
func TestAGroupIsOneProvidersAlone(t *testing.T) {
	t.Parallel()
	const group = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
	acme, entra := newIssuer(t, signin.OpenIDConnect), newEntra(t)
	other := acme.provider()
	other.ID = "acme-2"
	s := oauthtest.New(t, oauthtest.Options{Providers: []signin.Provider{acme.provider(), entra.provider(), other}})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	assign(t, s, store.Assignment{Role: "admin", Kind: store.ToGroup, Subject: group, Provider: store.Microsoft})
	assign(t, s, store.Assignment{Role: "curator", Kind: store.ToGroup, Subject: "Book team", Provider: "acme"})
	assign(t, s, store.Assignment{Role: "admin", Kind: store.ToGroup, Subject: "Book team", Provider: "acme-2"})
	for name, c := range map[string]struct {
		e      *issuer
		groups any
		want   string
	}{
		"its own group":                      {acme, []string{"Book team"}, "[curator viewer]"},
		"one name instead of a list":         {acme, "Book team", "[curator viewer]"},
		"the same in other letters":          {acme, []string{"BOOK TEAM", "book team"}, "[viewer]"},
		"an Entra group's id":                {acme, []string{group, strings.ToUpper(group)}, "[viewer]"},
		"a name that says whose it is":       {acme, []string{"microsoft " + group, "acme-2 Book team", "2 Book team"}, "[viewer]"},
		"no list":                            {acme, map[string]any{"Book team": true}, "[viewer]"},
		"a list of other things":             {acme, []any{7, []string{"Book team"}}, "[viewer]"},
		"Entra's group":                      {entra, []string{group}, "[admin viewer]"},
		"another provider's group, by Entra": {entra, []string{"Book team"}, "[viewer]"},
	} {
		if got := rolesOf(c.e, s, map[string]any{"groups": c.groups}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// An entry of Power BI's lists is reached by object id alone.
	b := s.Browser()
	acme.signIn(b, acme.good(map[string]any{"groups": []string{group}, "oid": oauthtest.ViewerID}))
	if got := b.Get("/api/v1/whoami").Field("ObjectIDs"); got != "[]" {
		t.Errorf("object ids %s", got)
	}
}

// SIGNIN-14, SIGNIN-15: a second provider's account is a second person, and what
// the first one claimed stays with them.
func TestNoAccountJoinsAnotherByItsEmail(t *testing.T) {
	t.Parallel()
	entra, google, acme := newEntra(t), newIssuer(t, signin.Google), newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{Providers: []signin.Provider{entra.provider(), google.provider(), acme.provider()}})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	assign(t, s, store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"})
	seen := map[string]string{}
	var first *oauthtest.Browser
	for i, e := range []*issuer{entra, google, acme, google} {
		b := s.Browser()
		claims := map[string]any{}
		if e.kind != signin.Microsoft {
			claims["email"] = "ADA@sample.example"
		}
		e.signIn(b, e.good(claims))
		who := b.Get("/api/v1/whoami")
		if before, again := seen[who.Field("ID")]; again != (i == 3) || again && before != string(e.kind) {
			t.Errorf("the sign-in through %s is person %s, like %q", e.kind, who.Field("ID"), before)
		}
		seen[who.Field("ID")] = string(e.kind)
		want := "[viewer]"
		if i == 0 {
			want, first = "[curator viewer]", b
		}
		if got := who.Field("Roles"); got != want {
			t.Errorf("%s: roles %s, want %s", e.kind, got, want)
		}
	}
	if got := first.Get("/api/v1/whoami").Field("Roles"); got != "[curator viewer]" {
		t.Errorf("afterwards the first has %s", got)
	}
	var claimed int
	s.DB.QueryRow("select count(*) from role_assignment r join account a on a.person_id = r.person_id where a.provider = 'microsoft' and r.role = 'curator'", nil, &claimed)
	if claimed != 1 {
		t.Errorf("the claim is held by %d Microsoft accounts", claimed)
	}
}

// An account is its issuer's, whatever word stands for the issuer, and subjects
// that differ by letter case are two.
func TestAnAccountIsOneSubjectOfOneIssuer(t *testing.T) {
	t.Parallel()
	e, s := newDeployment(t, signin.OpenIDConnect)
	who := func(e *issuer, s *oauthtest.Server, claims map[string]any) string {
		b := s.Browser()
		e.signIn(b, e.good(claims))
		return b.Get("/api/v1/whoami").Field("ID")
	}
	ada, again, lower := who(e, s, nil), who(e, s, nil), who(e, s, map[string]any{"sub": "pairwise-1"})
	if ada == "" || ada != again || lower == ada || lower == "" {
		t.Errorf("persons %s, %s and %s", ada, again, lower)
	}
	renamed := who(e, s, map[string]any{"email": "ada.ferrant@sample.example", "name": "Ada F."})
	if renamed != ada {
		t.Errorf("with another email: %s, want %s", renamed, ada)
	}

	// The same word, now for another issuer which has the same subject.
	taken := newIssuer(t, signin.OpenIDConnect)
	var mu sync.Mutex
	current := e.provider()
	moved := oauthtest.New(t, oauthtest.Options{ProvidersNow: func() []signin.Provider {
		mu.Lock()
		defer mu.Unlock()
		return []signin.Provider{current}
	}})
	assign(t, moved, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	before := who(e, moved, nil)
	mu.Lock()
	current = taken.provider()
	mu.Unlock()
	if after := who(taken, moved, nil); before == "" || after == "" || after == before {
		t.Errorf("before %s, after %s", before, after)
	}
}

// SIGNIN-15, SIGNIN-45: first sign-ins at once make one person.
func TestFirstSignInsAtOnceMakeOnePerson(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := newDeployment(t, kind)
			assign(t, s, store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"})
			const many = 6
			browsers, callbacks := make([]*oauthtest.Browser, many), make([]string, many)
			nonces := map[string]string{}
			for i := range many {
				browsers[i] = s.Browser()
				code := fmt.Sprint("code-", i)
				callbacks[i] = strings.Replace(e.callback(browsers[i], e.good(nil)), "code=code", "code="+code, 1)
				nonces[code] = e.nonce
			}
			e.mu.Lock()
			e.nonces = nonces
			e.mu.Unlock()
			var wg sync.WaitGroup
			for i := range many {
				wg.Go(func() {
					if a := browsers[i].Get(callbacks[i]); a.Header.Get("Location") != "/datasets?x=1" {
						t.Errorf("sign-in %d: %d %s", i, a.Status, a.Location())
					}
				})
			}
			wg.Wait()
			var persons, accounts, sessions, claimed int
			s.DB.QueryRow(`select (select count(*) from person), (select count(*) from account), (select count(*) from session),
				(select count(*) from role_assignment where person_id is not null)`, nil, &persons, &accounts, &sessions, &claimed)
			if persons != 1 || accounts != 1 || sessions != many || claimed != 1 {
				t.Errorf("%d persons, %d accounts, %d sessions, %d claims", persons, accounts, sessions, claimed)
			}
		})
	}
}

// SIGNIN-31: one callback is shared by all OpenID Connect providers, and which of
// them a browser went to is known by its state alone.
func TestProvidersThatShareACallbackAreNotMixedUp(t *testing.T) {
	t.Parallel()
	acme, other, google := newIssuer(t, signin.OpenIDConnect), newIssuer(t, signin.OpenIDConnect), newIssuer(t, signin.Google)
	second := other.provider()
	second.ID = "second"
	s := oauthtest.New(t, oauthtest.Options{Providers: []signin.Provider{acme.provider(), second, google.provider()}})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})

	b := s.Browser()
	callback := acme.callback(b, func(nonce string) string { return other.sign(other.claims(nonce, nil)) })
	refusedAs(t, "another provider's token", b.Get(callback), "refused")
	callback = acme.callback(b, acme.good(nil))
	refusedAs(t, "at Google's callback", b.Get(strings.Replace(callback, "/oidc?", "/google?", 1)), "expired")
	refusedAs(t, "afterwards at its own", b.Get(callback), "expired")
	callback = google.callback(b, google.good(nil))
	refusedAs(t, "Google's at the shared callback", b.Get(strings.Replace(callback, "/google?", "/oidc?", 1)), "expired")

	// RFC 9207
	for name, c := range map[string]struct{ iss, want string }{
		"another issuer's name": {other.issuer(), "refused"},
		"its own name":          {acme.issuer(), ""},
		"no name":               {"", ""},
	} {
		b := s.Browser()
		a := b.Get(acme.callback(b, acme.good(nil)) + "&iss=" + c.iss)
		if got := a.Location().Query().Get("error"); got != c.want {
			t.Errorf("%s: %s, want %q", name, a.Location(), c.want)
		}
	}
	names := newIssuer(t, signin.OpenIDConnect)
	names.document = map[string]any{"authorization_response_iss_parameter_supported": true}
	strict := oauthtest.New(t, oauthtest.Options{Providers: names.providers()})
	assign(t, strict, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	b = strict.Browser()
	refusedAs(t, "no name of one that promises it", b.Get(names.callback(b, names.good(nil))), "refused")
	if a := b.Get(names.callback(b, names.good(nil)) + "&iss=" + names.issuer()); a.Location().Path != "/datasets" {
		t.Errorf("its name as promised: %s", a.Location())
	}

	for path, want := range map[string]int{
		"/api/auth/sign-in/oidc?provider=second": http.StatusSeeOther,
		"/api/auth/sign-in/oidc?provider=third":  http.StatusNotFound,
		"/api/auth/sign-in/oidc?provider=google": http.StatusNotFound,
		"/api/auth/sign-in/oidc":                 http.StatusNotFound,
		"/api/auth/sign-in/microsoft":            http.StatusNotFound,
		"/api/auth/sign-in/google?provider=acme": http.StatusSeeOther,
	} {
		if a := s.Browser().Get(path); a.Status != want {
			t.Errorf("%s: %d, want %d", path, a.Status, want)
		}
	}
}

// A provider that is taken away signs nobody in who was under way.
func TestAProviderThatIsGoneSignsNobodyIn(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	var mu sync.Mutex
	now := e.providers()
	s := oauthtest.New(t, oauthtest.Options{ProvidersNow: func() []signin.Provider {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	b := s.Browser()
	callback := e.callback(b, e.good(nil))
	mu.Lock()
	now = nil
	mu.Unlock()
	refusedAs(t, "gone", b.Get(callback), "refused")
	if a := b.Get(e.start()); a.Status != http.StatusNotFound {
		t.Errorf("starting: %d", a.Status)
	}
	if got := b.Get("/api/auth/config").Field("providers"); got != "[]" {
		t.Errorf("the choices are %s", got)
	}
}

// SIGNIN-35 FETCH-13: nor does one that goes, or becomes another's, while it is waited for.
func TestAProviderThatGoesMeanwhileSignsNobodyIn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*signin.Provider) []signin.Provider{
		"gone":           func(*signin.Provider) []signin.Provider { return nil },
		"another issuer": func(p *signin.Provider) []signin.Provider { p.Issuer += "/x"; return []signin.Provider{*p} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIssuer(t, signin.OpenIDConnect)
			var mu sync.Mutex
			now := e.providers()
			s := oauthtest.New(t, oauthtest.Options{ProvidersNow: func() []signin.Provider {
				mu.Lock()
				defer mu.Unlock()
				return now
			}})
			assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
			b, issue, other := s.Browser(), e.good(nil), e.provider()
			refusedAs(t, name, e.signIn(b, func(nonce string) string {
				mu.Lock()
				defer mu.Unlock()
				now = change(&other)
				return issue(nonce)
			}), "refused")
			if n := rows(s); n != 0 {
				t.Errorf("%d rows were written", n)
			}
		})
	}
}

// FETCH-19, FETCH-20
func TestEndpointsLieAtTheProvidersOwnOrigin(t *testing.T) {
	t.Parallel()
	var asked int
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(foreign.Close)
	var mu sync.Mutex
	var current signin.Provider
	s := oauthtest.New(t, oauthtest.Options{ProvidersNow: func() []signin.Provider {
		mu.Lock()
		defer mu.Unlock()
		return []signin.Provider{current}
	}})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	for name, kind := range kinds {
		e := newIssuer(t, kind)
		for _, endpoint := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri"} {
			for where, address := range map[string]func(own string) string{
				"another host":   func(string) string { return foreign.URL + "/x" },
				"another port":   func(own string) string { return own + "1/x" },
				"another scheme": func(own string) string { return strings.Replace(own, "http:", "https:", 1) + "/x" },
				"no address":     func(string) string { return "" },
				"script":         func(string) string { return "javascript:alert(1)" },
				"a user's name":  func(own string) string { return strings.Replace(own, "http://", "http://u@", 1) + "/x" },
			} {
				t.Run(name+" "+endpoint+" at "+where, func(t *testing.T) {
					e.document = map[string]any{endpoint: address(e.url)}
					mu.Lock()
					current = e.provider()
					mu.Unlock()
					refusedAs(t, "start", s.Browser().Get(e.start()), "unavailable")
				})
			}
		}
	}
	e := newIssuer(t, signin.OpenIDConnect)
	e.document = map[string]any{"userinfo_endpoint": foreign.URL + "/userinfo"}
	current = e.provider()
	if got := rolesOf(e, s, nil); got != "[viewer]" {
		t.Errorf("with a foreign userinfo endpoint: %s", got)
	}
	if asked != 0 {
		t.Errorf("the foreign host was asked %d times", asked)
	}
}

// FETCH-24
func TestUnreachableProvidersAreUnavailable(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	unreachable := e.provider()
	unreachable.Issuer = "http://127.0.0.1:1/" + oauthtest.TenantID + "/v2.0"
	common := signin.NewMicrosoft(e.url, "common", clientID, secret) // stands for every tenant
	another := newIssuer(t, signin.OpenIDConnect)
	another.document = map[string]any{"issuer": "https://login.example"}
	closed := newEntra(t).provider()
	closed.Secret = func(context.Context) (string, error) { return "", errors.New("sealed for another reader") }
	for name, p := range map[string]signin.Provider{"out of reach": unreachable, "many tenants": common, "another issuer's document": another.provider()} {
		s := oauthtest.New(t, oauthtest.Options{Providers: []signin.Provider{p}})
		a := s.Browser().Get("/api/auth/sign-in/" + string(p.Kind) + "?provider=" + p.ID)
		if a.Location().Query().Get("error") != "unavailable" || strings.Contains(a.Header.Get("Location"), "127.0.0.1") {
			t.Errorf("%s: %d %s", name, a.Status, a.Location())
		}
	}
	// Keys that cannot be read are no proof of a bad token.
	keyless := newIssuer(t, signin.OpenIDConnect)
	keyless.document = map[string]any{"jwks_uri": keyless.url + "/gone"}
	s := oauthtest.New(t, oauthtest.Options{Providers: keyless.providers()})
	if a := keyless.signIn(s.Browser(), keyless.good(nil)); a.Location().Path != "/sign-in" {
		t.Errorf("without keys: %s", a.Location())
	}
}

func TestCheckNew(t *testing.T) {
	t.Parallel()
	good := signin.Provider{ID: "acme", Kind: signin.OpenIDConnect, Name: "Acme", Issuer: "https://login.acme.example/realm", ClientID: "c"}
	google := signin.Provider{ID: "google", Kind: signin.Google, Name: "Google", Issuer: signin.GoogleIssuer, ClientID: "c"}
	change := func(p signin.Provider, f func(*signin.Provider)) signin.Provider { f(&p); return p }
	for name, c := range map[string]struct {
		p       signin.Provider
		relaxed bool
		ok      bool
	}{
		"OpenID Connect":             {good, false, true},
		"Google":                     {google, false, true},
		"an http issuer":             {change(good, func(p *signin.Provider) { p.Issuer = "http://login.acme.example" }), false, false},
		"an http issuer in a test":   {change(good, func(p *signin.Provider) { p.Issuer = "http://127.0.0.1:8090/x" }), true, true},
		"an issuer with a query":     {change(good, func(p *signin.Provider) { p.Issuer += "?x=y" }), false, false},
		"an issuer with a fragment":  {change(good, func(p *signin.Provider) { p.Issuer += "#" }), false, false},
		"an issuer with a user":      {change(good, func(p *signin.Provider) { p.Issuer = "https://u@login.acme.example" }), false, false},
		"an issuer that is a path":   {change(good, func(p *signin.Provider) { p.Issuer = "/x" }), false, false},
		"Google as OpenID Connect":   {change(good, func(p *signin.Provider) { p.Issuer = signin.GoogleIssuer }), false, false},
		"Google at another issuer":   {change(google, func(p *signin.Provider) { p.Issuer = "https://evil.example" }), false, false},
		"Google under another id":    {change(google, func(p *signin.Provider) { p.ID = "acme" }), false, false},
		"Microsoft":                  {change(good, func(p *signin.Provider) { p.Kind, p.ID = signin.Microsoft, "microsoft" }), false, false},
		"Microsoft's id":             {change(good, func(p *signin.Provider) { p.ID = "microsoft" }), false, false},
		"the dev sign-in's id":       {change(good, func(p *signin.Provider) { p.ID = "dev" }), false, false},
		"an id with a space":         {change(good, func(p *signin.Provider) { p.ID = "acme x" }), false, false},
		"an id in capitals":          {change(good, func(p *signin.Provider) { p.ID = "Acme" }), false, false},
		"a long id":                  {change(good, func(p *signin.Provider) { p.ID = strings.Repeat("a", 31) }), false, false},
		"no name":                    {change(good, func(p *signin.Provider) { p.Name = "" }), false, false},
		"a name that turns the line": {change(good, func(p *signin.Provider) { p.Name = "Acme\u202e" }), false, false},
		"a name of two lines":        {change(good, func(p *signin.Provider) { p.Name = "Acme\nx" }), false, false},
		"no client id":               {change(good, func(p *signin.Provider) { p.ClientID = "" }), false, false},
	} {
		if err := c.p.CheckNew(signin.GoogleIssuer, c.relaxed); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// SIGNIN-15 SIGNIN-21: whoever signs in by Microsoft is known by their own account, also
// where somebody was before who connected it and has the same email.
func TestAnAccountIsWhoseSignsInWithIt(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	b := s.Browser()
	e.signIn(b, e.good(nil))
	first := b.Get("/api/v1/whoami").Field("ID")
	s.DB.Exec("insert into person_identity (person_id, object_id) values ($1, $2)", first, oauthtest.ViewerID) // CONN-16
	for range 2 {
		second := s.SignIn("ada@sample.example", oauthtest.ViewerID).Get("/api/v1/whoami").Field("ID")
		var known string
		s.DB.QueryRow("select string_agg(person_id || ' ' || object_id || ' ' || (signed_in_at is not null)::text, ', ') from person_identity", nil, &known)
		if second == first || known != second+" "+oauthtest.ViewerID+" true" {
			t.Errorf("known are %s, want %s", known, second)
		}
	}
	if a := b.Get("/api/v1/whoami"); a.Status != http.StatusOK {
		t.Errorf("the other: %d", a.Status)
	}
}
