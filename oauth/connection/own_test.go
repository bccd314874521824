package connection_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store"
)

// signedIn makes a person one who came through a provider with a verified email.
func (f *fixture) signedIn(who, provider, email string, verified bool) {
	f.db.Exec(`insert into person_sign_in (person_id, provider, email, email_verified, signed_in_at) values ($1, $2, $3, $4, now())`,
		f.people[who].ID, provider, email, verified)
}

// knownBy gives a person the account of a sign-in through Microsoft.
func (f *fixture) knownBy(who, oid string) {
	f.db.Exec(`insert into person_identity (person_id, object_id, signed_in_at) values ($1, $2, now())`, f.people[who].ID, oid)
}

func (f *fixture) try(who, oid string) string {
	f.Helper()
	return f.finish(who, f.start(who, "/account"), oid)
}

const identities = "select concat_ws('|', p.name, right(i.object_id::text, 1)) from person_identity i join person p on p.id = i.person_id"

// SIGNIN-21, CONN-13, VIS-18: with the setting off and on, the own account and
// another one.
func TestGroupsThatGiveRolesAreOfTheOwnAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ownOnly bool
		known   string // the account of a sign-in through Microsoft
		connect string
		back    string
		roles   string
	}{
		"off, came through Microsoft, own account":     {false, oid1, oid1, "connected", "[curator viewer]"},
		"off, came through Microsoft, another account": {false, oid1, oid2, "connected", "[viewer]"},
		"off, came through Google, own account":        {false, "", oid1, "connected", "[]"},
		"off, came through Google, another account":    {false, "", oid2, "connected", "[]"},
		"on, came through Microsoft, own account":      {true, oid1, oid1, "connected", "[curator viewer]"},
		"on, came through Microsoft, another account":  {true, oid1, oid2, "not_own", "[viewer]"},
		"on, came through Google, own account":         {true, "", oid1, "connected", "[curator viewer]"},
		"on, came through Google, another account":     {true, "", oid2, "not_own", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.ownOnly.Store(c.ownOnly)
			f.entra.emails = map[string]string{oid1: "A@sample.example", oid2: "shared@sample.example"}
			f.signedIn("a", "google", "a@sample.example", true)
			if c.known != "" {
				f.knownBy("a", c.known)
			}
			people := store.New(f.db.API(), setting.Base{})
			for _, a := range []store.Assignment{
				{Role: "curator", Kind: store.ToGroup, Subject: grp, Provider: store.Microsoft},
				{Role: "viewer", Kind: store.ToTenant},
				{Role: "admin", Kind: store.ToGroup, Subject: grp, Provider: "google"},
			} {
				if _, err := people.AssignRole(t.Context(), a, f.now()); err != nil {
					t.Fatal(err)
				}
			}
			before := f.text(identities)
			if got := f.try("a", c.connect); got != "/account?power_bi="+c.back {
				t.Errorf("came back to %s, want %s", got, c.back)
			}
			roles := func() string {
				who, err := people.CallerByPerson(t.Context(), f.people["a"].ID, f.now())
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(who.Roles)
			}
			if got := roles(); got != c.roles {
				t.Errorf("roles %s, want %s", got, c.roles)
			}
			if after := f.text(identities); !c.ownOnly && after != before {
				t.Errorf("identities %s, before %s", after, before)
			}

			// CONN-19, CONN-20: what was read over a connection ages, and ends with it.
			if c.back == "connected" && c.roles == "[curator viewer]" {
				f.db.Exec("update powerbi_connection set groups_read_at = now() - interval '7 days' - interval '1 hour'")
				want := "[viewer]"
				if c.known == "" {
					want = "[]"
				}
				if got := roles(); got != want {
					t.Errorf("a week later: roles %s, want %s", got, want)
				}
				f.db.Exec("update powerbi_connection set groups_read_at = now() - interval '6 days' - interval '23 hours'")
				if got := roles(); got != c.roles {
					t.Errorf("within the week: roles %s", got)
				}
				if err := f.conns.Disconnect(t.Context(), f.people["a"]); err != nil {
					t.Fatal(err)
				}
				if got := roles(); got != want {
					t.Errorf("disconnected: roles %s, want %s", got, want)
				}
			}
		})
	}
}

