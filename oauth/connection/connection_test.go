package connection_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/policies"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

const (
	oid1 = "0e100000-0000-4000-8000-000000000001"
	oid2 = "0e100000-0000-4000-8000-000000000002"
	grp  = "9e100000-0000-4000-8000-000000000001"
)

// A refusal is how Entra refuses.
type refusal string

func (r refusal) Error() string     { return "refused: " + string(r) }
func (r refusal) OAuthCode() string { return string(r) }

// A fakeEntra hands out tokens that name their owner, and takes a refresh token once.
type fakeEntra struct {
	mu      sync.Mutex
	n       int
	now     func() time.Time
	sent    url.Values // of the last authorize address
	scopes  [][]string // of the requests for tokens
	live    map[string]string
	refused error // what a refresh answers
	verify  error
	emails  map[string]string // that the tokens vouch for, by object id
	atOnce  bool              // several connects are under way: none is told from another
	holding chan struct{}     // a refresh waits for it, where it is set
	waiting chan struct{}     // told of each refresh that begins
}

func (e *fakeEntra) AuthorizeURL(redirectURI, state, nonce, challenge string, scopes []string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scopes = append(e.scopes, scopes)
	e.sent = url.Values{"redirect_uri": {redirectURI}, "state": {state}, "nonce": {nonce}, "challenge": {challenge}}
	return "https://entra.example/authorize?" + e.sent.Encode()
}

// Exchange takes a code that is the account's object id.
func (e *fakeEntra) Exchange(_ context.Context, redirectURI, code, verifier string, scopes []string) (*oauth2.Token, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.atOnce && oauth2.S256ChallengeFromVerifier(verifier) != e.sent.Get("challenge") || redirectURI != e.sent.Get("redirect_uri") {
		return nil, refusal("invalid_grant")
	}
	if code == "fault" {
		return nil, errors.New("503")
	}
	return e.issue(code, scopes).WithExtra(map[string]any{"id_token": code}), nil
}

func (e *fakeEntra) issue(of string, scopes []string) *oauth2.Token {
	e.n++
	e.scopes = append(e.scopes, scopes)
	t := &oauth2.Token{
		AccessToken: fmt.Sprint("SECRET-access-", of, "-", e.n), RefreshToken: fmt.Sprint("SECRET-refresh-", of, "-", e.n), Expiry: e.now().Add(time.Hour),
	}
	e.live[t.RefreshToken] = of
	return t
}

func (e *fakeEntra) Refresh(_ context.Context, token string, scopes []string) (*oauth2.Token, error) {
	e.mu.Lock()
	holding, waiting := e.holding, e.waiting
	e.mu.Unlock()
	if waiting != nil {
		waiting <- struct{}{}
	}
	if holding != nil {
		<-holding
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused != nil {
		return nil, e.refused
	}
	of, ok := e.live[token]
	if !ok {
		return nil, refusal("invalid_grant")
	}
	delete(e.live, token)
	return e.issue(of, scopes), nil
}

func (e *fakeEntra) Verify(_ context.Context, idToken, nonce string) (string, string, string, error) {
	if e.verify != nil {
		return "", "", "", e.verify
	}
	if nonce != e.sent.Get("nonce") && !e.atOnce {
		return "", "", "", errors.New("another nonce")
	}
	return idToken, idToken[len(idToken)-1:] + "@north.example", e.emails[idToken], nil
}

type fakeGraph struct {
	groups []string
	err    error
	before func()
}

func (g *fakeGraph) GroupIDs(context.Context, string) ([]string, error) {
	if g.before != nil {
		g.before()
	}
	return g.groups, g.err
}

// A fixture is a deployment with two people who each have a session.
type fixture struct {
	*testing.T
	db     *postgrestest.Database
	entra  *fakeEntra
	graph  *fakeGraph
	conns  *connection.Connections
	routes map[string]http.HandlerFunc
	people map[string]*policies.Principal // by the session's cookie

	ownOnly atomic.Bool // powerbi.connection_requires_matching_email

	mu sync.Mutex
	at time.Time
}

func (f *fixture) now() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.at }

