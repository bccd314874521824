package signin_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/sync/sample"
)

// An admin is one of a deployment's, in a browser.
type admin struct {
	*oauthtest.Browser
	*policies.Principal
	s *oauthtest.Server
}

func newAdmin(t *testing.T, s *oauthtest.Server) *admin {
	t.Helper()
	b := s.SignIn("admin@sample.example", oauthtest.OtherID)
	who := b.Get("/api/v1/whoami")
	return &admin{b, &policies.Principal{
		Kind: policies.Person, ID: who.Field("ID"), Email: "admin@sample.example", Via: policies.ViaBrowser, Credential: who.Field("Credential"),
	}, s}
}

// try starts a trial and returns its id and where the provider sends the browser
// back to.
func (a *admin) try(t *testing.T, e *issuer, issue func(nonce string) string) (trialID, callback string) {
	t.Helper()
	trialID, address, err := a.s.SignInBy.Try(t.Context(), a.Principal, e.provider(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := to.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") != a.s.URL+"/api/auth/callback/"+string(e.kind) {
		t.Errorf("leads to %s", address)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nonce, e.issue = q.Get("nonce"), issue
	return trialID, "/api/auth/callback/" + string(e.kind) + "?" + url.Values{"state": {q.Get("state")}, "code": {"code"}}.Encode()
}

func (a *admin) add(t *testing.T, trialID string) error {
	t.Helper()
	_, err := a.s.Store.AddProvider(t.Context(), a.Principal, trialID, a.s.Secrets(), a.s.Vault.Open, a.s.Clock.Now())
	return err
}

func choices(s *oauthtest.Server) string {
	return s.Browser().Get("/api/auth/config").Field("providers")
}

// SIGNIN-09, SIGNIN-35: nothing but a test sign-in that succeeded adds a provider.
func TestAProviderIsAddedOnlyAfterATestSignIn(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]signin.Kind{"Google": signin.Google, "OpenID Connect": signin.OpenIDConnect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIssuer(t, kind)
			opt := oauthtest.Options{}
			if kind == signin.Google {
				opt.GoogleIssuer = e.issuer()
			}
			s := oauthtest.New(t, opt)
			assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
			a := newAdmin(t, s)
			refused := func(what, trialID string) {
				t.Helper()
				if err := a.add(t, trialID); !errors.Is(err, postgres.ErrNotFound) {
					t.Errorf("%s: %v", what, err)
				}
			}
			failed := func(what string, answer oauthtest.Answer, code string) {
				t.Helper()
				if got := answer.Location(); got.Path != "/admin/sign-in" || got.Query().Get("error") != code || got.Query().Has("trial") {
					t.Errorf("%s: %d %s, want %s", what, answer.Status, got, code)
				}
			}
			persons := rows(s)

			id, _ := a.try(t, e, e.good(nil))
			refused("not signed in yet", id)
			refused("an unknown test", "00000000-0000-4000-8000-000000000000")
			id, callback := a.try(t, e, e.good(map[string]any{"email_verified": false}))
			failed("no verified email", a.Get(callback), "no_email")
			refused("no verified email", id)
			id, callback = a.try(t, e, e.good(map[string]any{"nonce": "other"}))
			failed("another nonce", a.Get(callback), "refused")
			refused("another nonce", id)
			id, callback = a.try(t, e, e.good(nil))
			failed("cancelled", a.Get(strings.Replace(callback, "code=code", "error=access_denied", 1)), "access_denied")
			refused("cancelled", id)
			id, callback = a.try(t, e, e.good(nil))
			failed("in nobody's browser", s.Browser().Get(callback), "expired")
			failed("in another session of the admin", newAdmin(t, s).Get(callback), "expired")
			id2, other := a.try(t, e, e.good(nil))
			failed("with another state", a.Get(strings.Replace(other, "state=trial-", "state=trial-x", 1)), "expired")
			refused("in another session", id)
			refused("with another state", id2)
			id, callback = a.try(t, e, e.good(nil))
			s.Clock.Advance(11 * time.Minute)
			failed("after eleven minutes", a.Get(callback), "expired")
			refused("after eleven minutes", id)

			id, callback = a.try(t, e, e.good(map[string]any{"email": "Nobody@elsewhere.example", "hd": nil}))
			done := a.Get(callback)
			if got := done.Location(); got.Path != "/admin/sign-in" || got.Query().Get("trial") != id {
				t.Fatalf("a good one: %d %s %s", done.Status, got, s.Log)
			}
			failed("a second time", a.Get(callback), "expired")
			if len(done.Header.Values("Set-Cookie")) != 0 || rows(s)-persons != 1 { // the other session of the admin
				t.Errorf("the test signed somebody in: %v, %d rows", done.Header.Values("Set-Cookie"), rows(s)-persons)
			}
			if got := choices(s); got != "[]" {
				t.Errorf("tested and not added: %s", got)
			}
			stranger := &admin{s: s, Principal: &policies.Principal{Kind: policies.Person, ID: oauthtest.ViewerID}}
			if err := stranger.add(t, id); !errors.Is(err, postgres.ErrNotFound) {
				t.Errorf("somebody else's test: %v", err)
			}
			if err := a.add(t, id); err != nil {
				t.Fatal(err)
			}
			refused("a second time", id)
			want := "[map[id:" + e.provider().ID + " kind:" + string(kind) + " name:" + e.provider().Name + "]]"
			if got := choices(s); got != want {
				t.Errorf("added: %s, want %s", got, want)
			}
			b := s.Browser()
			if got := e.signIn(b, e.good(nil)); got.Header.Get("Location") != "/datasets?x=1" {
				t.Errorf("signing in: %s", got.Location())
			}

			// A test of an hour ago proves nothing about now.
			id, callback = a.try(t, e, e.good(nil))
			a.Get(callback)
			s.Clock.Advance(time.Hour)
			refused("after an hour", id)

			// SIGNIN-35: nothing under /api/auth takes one.
			for _, path := range []string{"/api/auth/providers", "/api/auth/sso/register", "/api/auth/oidc", "/api/auth/sign-in/oidc", "/api/auth/config"} {
				for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
					got := a.Do(method, path, `{"id":"evil","issuer":"https://evil.example","client_id":"x","client_secret":"y"}`, "Content-Type: application/json")
					if got.Status != 404 && got.Status != 405 {
						t.Errorf("%s %s: %d", method, path, got.Status)
					}
				}
			}
			if got := choices(s); got != want {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// FETCH-13: a secret goes with its provider, and to no other.
func TestAProvidersSecretGoesWithIt(t *testing.T) {
	t.Parallel()
	e, other := newIssuer(t, signin.OpenIDConnect), newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	a := newAdmin(t, s)
	add := func(e *issuer) {
		t.Helper()
		id, callback := a.try(t, e, e.good(nil))
		if got := a.Get(callback); got.Location().Query().Get("trial") != id {
			t.Fatal(got.Location())
		}
		if err := a.add(t, id); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (names string) {
		s.DB.QueryRow("select coalesce(string_agg(name || ' for ' || reader || ' ' || (recipient = $1)::text, ',' order by name), '') from secret_ciphertext",
			[]any{string(s.Vault.Recipient())}, &names)
		return names
	}
	add(e)
	if got := kept(); got != "sign_in.acme.client_secret for api true" { // SECRET-09
		t.Errorf("kept: %s", got)
	}
	var clear bool
	s.DB.QueryRow("select exists (select from secret_ciphertext x where encode(ciphertext, 'escape') like '%secret%') or exists (select from sign_in_trial)", nil, &clear)
	if clear {
		t.Error("the secret is kept in clear, or the test still is")
	}
	b := s.Browser()
	e.signIn(b, e.good(nil))
	if got := b.Get("/api/v1/whoami").Field("Roles"); got != "[viewer]" {
		t.Fatalf("roles %s", got)
	}

	// In a transaction that fails nothing changes.
	broken := brokenSecrets{s.Secrets()}
	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "acme", broken, s.Clock.Now()); err == nil || kept() == "" || choices(s) == "[]" {
		t.Errorf("a removal that fails: %v, kept %s, choices %s", err, kept(), choices(s))
	}
	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "other", s.Secrets(), s.Clock.Now()); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}

	// The same word for another issuer: whoever came through the old one is out.
	add(other)
	if got := kept(); got != "sign_in.acme.client_secret for api true" {
		t.Errorf("replaced: %s", got)
	}
	if got := b.Get("/api/v1/whoami"); got.Status != 401 {
		t.Errorf("a session of the old issuer: %d %s", got.Status, got.Body)
	}
	var vouched int
	s.DB.QueryRow("select count(*) from person_sign_in where provider = 'acme' and (vouched_domain is not null or group_ids <> '{}')", nil, &vouched)
	if vouched != 0 {
		t.Error("the old issuer still vouches")
	}

	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "acme", s.Secrets(), s.Clock.Now()); err != nil || kept() != "" || choices(s) != "[]" {
		t.Errorf("removed: %v, kept %s, choices %s", err, kept(), choices(s))
	}
	var audited string
	s.DB.QueryRow("select string_agg(action || ' ' || element, ',' order by at, action) from audit_event where action like '%provider'", nil, &audited)
	if audited != "add_sign_in_provider provider acme,add_sign_in_provider provider acme,remove_sign_in_provider provider acme" {
		t.Errorf("audited: %s", audited)
	}

	// NET-10: without its secret it is no way to sign in.
	add(e)
	s.DB.Exec("delete from secret_ciphertext")
	if got := choices(s); got != "[]" {
		t.Errorf("without a secret: %s", got)
	}
}

