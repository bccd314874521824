package connection_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/oauth/connection"
	synccheck "github.com/pbmb/pbmb/sync/check"
	"github.com/pbmb/pbmb/sync/sample"
)

// reaches says that a role reaches some people and nobody else.
func reaches(ids ...string) func(context.Context, string) (bool, error) {
	return func(_ context.Context, id string) (bool, error) { return slices.Contains(ids, id), nil }
}

// aged makes it a while since anybody's groups were read.
func (f *fixture) aged(d time.Duration) {
	f.Helper()
	f.db.Exec(fmt.Sprintf("update powerbi_connection set groups_read_at = groups_read_at - interval '%d seconds'", int(d.Seconds())))
}

// CONN-22: an account that Microsoft takes no longer is not renewed, and one that it
// does take is, its groups included.
func TestAnIdleConnectionIsRenewedWhileMicrosoftTakesIt(t *testing.T) {
	t.Parallel()
	s := newSampleFixture(t, sample.Config{Log: slog.New(slog.DiscardHandler)})
	a, b := s.people["a"].ID, s.people["b"].ID
	s.connect("a", "viewer@sample.example")
	s.connect("b", "curator@sample.example")
	if n, err := s.conns.RefreshIdle(t.Context(), reaches()); n != 0 || err != nil {
		t.Errorf("just connected: %d are renewed, %v", n, err)
	}
	s.aged(25 * time.Hour)
	before := s.text("select string_agg(encode(refresh_token, 'hex'), ' ' order by person_id) from powerbi_connection")
	if n, err := s.conns.RefreshIdle(t.Context(), reaches()); n != 2 || err != nil {
		t.Errorf("a day later %d are renewed, %v", n, err)
	}
	after := s.text("select string_agg(encode(refresh_token, 'hex'), ' ' order by person_id) from powerbi_connection")
	old := strings.Fields(before)
	for _, now := range strings.Fields(after) {
		if slices.Contains(old, now) {
			t.Error("a refresh token stayed")
		}
	}
	if n := s.text("select count(*)::text from powerbi_connection where groups_read_at > now() - interval '1 hour' and cardinality(group_ids) > 0"); n != "2" {
		t.Errorf("the groups of %s are read", n)
	}

	resp, err := (&http.Client{Transport: fetchtest.Transport}).Post(s.url+"/_sample/people/disable", "application/json", strings.NewReader(`{"person": "viewer@sample.example"}`))
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	s.aged(25 * time.Hour)
	if n, err := s.conns.RefreshIdle(t.Context(), reaches(a, b)); n != 1 || err != nil {
		t.Errorf("with one disabled %d are renewed, %v", n, err)
	}
	if got := s.text("select count(*)::text from powerbi_connection where person_id = $1 and groups_read_at > now() - interval '1 hour'", a); got != "0" {
		t.Error("the groups of the disabled account count as just read")
	}
}

// CONN-23: the token for Power BI is renewed for whom a role reaches, the refresh
// token for both, and it is the groups that are asked for first.
func TestOnlyWhoHasARoleGetsATokenForPowerBI(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.connect("b", oid2)
	f.aged(25 * time.Hour)
	f.pass(2 * time.Hour) // the access tokens have ended
	f.entra.mu.Lock()
	f.entra.scopes = nil
	f.entra.mu.Unlock()
	live := func() string {
		return f.text("select string_agg(encode(refresh_token, 'hex'), ' ' order by person_id) from powerbi_connection")
	}
	before := strings.Fields(live())
	if n, err := f.conns.RefreshIdle(t.Context(), reaches(f.people["a"].ID)); n != 2 || err != nil {
		t.Fatalf("%d are renewed, %v", n, err)
	}
	for i, now := range strings.Fields(live()) {
		if now == before[i] {
			t.Error("a refresh token stayed")
		}
	}
	var graph, powerBI int
	for _, scopes := range f.entra.scopes {
		if strings.Contains(scopes[0], "graph") {
			graph++
		} else if powerBI++; graph == 0 {
			t.Error("Power BI was asked for before the groups")
		}
	}
	if graph != 2 || powerBI != 1 {
		t.Errorf("asked for Graph %d times and for Power BI %d times, want 2 and 1", graph, powerBI)
	}
	if got := f.text("select count(*)::text from powerbi_connection where access_expires_at > $1", f.now()); got != "1" {
		t.Errorf("%s have a token for Power BI", got)
	}
}