func (f *fixture) pass(d time.Duration) { f.mu.Lock(); defer f.mu.Unlock(); f.at = f.at.Add(d) }

func (f *fixture) Session(r *http.Request) (*policies.Principal, error) {
	if p := f.people[r.Header.Get("Cookie")]; p != nil {
		return p, nil
	}
	return nil, authn.ErrUnauthenticated
}

func (f *fixture) onlyOwn(context.Context) (bool, error) { return f.ownOnly.Load(), nil }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, db: postgrestest.New(t), graph: &fakeGraph{groups: []string{grp}}, at: time.Now().Truncate(time.Second), people: map[string]*policies.Principal{}}
	f.entra = &fakeEntra{now: f.now, live: map[string]string{}}
	v, err := vault.FromFile(filepath.Join(t.TempDir(), "identity"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		var id string
		f.db.QueryRow("insert into person (email, name) values ($1 || '@sample.example', $1) returning id::text", []any{name}, &id)
		var session string
		f.db.QueryRow("select gen_random_uuid()::text", nil, &session)
		f.people[name] = &policies.Principal{Kind: policies.Person, ID: id, Name: name, Via: policies.ViaBrowser, Credential: session}
	}
	f.people["a again"] = &policies.Principal{Kind: policies.Person, ID: f.people["a"].ID, Via: policies.ViaBrowser}
	f.db.QueryRow("select gen_random_uuid()::text", nil, &f.people["a again"].Credential)

	f.conns = connection.New(f.db.API(), v, f.entra, f.graph, f.onlyOwn, f.now, slog.New(slog.DiscardHandler))
	site, err := protocol.NewSite("https://pbmb.example")
	if err != nil {
		t.Fatal(err)
	}
	h := &connection.Handler{Connections: f.conns, Sessions: f, Site: site, Audit: audit.NewWriter(f.db.API()), SafeNext: signin.SafeNext}
	f.routes = map[string]http.HandlerFunc{}
	for _, r := range h.Routes() {
		if r.Method != http.MethodGet || r.Access == protocol.Anyone {
			t.Errorf("route %+v", r)
		}
		f.routes[r.Path] = r.Handler
	}
	return f
}

// get asks as the browser with a session and returns the answer.
func (f *fixture) get(session, address string) *http.Response {
	f.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("Cookie", session)
	w := httptest.NewRecorder()
	f.routes[r.URL.Path](w, r)
	return w.Result()
}