type brokenSecrets struct{ store.SealedSecrets }

func (brokenSecrets) DeleteProviderSecret(context.Context, pgx.Tx, string) error {
	return errors.New("broken")
}

// FETCH-24, FETCH-19: what is wrong is said of the words; of the network nothing is.
func TestWhatCannotBeTried(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{})
	a := newAdmin(t, s)
	for name, c := range map[string]struct {
		change func(*signin.Provider)
		silent bool
	}{
		"no name":                {func(p *signin.Provider) { p.Name = "" }, false},
		"Google's issuer":        {func(p *signin.Provider) { p.Issuer = signin.GoogleIssuer }, false},
		"nobody there":           {func(p *signin.Provider) { p.Issuer = "http://127.0.0.1:1" }, true},
		"a name that is none":    {func(p *signin.Provider) { p.Issuer = "https://nowhere.invalid" }, true},
		"a private address":      {func(p *signin.Provider) { p.Issuer = "https://10.0.0.1" }, true},
		"no discovery document":  {func(p *signin.Provider) { p.Issuer = e.url + "/other" }, true},
		"another issuer's words": {func(p *signin.Provider) { p.Issuer = e.issuer() + "/" }, true},
	} {
		p := e.provider()
		c.change(&p)
		_, _, err := s.SignInBy.Try(t.Context(), a.Principal, p, "secret")
		_, told := errors.AsType[*signin.InvalidError](err)
		if err == nil || told == c.silent || c.silent && err.Error() != signin.ErrUnreachable.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
	var kept int
	s.DB.QueryRow("select count(*) from sign_in_trial", nil, &kept)
	if kept != 0 {
		t.Errorf("%d tests are kept", kept)
	}
}

