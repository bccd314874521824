package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

const (
	ada    = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
	groupA = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
	groupB = "dddddddd-dddd-4ddd-8ddd-dddddddddddd"
)

// fixture is a store on a database of its own.
type fixture struct {
	*store.Store
	t  *testing.T
	db *postgrestest.Database
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	return &fixture{store.New(db.API(), setting.Base{}), t, db}
}

func microsoft(email, objectID string) store.SignIn {
	_, domain, _ := strings.Cut(email, "@")
	return store.SignIn{
		Provider: store.Microsoft, AccountID: objectID, ObjectID: objectID,
		Email: email, EmailVerified: true, VouchedDomain: domain,
	}
}

func (f *fixture) signIn(in store.SignIn) (*store.Caller, error) {
	f.t.Helper()
	now := time.Now()
	return f.SignIn(f.t.Context(), in, store.NewSession{
		Digest: store.Digest(now.String()), Provider: in.Provider, At: now, ExpiresAt: now.Add(time.Hour),
	}, store.SignInOptions{})
}

func (f *fixture) mustSignIn(in store.SignIn) *store.Caller {
	f.t.Helper()
	caller, err := f.signIn(in)
	if err != nil {
		f.t.Fatal(err)
	}
	return caller
}

func (f *fixture) assign(role string, kind store.AssignmentKind, subject string) {
	f.t.Helper()
	provider := ""
	if kind == store.ToGroup {
		provider = store.Microsoft
	}
	if _, err := f.AssignRole(f.t.Context(), store.Assignment{Role: role, Kind: kind, Subject: subject, Provider: provider}, time.Now()); err != nil {
		f.t.Fatal(err)
	}
}