// start begins a connect and returns its state.
func (f *fixture) start(session, next string) string {
	f.Helper()
	resp := f.get(session, connection.StartPath+"?next="+url.QueryEscape(next))
	if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(resp.Header.Get("Location"), "https://entra.example/") {
		f.Fatalf("start answered %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	return f.entra.sent.Get("state")
}

// finish returns where the callback sends the browser.
func (f *fixture) finish(session, state, code string) string {
	f.Helper()
	resp := f.get(session, connection.CallbackPath+"?"+url.Values{"state": {state}, "code": {code}, "session_state": {"x"}}.Encode())
	if resp.StatusCode != http.StatusSeeOther {
		f.Fatalf("callback answered %d", resp.StatusCode)
	}
	return resp.Header.Get("Location")
}

func (f *fixture) connect(session, oid string) {
	f.Helper()
	if got := f.finish(session, f.start(session, "/account"), oid); got != "/account?power_bi=connected" {
		f.Fatalf("came back to %s", got)
	}
}

func (f *fixture) text(query string, args ...any) string {
	f.Helper()
	var s string
	f.db.QueryRow("select coalesce(string_agg(x, ' ' order by x), '') from ("+query+") q(x)", args, &s)
	return s
}

const rows = "select concat_ws('|', p.name, c.state, right(c.object_id::text, 1), c.account, c.access_token is not null, c.refresh_token is not null, cardinality(c.group_ids), c.groups_read_at is not null) from powerbi_connection c join person p on p.id = c.person_id"

const audits = "select concat_ws('|', action, outcome, reason, principal_name, right(detail->>'object_id', 1)) from audit_event"

// CONN-01, CONN-10, CONN-13, CONN-24, CONN-33
func TestConnect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	if got := f.text(rows); got != "a|connected|1|1@north.example|t|t|1|t" {
		t.Errorf("got the row %s", got)
	}
	if got := f.text(audits); got != "connect_power_bi|allow||a|1" {
		t.Errorf("got the audit %s", got)
	}
	if got := f.text("select person_id::text from person_identity"); got != "" {
		t.Errorf("an identity was written: %s", got)
	}
	token, err := f.conns.Token(t.Context(), f.people["a"].ID)
	if want := (connection.Token{Access: "SECRET-access-" + oid1 + "-1", ObjectID: oid1, Account: "1@north.example"}); err != nil || token != want {
		t.Errorf("got %+v, %v", token, err)
	}
	powerBI := []string{"https://analysis.windows.net/powerbi/api/Dataset.Read.All", "offline_access", "openid", "profile", "email"}
	toGraph := []string{"https://graph.microsoft.com/User.Read", "offline_access", "openid", "profile", "email"}
	for i, want := range [][]string{append([]string{toGraph[0]}, powerBI...), powerBI, toGraph} {
		if !slices.Equal(f.entra.scopes[i], want) {
			t.Errorf("request %d asked for %v, want %v", i, f.entra.scopes[i], want)
		}
	}
	if got := f.entra.sent.Get("redirect_uri"); got != "https://pbmb.example/api/connect/callback" {
		t.Errorf("redirects to %s", got)
	}
	dump := f.text("select concat(encode(access_token, 'escape'), encode(refresh_token, 'escape')) from powerbi_connection")
	if dump == "" || strings.Contains(dump, "SECRET") {
		t.Errorf("the row holds a token in clear")
	}
	status, err := f.conns.Status(t.Context(), f.people["a"].ID)
	if err != nil || status.State != connection.Connected || status.Account != "1@north.example" || status.GroupsReadAt.IsZero() {
		t.Errorf("got %+v, %v", status, err)
	}
}

// CONN-02, CONN-03, CONN-05, CONN-10
func TestStateBelongsToOneSessionOnceAndForTenMinutes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(f *fixture) string
		want string
	}{
		"another person's session":      {func(f *fixture) string { return f.finish("b", f.start("a", "/account"), oid1) }, "/?power_bi=expired"},
		"another session of the person": {func(f *fixture) string { return f.finish("a again", f.start("a", "/account"), oid1) }, "/?power_bi=expired"},
		"an unknown state":              {func(f *fixture) string { f.start("a", "/account"); return f.finish("a", "guess", oid1) }, "/?power_bi=expired"},
		"no state":                      {func(f *fixture) string { f.start("a", "/account"); return f.finish("a", "", oid1) }, "/?power_bi=expired"},
		"ten minutes": {func(f *fixture) string {
			s := f.start("a", "/account")
			f.pass(10 * time.Minute)
			return f.finish("a", s, oid1)
		}, "/account?power_bi=connected"},
		"ten minutes and a second": {func(f *fixture) string {
			s := f.start("a", "/account")
			f.pass(10*time.Minute + time.Second)
			return f.finish("a", s, oid1)
		}, "/?power_bi=expired"},
		"the first of two": {func(f *fixture) string {
			s := f.start("a", "/account")
			f.start("a", "/account")
			return f.finish("a", s, oid1)
		}, "/?power_bi=expired"},
		"the second of two": {func(f *fixture) string {
			f.start("a", "/account")
			return f.finish("a", f.start("a", "/account"), oid1)
		}, "/account?power_bi=connected"},
		"a second use": {func(f *fixture) string {
			s := f.start("a", "/account")
			f.finish("a", s, "fault")
			return f.finish("a", s, oid1)
		}, "/?power_bi=expired"},
		"a start of somebody else between": {func(f *fixture) string {
			s := f.start("a", "/account")
			sent := f.entra.sent
			f.start("b", "/account")
			f.entra.sent = sent
			return f.finish("a", s, oid1)
		}, "/account?power_bi=connected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if got := c.do(f); got != c.want {
				t.Errorf("came back to %s, want %s", got, c.want)
			}
			connected := strings.HasSuffix(c.want, "=connected")
			if got := f.text(rows); (got != "") != connected {
				t.Errorf("got the row %q", got)
			}
			if got := f.text(audits); !connected && !strings.Contains(got, "connect_power_bi|deny|expired|") {
				t.Errorf("got the audit %q", got)
			}
		})
	}
}