// SIGNIN-01, SIGNIN-18, SIGNIN-23: every method through the sample tenant's own
// pages, from the test sign-in on.
func TestEveryProviderOfTheSampleTenant(t *testing.T) {
	t.Parallel()
	tenant, err := sample.New(sample.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(tenant.Handler())
	t.Cleanup(ts.Close)
	s := oauthtest.New(t, oauthtest.Options{GoogleIssuer: ts.URL + sample.GooglePath})
	assign(t, s, store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"})
	assign(t, s, store.Assignment{Role: "curator", Kind: store.ToGroup, Subject: "Data team", Provider: "tarnwick"})
	a := newAdmin(t, s)
	for _, p := range []struct {
		signin.Provider
		secret string
	}{
		{signin.Provider{Kind: signin.Google, Name: "Google", ClientID: sample.GoogleClientID}, sample.GoogleClientSecret},
		{signin.Provider{ID: "tarnwick", Kind: signin.OpenIDConnect, Name: "Tarnwick", Issuer: ts.URL + sample.OpenIDPath, ClientID: sample.OpenIDClientID}, sample.OpenIDClientSecret},
	} {
		id, address, err := s.SignInBy.Try(t.Context(), a.Principal, p.Provider, p.secret)
		if err != nil {
			t.Fatal(err)
		}
		back := a.PostForm(address, "person", "admin@sample.example").Header.Get("Location")
		if got := a.Get(back); got.Location().Query().Get("trial") != id {
			t.Fatal(got.Status, got.Location(), s.Log)
		}
		if err := a.add(t, id); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ path, person, want string }{
		"a person at Google":             {"google", "viewer@sample.example", "[viewer]"},
		"a personal Google account":      {"google", "vera.lindqvist@post.example", "no_role"},
		"one with a company address":     {"google", "front.desk@sample.example", "no_role"},
		"a person at the company's own":  {"oidc?provider=tarnwick", "viewer@sample.example", "[viewer]"},
		"one in a group":                 {"oidc?provider=tarnwick", "curator@sample.example", "[curator viewer]"},
		"an email that is not verified":  {"oidc?provider=tarnwick", "temp@sample.example", "no_email"},
		"a partner of another domain":    {"oidc?provider=tarnwick", "noor@partner.example", "no_role"},
		"somebody of over 200 groups":    {"oidc?provider=tarnwick", "joiner@sample.example", "[viewer]"},
		"the admin, whose role is taken": {"google", "admin@sample.example", "[viewer]"},
	} {
		b := s.Browser()
		start := b.Get("/api/auth/sign-in/" + c.path)
		chosen := b.PostForm(start.Header.Get("Location"), "person", c.person)
		done := b.Get(chosen.Header.Get("Location"))
		got := done.Location().Query().Get("error")
		if got == "" {
			got = b.Get("/api/v1/whoami").Field("Roles")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s (%d %s)", name, got, c.want, done.Status, done.Location())
		}
	}
	noTokenIsKept(t, s)
}

// SIGNIN-31, SIGNIN-33, SIGNIN-34: as far as this package serves them; the gate's
// test has the whole list.
func TestTheRoutesOfTheSignIn(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range signin.New(signin.Config{Dev: &signin.Dev{}}).Routes() {
		got = append(got, r.Method+" "+r.Path)
		if r.Access != 0 || r.AnyOrigin || r.Limit.Max == 0 {
			t.Errorf("%s %s is %+v", r.Method, r.Path, r)
		}
	}
	slices.Sort(got)
	want := []string{
		"GET /api/auth/callback/google", "GET /api/auth/callback/microsoft", "GET /api/auth/callback/oidc", "GET /api/auth/config",
		"GET /api/auth/sign-in/google", "GET /api/auth/sign-in/microsoft", "GET /api/auth/sign-in/oidc", "POST /api/auth/dev-sign-in",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// FETCH-13 SIGNIN-14 SIGNIN-27 OAUTH-14: a provider that is gone leaves its people
// nothing that goes on by itself, and no email that others wait for.
func TestNothingOutlivesItsProvider(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{})
	assign(t, s, store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"})
	a := newAdmin(t, s)
	id, callback := a.try(t, e, e.good(nil))
	a.Get(callback)
	if err := a.add(t, id); err != nil {
		t.Fatal(err)
	}
	b := s.Browser()
	e.signIn(b, e.good(nil))
	person := b.Get("/api/v1/whoami").Field("ID")

	access, refresh := b.Tokens(s.Register())
	device, code := s.StartDevice()
	if got := b.AnswerDevice(code, true); got.Status != 200 {
		t.Fatal(got.Status, got.Body)
	}
	passkey := store.Passkey{PersonID: person, CredentialID: []byte("c"), PublicKey: []byte("k"), Name: "phone", CreatedAt: s.Clock.Now()}
	if _, err := s.Store.AddPasskey(t.Context(), &policies.Principal{Kind: policies.Person, ID: person, Via: policies.ViaBrowser}, passkey); err != nil {
		t.Fatal(err)
	}
	byPasskey := func(secret string) error {
		now := s.Clock.Now()
		_, err := s.Store.SignInByPasskey(t.Context(), store.PasskeyUse{PersonID: person, CredentialID: passkey.CredentialID},
			store.NewSession{Digest: store.Digest(secret), Provider: store.ByPasskey, At: now, ExpiresAt: now.Add(time.Hour)}, store.SignInOptions{})
		return err
	}
	if err := byPasskey("before"); err != nil {
		t.Fatal(err)
	}
	passkeySession := "Cookie: " + session.Cookie + "=before"
	if got := s.Browser().Get("/api/v1/whoami", passkeySession); got.Status != 200 || s.Call(access) != 200 {
		t.Fatalf("before: %d %s", got.Status, got.Body)
	}

	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "acme", s.Secrets(), s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if got := s.Browser().Get("/api/v1/whoami", passkeySession); got.Status != 401 {
		t.Errorf("a session of a passkey: %d", got.Status)
	}
	if err := byPasskey("after"); !errors.Is(err, store.ErrSignInDue) {
		t.Errorf("a sign-in by passkey: %v", err)
	}
	if got := s.Call(access); got != 401 {
		t.Errorf("an access token: %d", got)
	}
	if got := s.Refresh("any", refresh); got.Status != 400 && got.Status != 401 {
		t.Errorf("a refresh token: %d %s", got.Status, got.Body)
	}
	if got := s.Poll(device); got.Status != 400 {
		t.Errorf("a device that was let in: %d %s", got.Status, got.Body)
	}
	if got := a.Get("/api/v1/whoami"); got.Status != 200 {
		t.Errorf("an admin of another provider: %d", got.Status)
	}

	// What is assigned from now on waits for whoever is known by the email next.
	assign(t, s, store.Assignment{Role: "pii_reader", Kind: store.ToPerson, Subject: "ada@sample.example"})
	if got := s.SignIn("ada@sample.example", oauthtest.ViewerID).Get("/api/v1/whoami").Field("Roles"); !strings.Contains(got, "pii_reader") || strings.Contains(got, "curator") {
		t.Errorf("the next with the email: %s", got)
	}
}

// ROLES-37: a provider stays while every admin comes through it, and an admin whose
// provider is gone does not count as one.
func TestTheLastAdminsProviderStays(t *testing.T) {
	t.Parallel()
	e := newIssuer(t, signin.OpenIDConnect)
	s := oauthtest.New(t, oauthtest.Options{})
	assign(t, s, store.Assignment{Role: "admin", Kind: store.ToPerson, Subject: "ada@sample.example"})
	a := newAdmin(t, s)
	id, callback := a.try(t, e, e.good(nil))
	a.Get(callback)
	if err := a.add(t, id); err != nil {
		t.Fatal(err)
	}
	e.signIn(s.Browser(), e.good(nil))
	own := func() (id string) {
		s.DB.QueryRow("select id::text from role_assignment where role = 'admin' and person_id = $1", []any{a.ID}, &id)
		return id
	}()
	s.DB.Exec("update role_assignment set person_id = null where id = $1", own)
	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "acme", s.Secrets(), s.Clock.Now()); !errors.Is(err, store.ErrLastAdmin) || choices(s) == "[]" {
		t.Errorf("while nobody else is an admin: %v", err)
	}
	s.DB.Exec("update role_assignment set person_id = $1 where id = $2", a.ID, own)
	if _, err := s.Store.RemoveProvider(t.Context(), a.Principal, "acme", s.Secrets(), s.Clock.Now()); err != nil {
		t.Errorf("while somebody else is: %v", err)
	}
	if _, err := s.Store.Revoke(t.Context(), a.Principal, own); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("revoking the one who can sign in: %v", err)
	}
}