// One connection that fails does not keep others from being renewed; Microsoft's
// own fault ends the run, which comes again.
func TestAFaultEndsTheRenewal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.connect("b", oid2)
	f.aged(25 * time.Hour)
	f.graph.err = errors.New("503")
	n, err := f.conns.RefreshIdle(t.Context(), reaches())
	if n != 0 || err != nil {
		t.Errorf("with two failing: %d, %v", n, err)
	}
	for i := range 4 {
		f.db.Exec(fmt.Sprintf(`with p as (insert into person (email, name) values ('p%d@sample.example', 'p') returning id)
			insert into powerbi_connection (person_id, state, object_id, access_token, access_expires_at, refresh_token)
			select p.id, 'connected', gen_random_uuid(), '\x00', now(), '\x00' from p`, i))
	}
	if n, err = f.conns.RefreshIdle(t.Context(), reaches()); n != 0 || err == nil {
		t.Errorf("with six failing: %d, %v", n, err)
	}
	if got := f.text("select count(*)::text from powerbi_connection where state = 'connected'"); got != "6" {
		t.Errorf("%s are left", got)
	}
}

// connected gives the check of the app registration what a connection shows.
type connected struct{ *connection.Connections }

func (c connected) Consented(ctx context.Context) (powerBI, graph []string, err error) {
	powerBI, graph, err = c.Connections.Consented(ctx)
	if errors.Is(err, connection.ErrNotConnected) {
		err = synccheck.ErrNoOne
	}
	return powerBI, graph, err
}

// FETCH-25, FETCH-26, CONN-33: what the tenant's admin consented to shows at once, and the
// connection that it is learnt by goes on. No access token of the check is kept.
func TestWhatWasConsentedToShows(t *testing.T) {
	t.Parallel()
	s := newSampleFixture(t, sample.Config{NeededOnly: true, Log: slog.New(slog.DiscardHandler)})
	ask := synccheck.AppRegistration(s.app, connected{s.conns})
	ends := func(when string, want check.Code, names ...string) {
		t.Helper()
		err := ask(t.Context())
		e, _ := errors.AsType[*check.Error](err)
		if want == "" && err != nil || want != "" && (e == nil || e.Code != want || !slices.Equal(e.Names, names)) {
			t.Errorf("%s: ends with %v, want %q with %q", when, err, want, names)
		}
	}
	consent := func(how, resource, permission string) {
		t.Helper()
		resp, err := (&http.Client{Transport: fetchtest.Transport}).Post(s.url+"/_sample/consents/"+how, "application/json", strings.NewReader(fmt.Sprintf(`{"resource": %q, "permission": %q}`, resource, permission)))
		if err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	ends("nobody is connected", check.NoOne)
	if got := s.connect("a", "viewer@sample.example"); got != "/account?power_bi=connected" {
		t.Fatalf("came back to %s", got)
	}
	const held = "select encode(access_token, 'hex') from powerbi_connection"
	before := s.text(held)
	ends("the exact set", "")
	if s.text(held) != before || before == "" {
		t.Error("the check changed the access token")
	}
	for _, extra := range [][2]string{{"powerbi", "Report.ReadWrite.All"}, {"graph", "Mail.Read"}} {
		consent("give", extra[0], extra[1])
		ends("one more", check.TooMuch, extra[1])
		consent("take", extra[0], extra[1])
	}
	consent("give", "powerbi", "Tenant.Read.All")
	ends("the tenant, to read", check.TenantRead)
	consent("give", "powerbi", "Tenant.ReadWrite.All")
	ends("the tenant, to write", check.TenantWrite)
	consent("take", "powerbi", "Tenant.Read.All")
	consent("take", "powerbi", "Tenant.ReadWrite.All")
	ends("the exact set again", "")
	s.pass(2 * time.Hour)
	if _, err := s.conns.Token(t.Context(), s.people["a"].ID); err != nil {
		t.Errorf("the connection does not go on: %v", err)
	}
	if err := s.tenant.RevokeTokens("viewer@sample.example"); err != nil {
		t.Fatal(err)
	}
	ends("Microsoft ended the only connection", check.NoOne)
}