// CONN-04
func TestTheStateItselfIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	state := f.start("a", "/account")
	kept := f.text("select s::text from sign_in_state s")
	var digest string
	f.db.QueryRow("select encode(sha256(convert_to($1, 'UTF8')), 'hex')", []any{state}, &digest)
	if strings.Contains(kept, state) || !strings.Contains(kept, digest) {
		t.Errorf("kept %s", kept)
	}
}

// CONN-01, CONN-06, CONN-07, CONN-08, CONN-10
func TestAnAnswerThatProvesNothingIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(f *fixture)
		code  string
		want  string
	}{
		"the ID token":     {func(f *fixture) { f.entra.verify = errors.New("another tenant") }, oid1, "/account?power_bi=refused"},
		"another nonce":    {func(f *fixture) { f.entra.sent.Set("nonce", "x") }, oid1, "/account?power_bi=refused"},
		"another verifier": {func(f *fixture) { f.entra.sent.Set("challenge", "x") }, oid1, "/account?power_bi=refused"},
		"no code":          {func(*fixture) {}, "", "/account?power_bi=refused"},
		"a fault":          {func(*fixture) {}, "fault", "/account?power_bi=unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			state := f.start("a", "/account")
			c.spoil(f)
			address := connection.CallbackPath + "?state=" + state
			if c.code != "" {
				address += "&code=" + c.code
			} else {
				address += "&error=access_denied&error_description=SECRET"
			}
			if got := f.get("a", address).Header.Get("Location"); got != c.want {
				t.Errorf("came back to %s, want %s", got, c.want)
			}
			if got := f.text(rows); got != "" {
				t.Errorf("got the row %s", got)
			}
			if got := f.text(audits); strings.HasSuffix(c.want, "refused") && got != "connect_power_bi|deny|refused|a" {
				t.Errorf("got the audit %s", got)
			}
		})
	}
}

func TestConnectingNeedsASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for path := range f.routes {
		if got := f.get("nobody", path).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%s answers %d", path, got)
		}
	}
}

// CONN-09
func TestTheBrowserReturnsToAPageOfOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for next, want := range map[string]string{
		"/account":               "/account?power_bi=connected",
		"/catalog?q=x":           "/catalog?power_bi=connected&q=x",
		"":                       "/?power_bi=connected",
		"//evil.example":         "/?power_bi=connected",
		"https://evil.example":   "/?power_bi=connected",
		`/\evil.example`:         "/?power_bi=connected",
		"/%2f%2fevil.example":    "/?power_bi=connected",
		"javascript:alert(1)":    "/?power_bi=connected",
		"/api/v1/me":             "/?power_bi=connected",
		"/account\r\nX-Evil: on": "/?power_bi=connected",
	} {
		if got := f.finish("a", f.start("a", next), oid1); got != want {
			t.Errorf("next %q: came back to %s, want %s", next, got, want)
		}
	}
}

