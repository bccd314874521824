package signin_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
)

const devPath = "/api/auth/dev-sign-in"

func open(t *testing.T, e *issuer) *oauthtest.Server {
	t.Helper()
	opt := oauthtest.Options{Dev: &signin.Dev{Known: func(email string) (signin.Known, bool) {
		if email == "known@sample.example" {
			return signin.Known{ObjectID: oauthtest.OtherID, Name: "Known Person"}, true
		}
		return signin.Known{}, false
	}}}
	if e != nil {
		opt.Providers = e.providers()
	}
	s := oauthtest.New(t, opt)
	if _, err := s.Store.AssignRole(t.Context(), store.Assignment{Role: "viewer", Kind: store.ToDomain, Subject: "sample.example"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return s
}

func devSignIn(b *oauthtest.Browser, email, objectID string) oauthtest.Answer {
	body := map[string]string{"email": email}
	if objectID != "" {
		body["oid"] = objectID
	}
	return b.PostJSON(devPath, body)
}

// SIGNIN-37: package config says when it is open.
func TestDevSignInIsNotServedWhileShut(t *testing.T) {
	t.Parallel()
	shut := oauthtest.New(t, oauthtest.Options{})
	if a := devSignIn(shut.Browser(), "viewer@sample.example", ""); a.Status != http.StatusNotFound {
		t.Errorf("shut: %d", a.Status)
	}
}

// SIGNIN-38, SIGNIN-42
func TestDevSignInMakesTheMicrosoftAccount(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := open(t, e)
	b := s.Browser()
	if a := devSignIn(b, "ada@sample.example", strings.ToUpper(oauthtest.ViewerID)); a.Status != http.StatusOK || a.Field("email") != "ada@sample.example" {
		t.Fatal(a.Status, a.Body)
	}
	dev := b.Get("/api/v1/whoami")
	if dev.Field("Roles") != "[viewer]" || dev.Field("ObjectIDs") != "["+oauthtest.ViewerID+"]" {
		t.Errorf("%s", dev.Body)
	}
	real := s.Browser()
	if a := e.signIn(real, func(n string) string { return e.sign(e.claims(n, nil)) }); a.Location().Path != "/datasets" {
		t.Fatal(a.Status, a.Location())
	}
	if got := real.Get("/api/v1/whoami").Field("ID"); got != dev.Field("ID") {
		t.Errorf("a Microsoft sign-in finds %s, the dev sign-in made %s", got, dev.Field("ID"))
	}
	known := s.Browser()
	if a := devSignIn(known, "known@sample.example", ""); a.Field("name") != "Known Person" {
		t.Fatal(a.Status, a.Body)
	}
	if got := known.Get("/api/v1/whoami").Field("ObjectIDs"); got != "["+oauthtest.OtherID+"]" {
		t.Errorf("somebody whom the sample tenant knows: %s", got)
	}
	unknown := s.Browser()
	if a := devSignIn(unknown, "unknown@sample.example", ""); a.Status != http.StatusOK {
		t.Fatal(a.Status, a.Body)
	}
	if got := unknown.Get("/api/v1/whoami").Field("ObjectIDs"); got != "[]" {
		t.Errorf("somebody without an object id: %s", got)
	}
	rows, err := s.DB.API().Query(t.Context(), "select provider || ' ' || account_id || ' ' || scope from account order by 1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{
		"dev unknown@sample.example dev-sign-in",
		"microsoft " + oauthtest.ViewerID + " dev-sign-in",
		"microsoft " + oauthtest.OtherID + " dev-sign-in",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("accounts %q, want %q (%v)", got, want, err)
	}
}

// SIGNIN-03, SIGNIN-39, SIGNIN-40, SIGNIN-41
func TestDevSignInJoinsNobody(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	now := s.Clock.Now()
	google, err := s.Store.SignIn(t.Context(), store.SignIn{
		Provider: "google", AccountID: "1", Email: "ada@sample.example", EmailVerified: true, VouchedDomain: "sample.example",
	}, store.NewSession{Digest: []byte("g"), Provider: "google", At: now, ExpiresAt: now.Add(time.Hour)}, store.SignInOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := devSignIn(s.Browser(), "ada@sample.example", oauthtest.ViewerID)
	if a.Status != http.StatusOK || a.Field("person_id") == google.PersonID {
		t.Errorf("an email that another provider's person has: %d %s", a.Status, a.Body)
	}
	for name, c := range map[string]struct {
		email, objectID string
		want            int
	}{
		"somebody else's object id":          {"bob@sample.example", oauthtest.ViewerID, 409},
		"the same in upper case":             {"bob@sample.example", strings.ToUpper(oauthtest.ViewerID), 409},
		"another object id":                  {"ada@sample.example", oauthtest.OtherID, 409},
		"another, email in upper case":       {"ADA@sample.example", oauthtest.OtherID, 409},
		"not a uuid":                         {"ada@sample.example", "ada", 400},
		"not an email":                       {"ada", "", 400},
		"nobody":                             {"", "", 400},
		"somebody whom no role reaches":      {"bob@elsewhere.example", "", 403},
		"the same person with the same oid":  {"ada@sample.example", oauthtest.ViewerID, 200},
		"the same person, email differently": {"Ada@sample.example", oauthtest.ViewerID, 200},
	} {
		var before, after string
		s.DB.QueryRow("select coalesce(string_agg(a::text, ',' order by a::text), '') from account a", nil, &before)
		a := devSignIn(s.Browser(), c.email, c.objectID)
		s.DB.QueryRow("select coalesce(string_agg(a::text, ',' order by a::text), '') from account a", nil, &after)
		if a.Status != c.want || before != after {
			t.Errorf("%s: %d %s, want %d; accounts %s, before %s", name, a.Status, a.Body, c.want, after, before)
		}
		if a.Status != http.StatusOK && len(a.Header.Values("Set-Cookie")) != 0 {
			t.Errorf("%s: sets a cookie", name)
		}
	}
	if a := s.Browser().Do("POST", devPath, "email=ada@sample.example", "Content-Type: application/x-www-form-urlencoded"); a.Status != http.StatusBadRequest {
		t.Errorf("a form: %d", a.Status)
	}
}

// SIGNIN-43, SIGNIN-44
func TestWhatTheDevSignInLeftBehindIsRefused(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	s := oauthtest.New(t, oauthtest.Options{Providers: e.providers()})
	if err := signin.CheckDevShut(t.Context(), s.Store); err != nil {
		t.Fatal(err)
	}
	s.DB.Exec("insert into person (id, email) values ('33333333-3333-4333-8333-333333333333', 'ada@sample.example')")
	s.DB.Exec("insert into account (provider, account_id, person_id, scope) values ('microsoft', $1, '33333333-3333-4333-8333-333333333333', 'dev-sign-in')", oauthtest.ViewerID)
	s.DB.Exec("insert into person_sign_in (person_id, provider, email, email_verified) values ('33333333-3333-4333-8333-333333333333', 'dev', 'ada@sample.example', true)")
	a := e.signIn(s.Browser(), func(n string) string { return e.sign(e.claims(n, nil)) })
	if a.Location().Query().Get("error") != "dev_sign_in_account" {
		t.Errorf("the callback: %d %s", a.Status, a.Location())
	}
	err := signin.CheckDevShut(t.Context(), s.Store)
	if err == nil {
		t.Fatal("the api would start")
	}
	for _, want := range []string{"account", oauthtest.ViewerID, "person_sign_in", "ada@sample.example"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %s", want, err)
		}
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if statement := strings.TrimSpace(line); strings.HasPrefix(statement, "delete ") {
			s.DB.Exec(statement)
		}
	}
	if err := signin.CheckDevShut(t.Context(), s.Store); err != nil {
		t.Errorf("after the statements: %v", err)
	}
}

// NET-10, NET-11, TENANT-20
func TestConfigSaysWhatIsOpen(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	for name, c := range map[string]struct {
		opt  oauthtest.Options
		want string
	}{
		"nothing":    {oauthtest.Options{}, `{"providers":[],"passkeys":true,"dev_sign_in":false,"sample_data":false}`},
		"all of it":  {oauthtest.Options{Providers: e.providers(), Dev: &signin.Dev{}}, `{"providers":[{"id":"microsoft","kind":"microsoft","name":"Microsoft"}],"passkeys":true,"dev_sign_in":true,"sample_data":true}`},
		"real Entra": {oauthtest.Options{Providers: []signin.Provider{signin.NewMicrosoft("https://login.microsoftonline.com", "marked", "marked", nil)}}, `{"providers":[{"id":"microsoft","kind":"microsoft","name":"Microsoft"}],"passkeys":true,"dev_sign_in":false,"sample_data":false}`},
	} {
		a := oauthtest.New(t, c.opt).Browser().Get("/api/auth/config")
		if got := strings.TrimSpace(a.Body); a.Status != http.StatusOK || got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s: %d %s", name, a.Status, got)
		}
	}
}
