package authn_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func whoami(t *testing.T, a oauthtest.Answer) *policies.Principal {
	t.Helper()
	var p policies.Principal
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != http.StatusOK {
		t.Fatal(a.Status, a.Body)
	}
	return &p
}

// OAUTH-10
func TestATokenDecidesAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	admin := s.SignIn("admin@sample.example", oauthtest.OtherID)
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, _ := viewer.Tokens(s.Register())

	p := whoami(t, admin.Get("/api/v1/whoami"))
	if !slices.Equal(p.Roles, []string{"admin"}) || p.Via != policies.ViaBrowser || p.Credential == "" || p.ClientID != "" {
		t.Errorf("admin's session: %+v", p)
	}
	for name, header := range map[string]string{
		"junk":             "Authorization: Bearer junk",
		"an empty token":   "Authorization: Bearer ",
		"no token":         "Authorization: Bearer",
		"another scheme":   "Authorization: Basic YWRtaW46",
		"a connector's":    "Authorization: Bearer " + access,
		"a scheme alone":   "Authorization: x",
		"an empty header":  "Authorization:  ",
		"lower case, junk": "authorization: bearer junk",
	} {
		if a := admin.Get("/api/v1/whoami", header); a.Status != http.StatusUnauthorized {
			t.Errorf("%s beside an admin's cookie: %d %s", name, a.Status, a.Body)
		}
	}
	if a := admin.Get(protocol.ResourceMCP, "Authorization: Bearer "+access, "Authorization: Bearer "+access); a.Status != http.StatusUnauthorized {
		t.Errorf("two tokens: %d", a.Status)
	}
	p = whoami(t, admin.Get(protocol.ResourceMCP, "Authorization: bearer "+access))
	if p.Email != "viewer@sample.example" || !slices.Equal(p.Roles, []string{"viewer"}) || p.Via != policies.ViaConnector {
		t.Errorf("a viewer's token beside an admin's cookie: %+v", p)
	}
	if a := admin.Get(protocol.ResourceMCP); a.Status != http.StatusUnauthorized {
		t.Errorf("a session at the MCP resource: %d", a.Status)
	}
}

// OAUTH-14: a token is good only for the person, the client and the resource that its
// grant names.
func TestATokenBelongsToItsGrant(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.SignIn("admin@sample.example", oauthtest.OtherID)
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	client := s.Register()
	other := s.Register()
	access, _ := viewer.Tokens(client)
	status := func() int { return viewer.Get(protocol.ResourceMCP, "Authorization: Bearer "+access).Status }
	for column, value := range map[string]string{
		"person_id": "(select id from person where email = 'admin@sample.example')",
		"client_id": "'" + other + "'",
		"audience":  "'https://elsewhere.example/api/mcp'",
	} {
		if got := status(); got != http.StatusOK {
			t.Fatalf("before %s is changed: %d", column, got)
		}
		var before string
		s.DB.QueryRow("select "+column+"::text from oauth_grant", nil, &before)
		s.DB.Exec("update oauth_grant set " + column + " = " + value)
		if got := status(); got != http.StatusUnauthorized {
			t.Errorf("the grant's %s is another: %d", column, got)
		}
		s.DB.Exec("update oauth_grant set " + column + " = '" + before + "'")
	}
}

// SIGNIN-22, SIGNIN-24, SIGNIN-25, SIGNIN-26
func TestSession(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	var stored string
	s.DB.QueryRow("select row_to_json(s)::text from session s", nil, &stored)
	var columns map[string]string
	if err := json.Unmarshal([]byte(stored), &columns); err != nil {
		t.Fatal(err)
	}
	for name, value := range columns {
		if a := s.Browser().Get("/api/v1/whoami", "Cookie: "+session.Cookie+"="+value); a.Status != http.StatusUnauthorized {
			t.Errorf("column %s opens a session: %d", name, a.Status)
		}
	}
	secret := cookie(t, s, browser)
	own := browser.Get("/api/auth/session")
	if own.Field("email") != "viewer@sample.example" || strings.Contains(own.Body, secret) {
		t.Errorf("own session: %d %s", own.Status, own.Body)
	}
	s.Clock.Advance(11*time.Hour + 59*time.Minute)
	if a := browser.Get("/api/v1/whoami"); a.Status != http.StatusOK {
		t.Errorf("at 11:59: %d", a.Status)
	}
	s.SetDefaultRole("none")
	if a := browser.Get("/api/v1/whoami"); a.Status != http.StatusForbidden {
		t.Errorf("without a role: %d", a.Status)
	}
	if a := browser.Get("/api/auth/session"); a.Status != http.StatusOK || a.Field("expires_at") != own.Field("expires_at") {
		t.Errorf("own session without a role, and its end after use: %d %s", a.Status, a.Body)
	}
	s.Clock.Advance(2 * time.Minute)
	for _, path := range []string{"/api/v1/whoami", "/api/auth/session"} {
		if a := browser.Get(path); a.Status != http.StatusUnauthorized {
			t.Errorf("%s at 12:01: %d", path, a.Status)
		}
	}
	if a := s.Browser().Do("POST", "/api/auth/sign-out", ""); a.Status != http.StatusUnauthorized { // SIGNIN-32
		t.Errorf("signing out without a session: %d", a.Status)
	}
}

func TestSignOutEndsThisSessionAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	one, two := s.SignIn("viewer@sample.example", oauthtest.ViewerID), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	secret := cookie(t, s, one)
	if a := one.Do("POST", "/api/auth/sign-out", ""); a.Status != http.StatusNoContent || !strings.Contains(a.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if a := s.Browser().Get("/api/v1/whoami", "Cookie: "+session.Cookie+"="+secret); a.Status != http.StatusUnauthorized {
		t.Errorf("the old cookie: %d", a.Status)
	}
	if a := two.Get("/api/v1/whoami"); a.Status != http.StatusOK {
		t.Errorf("the other session: %d", a.Status)
	}
}

func cookie(t *testing.T, s *oauthtest.Server, b *oauthtest.Browser) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, s.URL, nil)
	for _, c := range b.Jar.Cookies(r.URL) {
		if c.Name == session.Cookie {
			return c.Value
		}
	}
	t.Fatal("no session cookie")
	return ""
}

// OAUTH-15, OAUTH-16, SIGNIN-04
func TestWhatEndsCountsAtTheNextRequest(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	browser, client := s.SignIn("viewer@sample.example", oauthtest.ViewerID), s.Register()
	access, refresh := browser.Tokens(client)
	second := s.Refresh(client, refresh).Field("access_token")
	other, _ := s.SignIn("other@sample.example", oauthtest.OtherID).Tokens(client)
	var person, stranger string
	s.DB.QueryRow("select id from person where email = 'viewer@sample.example'", nil, &person)
	s.DB.QueryRow("select id from person where email = 'other@sample.example'", nil, &stranger)
	held, err := s.Store.GrantsOf(t.Context(), person)
	if err != nil || len(held) != 1 || held[0].ClientID != client || held[0].Audience != s.Site.URL(protocol.ResourceMCP) {
		t.Fatal(held, err)
	}
	if err := s.Store.EndGrant(t.Context(), &policies.Principal{Kind: policies.Person, ID: stranger}, held[0].ID, s.Clock.Now()); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("ending another's grant: %v", err)
	}
	if err := s.Store.EndGrant(t.Context(), &policies.Principal{Kind: policies.Person, ID: stranger}, "unknown", s.Clock.Now()); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("ending an unknown grant: %v", err)
	}
	if got := s.Call(access); got != http.StatusOK {
		t.Fatalf("after another's try: %d", got)
	}
	if err := s.Store.EndGrant(t.Context(), &policies.Principal{Kind: policies.Person, ID: person}, held[0].ID, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{access, second} {
		if got := s.Call(token); got != http.StatusUnauthorized {
			t.Errorf("after the end: %d", got)
		}
	}
	if held, err := s.Store.GrantsOf(t.Context(), person); err != nil || len(held) != 0 {
		t.Errorf("after the end: %v %v", held, err)
	}
	if got := s.Call(other); got != http.StatusOK {
		t.Errorf("another's: %d", got)
	}
	var audited string
	s.DB.QueryRow("select string_agg(action || ' ' || outcome, ', ' order by id) from audit_event where principal_id = $1", []any{person}, &audited)
	if want := "sign_in allow, allow_client allow, end_grant allow"; audited != want {
		t.Errorf("audited %q, want %q", audited, want)
	}
	s.SetDefaultRole("none")
	if got := s.Call(other); got != http.StatusForbidden {
		t.Errorf("without a role: %d", got)
	}
}

// VIS-01, ROLES-29: what a setting says of a caller is read with them at each request,
// by whichever credential. A value that the setting does not take lets nobody in.
func TestSettingsCountAtTheNextRequest(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	access, _ := browser.Tokens(s.Register())
	both := func() []oauthtest.Answer {
		return []oauthtest.Answer{browser.Get("/api/v1/whoami"), s.Browser().Get(protocol.ResourceMCP, "Authorization: Bearer "+access)}
	}
	for _, want := range []policies.MetadataVisibility{policies.VisibleByPowerBI, policies.VisibleToEveryone, policies.VisibleByPolicy} {
		if want != policies.VisibleByPowerBI {
			s.DB.Exec(`insert into setting (key, value) values ('access.metadata_visibility', to_jsonb($1::text))
				on conflict (key) do update set value = excluded.value`, string(want))
		}
		for _, a := range both() {
			if p := whoami(t, a); p.MetadataVisibility != want {
				t.Errorf("through the %s: %q, want %q", p.Via, p.MetadataVisibility, want)
			}
		}
	}
	for role, want := range map[setting.DefaultRole]int{"none": http.StatusForbidden, "viewer": http.StatusOK, "admin": http.StatusServiceUnavailable} {
		s.SetDefaultRole(role)
		for _, a := range both() {
			if a.Status != want {
				t.Errorf("with the default role %s: %d, want %d", role, a.Status, want)
			}
		}
	}
}