// CONN-11, CONN-12
func TestTwoPeopleWithOneAccountHaveTheirOwnTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.connect("b", oid1)
	a, errA := f.conns.Token(t.Context(), f.people["a"].ID)
	b, errB := f.conns.Token(t.Context(), f.people["b"].ID)
	if errA != nil || errB != nil || a.Access == b.Access || a.ObjectID != b.ObjectID {
		t.Errorf("got %v %v, %v %v", a, errA, b, errB)
	}
	if err := f.conns.Disconnect(t.Context(), f.people["a"]); err != nil {
		t.Fatal(err)
	}
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); !errors.Is(err, connection.ErrNotConnected) {
		t.Errorf("got %v", err)
	}
	if again, err := f.conns.Token(t.Context(), f.people["b"].ID); err != nil || again != b {
		t.Errorf("got %v, %v", again, err)
	}

	// A row that somebody moved opens for nobody else.
	f.connect("a", oid1)
	f.db.Exec("update powerbi_connection set access_token = (select access_token from powerbi_connection where person_id = $1) where person_id = $2",
		f.people["a"].ID, f.people["b"].ID)
	if got, err := f.conns.Token(t.Context(), f.people["b"].ID); err == nil {
		t.Errorf("got %v", got)
	}
}

// CONN-18
func TestAFailureOfGraphLeavesTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.graph.err = errors.New("503")
	if got := f.finish("a", f.start("a", "/account"), oid1); got != "/account?power_bi=groups_pending" {
		t.Errorf("came back to %s", got)
	}
	if got := f.text(rows); got != "a|connected|1|1@north.example|t|t|0|f" {
		t.Errorf("got the row %s", got)
	}
	f.graph.err = nil
	if err := f.conns.ReadGroups(t.Context(), f.people["a"].ID); err != nil {
		t.Fatal(err)
	}
	if got := f.text(rows); got != "a|connected|1|1@north.example|t|t|1|t" {
		t.Errorf("got the row %s", got)
	}
}

// CONN-21
func TestGroupsThatComeTooLateAreDropped(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(f *fixture){
		"disconnected": func(f *fixture) { f.conns.Disconnect(f.Context(), f.people["a"]) },
		"disconnected and connected to another account": func(f *fixture) {
			f.conns.Disconnect(f.Context(), f.people["a"])
			f.graph.before, f.graph.err = nil, errors.New("503")
			f.finish("a", f.start("a", "/account"), oid2)
			f.graph.err = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.connect("a", oid1)
			f.graph.before = func() { meanwhile(f) }
			if err := f.conns.ReadGroups(t.Context(), f.people["a"].ID); err != nil {
				t.Fatal(err)
			}
			if got := f.text("select concat(cardinality(group_ids), groups_read_at) from powerbi_connection"); got != "0" {
				t.Errorf("stored %s", got)
			}
		})
	}
}

// CONN-25
func TestTheTableRefusesTokensWithoutAConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	for _, statement := range []string{
		"update powerbi_connection set state = 'disconnected'",
		"insert into powerbi_connection (person_id, state, object_id) select person_id, 'disconnected', object_id from powerbi_connection",
	} {
		if _, err := f.db.API().Exec(t.Context(), statement); err == nil {
			t.Errorf("%s went through", statement)
		}
	}
}

// CONN-26
func TestTheWorkerCannotReadConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var n int
	err := postgres.Translate(f.db.Worker().QueryRow(t.Context(), "select count(*) from powerbi_connection").Scan(&n))
	if !errors.Is(err, postgres.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

// CONN-27
func TestTwoQueriesSpendOneRefreshToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.pass(time.Hour)
	f.entra.waiting, f.entra.holding = make(chan struct{}, 2), make(chan struct{})
	var wg sync.WaitGroup
	var tokens [2]connection.Token
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], err = f.conns.Token(t.Context(), f.people["a"].ID); err != nil {
				t.Error(err)
			}
		})
	}
	<-f.entra.waiting
	// The other one is at the row's lock now, or would have asked Entra as well.
	for blocked := 0; blocked == 0 && len(f.entra.waiting) == 0; {
		f.db.QueryRow("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'", nil, &blocked)
	}
	close(f.entra.holding)
	wg.Wait()
	if len(f.entra.waiting) > 0 {
		t.Error("both refreshed")
	}
	if tokens[0] != tokens[1] || tokens[0].Access == "" {
		t.Errorf("got %v and %v", tokens[0], tokens[1])
	}
	f.pass(time.Hour) // the new refresh token was saved: another one follows from it
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); err != nil {
		t.Error(err)
	}
}