// CONN-14, CONN-15, CONN-16
func TestOnlyTheOwnAccountCanBeConnected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(f *fixture)
		oid     string
		want    string
		known   string // who is known by which account afterwards
	}{
		"the account on record":                    {func(f *fixture) { f.knownBy("a", oid1) }, oid1, "connected", "a|1"},
		"another one":                              {func(f *fixture) { f.knownBy("a", oid2) }, oid1, "not_own", "a|2"},
		"another one with the person's email":      {func(f *fixture) { f.knownBy("a", oid2); f.signedIn("a", "google", "own@sample.example", true) }, oid1, "not_own", "a|2"},
		"none on record, the verified email":       {func(f *fixture) { f.signedIn("a", "acme", "OWN@sample.example", true) }, oid1, "connected", "a|1"},
		"none on record, an email not verified":    {func(f *fixture) { f.signedIn("a", "acme", "own@sample.example", false) }, oid1, "not_own", ""},
		"none on record, another email":            {func(f *fixture) { f.signedIn("a", "acme", "a@sample.example", true) }, oid1, "not_own", ""},
		"none on record, somebody else's email":    {func(f *fixture) { f.signedIn("b", "acme", "own@sample.example", true) }, oid1, "not_own", ""},
		"none on record, an account without email": {func(f *fixture) { f.signedIn("a", "acme", "", true) }, oid2, "not_own", ""},
		"somebody else's account":                  {func(f *fixture) { f.knownBy("b", oid1); f.signedIn("a", "acme", "own@sample.example", true) }, oid1, "not_own", "b|1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.ownOnly.Store(true)
			f.entra.emails = map[string]string{oid1: "own@sample.example"}
			c.prepare(f)
			if got := f.try("a", c.oid); got != "/account?power_bi="+c.want {
				t.Errorf("came back to %s, want %s", got, c.want)
			}
			if got := f.text(identities); got != c.known {
				t.Errorf("identities %q, want %q", got, c.known)
			}
			connected := f.text("select state from powerbi_connection")
			audited := f.text("select concat_ws(' ', outcome, nullif(reason, '')) from audit_event")
			if c.want == "connected" && (connected != "connected" || audited != "allow") || c.want != "connected" && (connected != "" || audited != "deny not_own") {
				t.Errorf("connection %q, audit %q", connected, audited)
			}
		})
	}
}

// CONN-16: both rows, or none.
func TestAnAccountThatIsNotConnectedIsNotClaimed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownOnly.Store(true)
	f.entra.emails = map[string]string{oid1: "own@sample.example"}
	f.signedIn("a", "acme", "own@sample.example", true)
	f.db.Exec("create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$")
	f.db.Exec("create trigger refuse before insert on powerbi_connection for each row execute function refuse()")
	if got := f.try("a", oid1); got != "/account?power_bi=unavailable" {
		t.Errorf("came back to %s", got)
	}
	if got := f.text(identities); got != "" {
		t.Errorf("identities %q", got)
	}
}

// CONN-17
func TestTwoWhoClaimOneAccountAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownOnly.Store(true)
	f.entra.emails = map[string]string{oid1: "own@sample.example"}
	for _, who := range []string{"a", "b"} {
		f.signedIn(who, "acme", "own@sample.example", true)
	}
	f.entra.atOnce = true
	states := map[string]string{}
	for _, who := range []string{"a", "b"} {
		states[who] = f.start(who, "/account")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	came := map[string]int{}
	for who, state := range states {
		wg.Go(func() {
			to := f.finish(who, state, oid1)
			mu.Lock()
			defer mu.Unlock()
			came[to]++
		})
	}
	wg.Wait()
	if came["/account?power_bi=connected"] != 1 || came["/account?power_bi=not_own"] != 1 {
		t.Errorf("came back to %v", came)
	}
	var known, connected int
	f.db.QueryRow("select (select count(*) from person_identity), (select count(*) from powerbi_connection where state = 'connected')", nil, &known, &connected)
	if known != 1 || connected != 1 {
		t.Errorf("%d identities, %d connections", known, connected)
	}
}