// OAUTH-07: a key that another instance made is found.
func TestKeyOfAnotherInstance(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	access, _ := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Tokens(s.Register())
	s.DB.Exec("update jwks set created_at = created_at - interval '1 day'")
	keys, err := provider.LoadKeys(t.Context(), s.Store, s.Vault, s.Clock.Now) // a restart
	if err != nil {
		t.Fatal(err)
	}
	restarted := authn.New(s.Site, s.Store, provider.New(s.Site, s.Store, s.Documents, keys, s.Clock.Now, nil), s.Clock.Now)
	if _, err := restarted.Bearer(t.Context(), access, protocol.ResourceMCP); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	var n int
	if s.DB.QueryRow("select count(*) from jwks", nil, &n); n != 1 {
		t.Errorf("%d keys", n)
	}
}

// OAUTH-12
func TestSigningKeyIsSealedForTheApiAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	var sealed []byte
	s.DB.QueryRow("select private_key from jwks", nil, &sealed)
	if !strings.HasPrefix(string(sealed), "age-encryption.org/v1\n-> X25519 ") || strings.Count(string(sealed), "\n-> ") != 1 {
		t.Errorf("not an age file with one recipient: %.80q", sealed)
	}
	other := oauthtest.New(t, oauthtest.Options{}).Vault
	if _, err := other.Open(sealed); err == nil {
		t.Error("another identity opens it")
	}
	if _, err := provider.LoadKeys(t.Context(), s.Store, other, s.Clock.Now); err == nil {
		t.Error("an api with another identity starts")
	}
}

// verifierFunc and callersFunc stand in for the two halves.
type verifierFunc func(string) (*provider.Claims, error)

func (f verifierFunc) Verify(_ context.Context, token string) (*provider.Claims, error) {
	return f(token)
}

type countingCallers struct {
	*store.Store
	n int
}

func (c *countingCallers) CallerByGrant(ctx context.Context, id string, at time.Time) (*store.Caller, error) {
	c.n++
	return c.Store.CallerByGrant(ctx, id, at)
}

// The signature is verified once, the grant is read each time.
func TestOnlyTheSignatureIsRemembered(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	access, _ := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Tokens(s.Register())
	verified, callers := 0, &countingCallers{Store: s.Store}
	a := authn.New(s.Site, callers, verifierFunc(func(token string) (*provider.Claims, error) {
		verified++
		return s.Provider.Verify(t.Context(), token)
	}), s.Clock.Now)
	for range 3 {
		if _, err := a.Bearer(t.Context(), access, protocol.ResourceMCP); err != nil {
			t.Fatal(err)
		}
	}
	if verified != 1 || callers.n != 3 {
		t.Errorf("verified %d times, read %d times", verified, callers.n)
	}
	for range 2 {
		if _, err := a.Bearer(t.Context(), access+"x", protocol.ResourceMCP); !errors.Is(err, authn.ErrInvalidToken) {
			t.Errorf("a forged one: %v", err)
		}
	}
	if verified != 3 {
		t.Errorf("what was refused is remembered")
	}
}

// BenchmarkBearer is the authentication of one call: the token's checks and the
// one query.
func BenchmarkBearer(b *testing.B) {
	s := oauthtest.New(b, oauthtest.Options{})
	access, _ := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Tokens(s.Register())
	for _, reach := range []int{0, 30, 1000} {
		b.Run(map[int]string{0: "reach=0", 30: "reach=30", 1000: "reach=1000"}[reach], func(b *testing.B) {
			s.DB.Exec("delete from powerbi_access")
			s.DB.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right)
				select 'workspace', gen_random_uuid(), case when i <= $1 then $2::uuid else gen_random_uuid() end, 'Member'
				from generate_series(1, 20000) i`, reach, oauthtest.ViewerID)
			s.DB.Exec("analyze powerbi_access")
			if p, err := s.Authn.Bearer(b.Context(), access, protocol.ResourceMCP); err != nil || len(p.WorkspaceIDs) != reach {
				b.Fatal(p, err)
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.Authn.Bearer(b.Context(), access, protocol.ResourceMCP); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