// CONN-27: a caller who gives up does not lose the token that was just issued.
func TestARefreshOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.pass(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	f.entra.waiting, f.entra.holding = make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() { _, err := f.conns.Token(ctx, f.people["a"].ID); done <- err }()
	<-f.entra.waiting
	cancel()
	close(f.entra.holding)
	<-done
	f.entra.mu.Lock()
	f.entra.waiting = nil
	f.entra.mu.Unlock()
	f.pass(time.Hour)
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); err != nil {
		t.Error(err)
	}
}

// CONN-28
func TestARefusedRefreshTokenEndsTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.pass(time.Hour)
	id := f.people["a"].ID
	for _, fault := range []error{errors.New("timeout"), refusal("temporarily_unavailable"), refusal("")} {
		f.entra.refused = fault
		if _, err := f.conns.Token(t.Context(), id); !errors.Is(err, fault) || errors.Is(err, connection.ErrNeedsReconnect) {
			t.Errorf("got %v", err)
		}
		if got := f.text(rows); got != "a|connected|1|1@north.example|t|t|1|t" {
			t.Errorf("after %v: %s", fault, got)
		}
	}
	f.entra.refused = refusal("invalid_grant")
	for range 2 {
		if _, err := f.conns.Token(t.Context(), id); !errors.Is(err, connection.ErrNeedsReconnect) {
			t.Errorf("got %v", err)
		}
	}
	if got := f.text(rows); got != "a|needs_reconnect|1|1@north.example|f|f|0|f" {
		t.Errorf("got the row %s", got)
	}
	f.entra.refused = nil
	f.connect("a", oid1)
	if _, err := f.conns.Token(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// CONN-10, CONN-20, CONN-31, VIS-17
func TestDisconnect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); !errors.Is(err, connection.ErrNotConnected) {
		t.Errorf("got %v", err)
	}
	f.connect("a", oid1)
	for range 2 {
		if err := f.conns.Disconnect(t.Context(), f.people["a"]); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.text(rows); got != "a|disconnected|1|1@north.example|f|f|0|f" {
		t.Errorf("got the row %s", got)
	}
	if got := f.text(audits); got != "connect_power_bi|allow||a|1 disconnect_power_bi|allow||a|1" {
		t.Errorf("got the audit %s", got)
	}
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); !errors.Is(err, connection.ErrNotConnected) {
		t.Errorf("got %v", err)
	}
}

// CONN-32
func TestRevokingDuringARefreshLeavesNoToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect("a", oid1)
	f.pass(time.Hour)
	f.entra.waiting, f.entra.holding = make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { f.conns.Token(t.Context(), f.people["a"].ID) })
	<-f.entra.waiting
	admin := &policies.Principal{Kind: policies.Person, ID: f.people["b"].ID, Name: "b", Via: policies.ViaBrowser}
	wg.Go(func() {
		if err := f.conns.Revoke(t.Context(), admin, f.people["a"].ID); err != nil {
			t.Error(err)
		}
	})
	close(f.entra.holding)
	wg.Wait()
	if got := f.text(rows); got != "a|disconnected|1|1@north.example|f|f|0|f" {
		t.Errorf("got the row %s", got)
	}
	if got := f.text(audits + " where action = 'revoke_connection'"); got != "revoke_connection|allow||b|1" {
		t.Errorf("got the audit %s", got)
	}
	if _, err := f.conns.Token(t.Context(), f.people["a"].ID); !errors.Is(err, connection.ErrNotConnected) {
		t.Errorf("got %v", err)
	}
}