// bind gives the database a tenant and an admin whom no test looks at.
func (f *fixture) bind() {
	f.t.Helper()
	first := store.FirstAdmin{Email: "first@sample.example", TenantID: oauthtest.TenantID, Mock: true}
	if err := f.BindFirstAdmin(f.t.Context(), first, time.Now()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) setting(key, value string) {
	f.t.Helper()
	f.db.Exec("insert into setting (key, value) values ($1, to_jsonb($2::text)) on conflict (key) do update set value = excluded.value", key, value)
}

func (f *fixture) now(c *store.Caller) *store.Caller {
	f.t.Helper()
	again, err := f.CallerByPerson(f.t.Context(), c.PersonID, time.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	return again
}

func (f *fixture) wantRoles(what string, c *store.Caller, want ...string) {
	f.t.Helper()
	if got := f.now(c).Roles; !slices.Equal(got, want) {
		f.t.Errorf("%s: roles %v, want %v", what, got, want)
	}
}

func (f *fixture) rows(table string) (n int) {
	f.t.Helper()
	f.db.QueryRow("select count(*) from "+table, nil, &n)
	return n
}

// SIGNIN-02, SIGNIN-03
func TestWithoutARoleNothingIsWritten(t *testing.T) {
	f := newFixture(t)
	if _, err := f.signIn(microsoft("ada@sample.example", ada)); !errors.Is(err, store.ErrNoRole) {
		t.Fatal(err)
	}
	for _, table := range []string{"person", "account", "person_identity", "person_sign_in", "session"} {
		if n := f.rows(table); n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
	f.assign("curator", store.ToPerson, "Ada@Sample.example")
	f.mustSignIn(microsoft("ada@sample.example", ada))
	f.db.Exec("delete from role_assignment")
	if _, err := f.signIn(microsoft("ada@sample.example", ada)); !errors.Is(err, store.ErrNoRole) {
		t.Errorf("after the last role is gone: %v", err)
	}
	if n := f.rows("session"); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// ROLES-27, ROLES-29, ROLES-31, ROLES-32, ROLES-33
func TestDefaultRole(t *testing.T) {
	f := newFixture(t)
	if _, err := f.signIn(microsoft("ada@sample.example", ada)); !errors.Is(err, store.ErrNoRole) {
		t.Errorf("before the database has a tenant: %v", err)
	}
	f.bind()
	caller := f.mustSignIn(microsoft("ada@sample.example", ada))
	f.wantRoles("a member", caller, "viewer")
	f.assign("metric_steward", store.ToPerson, "ada@sample.example")
	f.wantRoles("with a role of the deployment's own", caller, "metric_steward", "viewer")
	f.assign("pii_reader", store.ToPerson, "ada@sample.example")
	f.wantRoles("with pii_reader", caller, "metric_steward", "pii_reader")
	f.assign("viewer", store.ToPerson, "ada@sample.example")
	f.wantRoles("with viewer besides", caller, "metric_steward", "pii_reader", "viewer")
	stranger := store.SignIn{Provider: "google", AccountID: "1", Email: "bob@sample.example", EmailVerified: true}
	if _, err := f.signIn(stranger); !errors.Is(err, store.ErrNoRole) {
		t.Errorf("somebody of another provider: %v", err)
	}
	f.db.Exec("delete from role_assignment where kind = 'person' and role <> 'admin'")
	f.setting("access.default_role", "curator")
	f.wantRoles("where the default is curator", caller, "curator")
	f.setting("access.default_role", "none")
	f.wantRoles("where there is no default", caller)
	if _, err := f.signIn(microsoft("bob@sample.example", oauthtest.OtherID)); !errors.Is(err, store.ErrNoRole) {
		t.Errorf("somebody new, where there is no default: %v", err)
	}
	f.setting("access.default_role", "viewer")
	f.db.Exec("update person_identity set signed_in_at = now() - interval '7 days' + interval '1 minute', groups_read_at = null")
	f.wantRoles("6 days after the sign-in", caller, "viewer")
	f.db.Exec("update person_identity set signed_in_at = now() - interval '7 days' - interval '1 minute'")
	f.wantRoles("7 days after the sign-in", caller)
}

func TestARoleForTheWholeTenant(t *testing.T) {
	f := newFixture(t)
	f.bind()
	f.assign("metric_steward", store.ToTenant, "")
	caller := f.mustSignIn(microsoft("ada@sample.example", ada))
	f.wantRoles("a member", caller, "metric_steward", "viewer")
	f.assign("curator", store.ToTenant, "")
	f.wantRoles("a member, with a shipped role for all", caller, "curator", "metric_steward")
	f.db.Exec("update person_identity set signed_in_at = now() - interval '8 days'")
	f.wantRoles("7 days after the sign-in", caller)
}

// VIS-01: the setting, as it is at each request. What it does not take refuses.
func TestMetadataVisibility(t *testing.T) {
	f := newFixture(t)
	f.bind()
	caller := f.mustSignIn(microsoft("ada@sample.example", ada))
	if got := f.now(caller).MetadataVisibility; got != policies.VisibleByPowerBI {
		t.Errorf("with the setting absent %q", got)
	}
	for _, value := range []policies.MetadataVisibility{policies.VisibleToEveryone, policies.VisibleByPolicy, policies.VisibleByPowerBI} {
		f.setting("access.metadata_visibility", string(value))
		if got := f.now(caller).MetadataVisibility; got != value {
			t.Errorf("%q, want %q", got, value)
		}
	}
	f.setting("access.metadata_visibility", "all")
	if c, err := f.CallerByPerson(t.Context(), caller.PersonID, time.Now()); err == nil {
		t.Errorf("with a value that it does not take: %+v", c)
	}
}

// What the environment gives holds until something is saved.
func TestDefaultsFromTheEnvironment(t *testing.T) {
	f := newFixture(t)
	f.bind()
	caller := f.mustSignIn(microsoft("ada@sample.example", ada))
	base, err := setting.FromEnvironment(func(name string) string {
		return map[string]string{"ACCESS_DEFAULT_ROLE": "curator", "ACCESS_METADATA_VISIBILITY": "policy"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Store = store.New(f.db.API(), base)
	f.wantRoles("by the environment", caller, "curator")
	if got := f.now(caller).MetadataVisibility; got != policies.VisibleByPolicy {
		t.Errorf("by the environment %q", got)
	}
	f.setting("access.default_role", "viewer")
	f.wantRoles("saved", caller, "viewer")
}

// SIGNIN-10, SIGNIN-14, SIGNIN-15
func TestAnAssignmentForAnEmailIsClaimedOnce(t *testing.T) {
	f := newFixture(t)
	f.assign("curator", store.ToPerson, "ada@sample.example")
	f.assign("viewer", store.ToDomain, "sample.example")
	google := store.SignIn{Provider: "google", AccountID: "1", Email: "ada@sample.example", VouchedDomain: "sample.example"}
	f.wantRoles("an email that is not verified", f.mustSignIn(google), "viewer")
	first := f.mustSignIn(microsoft("Ada@sample.example", ada))
	f.wantRoles("the first", first, "curator", "viewer")
	google.EmailVerified = true
	second := f.mustSignIn(google)
	if second.PersonID == first.PersonID {
		t.Error("two accounts of one email are one person")
	}
	f.wantRoles("the second", second, "viewer")
	f.assign("admin", store.ToPerson, "ada@sample.example")
	f.wantRoles("the second, assigned later", second, "viewer")
	f.wantRoles("the first, assigned later", first, "admin", "curator", "viewer")
	f.wantRoles("the first, by another email now", f.mustSignIn(microsoft("ada2@sample.example", ada)), "admin", "curator", "viewer")
}

// SIGNIN-16, SIGNIN-17
func TestADomainCountsForSevenDays(t *testing.T) {
	f := newFixture(t)
	f.assign("curator", store.ToDomain, "Sample.example")
	caller := f.mustSignIn(microsoft("ada@sample.example", ada))
	for after, want := range map[string][]string{"1 minute": {"curator"}, "-1 minute": {}} {
		f.db.Exec("update person_sign_in set signed_in_at = now() - interval '7 days' + $1::interval", after)
		f.wantRoles(after, caller, want...)
	}
	unvouched := store.SignIn{Provider: "google", AccountID: "1", Email: "bob@sample.example", EmailVerified: true}
	if _, err := f.signIn(unvouched); !errors.Is(err, store.ErrNoRole) {
		t.Errorf("an address whose domain nobody vouched for: %v", err)
	}
}

// SIGNIN-19, SIGNIN-20
func TestAGroupCountsForSevenDays(t *testing.T) {
	f := newFixture(t)
	f.assign("admin", store.ToGroup, strings.ToUpper(groupA))
	f.assign("viewer", store.ToPerson, "ada@sample.example")
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA, groupB}, true
	caller := f.mustSignIn(in)
	f.wantRoles("a member of the group", caller, "admin", "viewer")
	in.GroupIDs, in.GroupsRead = nil, false
	f.mustSignIn(in)
	f.wantRoles("groups not read this time", caller, "admin", "viewer")
	f.db.Exec("update person_identity set groups_read_at = now() - interval '7 days' - interval '1 minute'")
	f.wantRoles("after 7 days", caller, "viewer")
	in.GroupsRead = true
	f.mustSignIn(in)
	f.wantRoles("read as a member of none", caller, "viewer")
	f.db.Exec("update role_assignment set provider = 'google' where kind = 'group'")
	in.GroupIDs = []string{groupA}
	f.mustSignIn(in)
	f.wantRoles("a group of another provider", caller, "viewer")
}

// ROLES-24
func TestAdminAndPIIReaderGoToPeopleAndGroupsOnly(t *testing.T) {
	f := newFixture(t)
	for _, role := range []string{"admin", "pii_reader"} {
		for _, a := range []store.Assignment{
			{Role: role, Kind: store.ToDomain, Subject: "sample.example"}, {Role: role, Kind: store.ToTenant},
		} {
			if _, err := f.AssignRole(t.Context(), a, time.Now()); err == nil {
				t.Errorf("%s is given to a %s", role, a.Kind)
			}
		}
		f.assign(role, store.ToPerson, "ada@sample.example")
		f.assign(role, store.ToGroup, groupA)
	}
}

// TENANT-01, TENANT-05, SETUP-25, SETUP-26
func TestFirstAdminAndTenantAreOneTransaction(t *testing.T) {
	f := newFixture(t)
	first := store.FirstAdmin{Email: "ada@sample.example", TenantID: oauthtest.TenantID, Mock: true}
	for _, table := range []string{"deployment_tenant", "role_assignment"} {
		f.db.Exec("alter table " + table + " add constraint broken check (false) not valid")
		if err := f.BindFirstAdmin(t.Context(), first, time.Now()); err == nil {
			t.Errorf("succeeds although %s takes nothing", table)
		}
		f.db.Exec("alter table " + table + " drop constraint broken")
		if f.rows("deployment_tenant")+f.rows("role_assignment") != 0 {
			t.Errorf("a failure at %s leaves something behind", table)
		}
	}
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = f.BindFirstAdmin(context.Background(), first, time.Now()) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, store.ErrHasAdmin) {
			t.Error(err)
		}
	}
	if won != 1 || f.rows("deployment_tenant") != 1 || f.rows("role_assignment") != 1 || f.rows("audit_event") != 1 {
		t.Errorf("%d won, %d bindings, %d assignments", won, f.rows("deployment_tenant"), f.rows("role_assignment"))
	}
	binding, err := f.Binding(t.Context())
	if err != nil || *binding != (store.Binding{TenantID: oauthtest.TenantID, Mock: true}) {
		t.Error(binding, err)
	}
	f.wantRoles("the first admin", f.mustSignIn(microsoft("ada@sample.example", ada)), "admin")
	f.wantRoles("any member", f.mustSignIn(microsoft("bob@sample.example", oauthtest.OtherID)), "viewer")
}

// SIGNIN-45
func TestTwoFirstSignInsOfOneAccountMakeOnePerson(t *testing.T) {
	f := newFixture(t)
	f.assign("viewer", store.ToTenant, "")
	const racers = 6
	errs := make([]error, racers)
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			now := time.Now()
			_, errs[i] = f.SignIn(context.Background(), microsoft("ada@sample.example", ada), store.NewSession{
				Digest: []byte{byte(i)}, Provider: store.Microsoft, At: now, ExpiresAt: now.Add(time.Hour),
			}, store.SignInOptions{})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if f.rows("person") != 1 || f.rows("account") != 1 || f.rows("session") != racers {
		t.Errorf("%d persons, %d accounts, %d sessions", f.rows("person"), f.rows("account"), f.rows("session"))
	}
}

// VIS-13, VIS-14, VIS-15, VIS-16: whose lists count, on both sides of the 7 days.
func TestReach(t *testing.T) {
	f := newFixture(t)
	f.assign("viewer", store.ToTenant, "")
	const (
		own      = "10000000-0000-4000-8000-000000000001"
		byGroup  = "10000000-0000-4000-8000-000000000002"
		shared   = "10000000-0000-4000-8000-000000000003"
		byShared = "10000000-0000-4000-8000-000000000004"
		account  = "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee" // that the person connects
	)
	for item, object := range map[string]string{own: ada, byGroup: groupA, shared: account, byShared: groupB} {
		f.db.Exec("insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('workspace', $1, $2, 'Viewer')", item, object)
	}
	f.db.Exec("insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('app', $1, $2, 'Read'), ('dataset', $3, $4, 'Read')", shared, ada, own, groupA)
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA}, true
	caller := f.mustSignIn(in)
	want := func(what string, workspaces ...string) {
		t.Helper()
		if got := f.now(caller).WorkspaceIDs; !slices.Equal(got, workspaces) {
			t.Errorf("%s: %v, want %v", what, got, workspaces)
		}
	}
	want("by the sign-in", own, byGroup)
	if c := f.now(caller); !slices.Equal(c.AppIDs, []string{shared}) || !slices.Equal(c.DatasetIDs, []string{own}) || !slices.Equal(c.ObjectIDs, []string{ada, groupA}) {
		t.Errorf("by the sign-in: %+v", c)
	}
	f.db.Exec("insert into powerbi_connection (person_id, state, object_id, group_ids, groups_read_at) values ($1, 'connected', $2, $3, now())",
		caller.PersonID, account, []string{groupB})
	want("by the connection", shared, byShared)
	f.wantRoles("a connection gives no role", caller, "viewer")
	f.db.Exec("update powerbi_connection set groups_read_at = now() - interval '7 days' + interval '1 minute'")
	want("within 7 days of its groups", shared, byShared)
	f.db.Exec("update powerbi_connection set groups_read_at = now() - interval '7 days' - interval '1 minute'")
	want("after 7 days")
	f.db.Exec("update powerbi_connection set groups_read_at = null")
	want("before its groups are read")
	f.db.Exec("update powerbi_connection set state = 'disconnected'")
	want("after its end", own, byGroup)
	f.db.Exec("update person_identity set groups_read_at = now() - interval '8 days'")
	want("the sign-in's groups after 7 days", own)
	f.db.Exec("update person_identity set signed_in_at = now() - interval '7 days' + interval '1 minute'")
	want("within 7 days of the sign-in", own)
	f.db.Exec("delete from powerbi_access where item_id = $1 and item_kind = 'workspace'", own)
	want("an entry that is gone")
	f.db.Exec("update person_identity set signed_in_at = now() - interval '7 days' - interval '1 minute'")
	if c := f.now(caller); len(c.ObjectIDs)+len(c.AppIDs) != 0 {
		t.Errorf("7 days after the sign-in: %+v", c)
	}
}

func TestASignInStateIsTakenOnce(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	state := store.SignInState{Purpose: store.PurposeSignIn, Provider: store.Microsoft, Nonce: "n", Verifier: "v", Next: "/x", ExpiresAt: now.Add(time.Minute)}
	for name, at := range map[string]time.Time{"in time": now, "late": now.Add(time.Minute)} {
		digest := store.Digest(name)
		if err := f.SaveSignInState(t.Context(), digest, state, now); err != nil {
			t.Fatal(err)
		}
		got, err := f.TakeSignInState(t.Context(), digest, at)
		if (name == "in time") != (err == nil) || err == nil && got.Verifier != "v" {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if _, err := f.TakeSignInState(t.Context(), digest, now); !errors.Is(err, postgres.ErrNotFound) {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// TENANT-19: what the setup's confirm calls binds no real tenant while the dev
// sign-in is open.
func TestNoRealTenantIsBoundWhileTheDevSignInIsOpen(t *testing.T) {
	f := newFixture(t)
	first := store.FirstAdmin{Email: "ada@sample.example", TenantID: groupA, DevSignIn: true}
	if err := f.BindFirstAdmin(t.Context(), first, time.Now()); !errors.Is(err, store.ErrDevSignInOpen) {
		t.Errorf("with the dev sign-in open: %v", err)
	}
	for _, table := range []string{"deployment_tenant", "role_assignment", "audit_event"} {
		if n := f.rows(table); n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
	first.DevSignIn = false
	if err := f.BindFirstAdmin(t.Context(), first, time.Now()); err != nil {
		t.Errorf("with the dev sign-in shut: %v", err)
	}
	if n := f.rows("deployment_tenant"); n != 1 {
		t.Errorf("%d bindings", n)
	}
}
