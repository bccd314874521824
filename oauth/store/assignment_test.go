package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// ROLES-25, ROLES-37, AUTHZ-09: the last admin who has ever come stays, however
// many addresses of others have the role, and each change is audited.
func TestTheLastAdminStays(t *testing.T) {
	db := postgrestest.New(t)
	s := store.New(db.API(), setting.Base{})
	ctx, now := t.Context(), time.Now()
	by := &policies.Principal{Kind: policies.Person, ID: "11111111-1111-4111-8111-111111111111", Email: "admin@sample.example", Via: policies.ViaBrowser}

	made, err := s.Assign(ctx, by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToPerson, Subject: "admin@sample.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	first := made.Assignment
	db.Exec(`insert into person (id, email) values ($1, 'admin@sample.example')`, by.ID)
	db.Exec(`update role_assignment set person_id = $1 where id = $2`, by.ID, first.ID)
	other, err := s.Assign(ctx, by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToPerson, Subject: "ghost@nowhere.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	ghost := other.Assignment
	group, err := s.Assign(ctx, by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToGroup, Subject: groupA, Provider: store.Microsoft}, now)
	if err != nil || group.Admins != (store.Admins{People: 1, Groups: 1}) {
		t.Fatalf("%+v, %v", group, err)
	}
	if _, err := s.Revoke(ctx, by, first.ID); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("revoking the last admin who has come, while a group is admin: %v", err)
	}
	if c, err := s.Revoke(ctx, by, group.Assignment.ID); err != nil || c.Admins != (store.Admins{People: 1}) {
		t.Errorf("revoking the group's: %+v, %v", c, err)
	}
	if _, err := s.Revoke(ctx, by, first.ID); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("revoking the last admin who has come: %v", err)
	}
	if _, err := s.Revoke(ctx, by, ghost.ID); err != nil {
		t.Errorf("revoking one whom nobody has claimed: %v", err)
	}
	if _, err := s.Revoke(ctx, by, ghost.ID); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("revoking it again: %v", err)
	}
	var audited int
	db.QueryRow(`select count(*) from audit_event where action in ('assign_role', 'revoke_role') and outcome = 'allow' and principal_name = 'admin@sample.example'`, nil, &audited)
	if audited != 5 {
		t.Errorf("%d changes are audited, want 5", audited)
	}
	all, err := s.Assignments(ctx)
	if err != nil || len(all) != 1 || !all[0].Claimed {
		t.Errorf("left are %+v, %v", all, err)
	}
}

// ROLES-37: where nobody holds the role by an assignment of their own, the group
// that administers is not taken away either, and neither is the provider whose
// group it is.
func TestTheLastAdminGroupStays(t *testing.T) {
	f := newFixture(t)
	f.bind() // by an address that nobody has come with
	by := &policies.Principal{Kind: policies.Person, ID: ada, Email: "ada@sample.example", Via: policies.ViaBrowser}
	f.db.Exec(`insert into setting (key, value) values ('auth.providers', '[{"id": "acme", "kind": "oidc"}, {"id": "other", "kind": "oidc"}]')`)
	c, err := f.Assign(t.Context(), by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToGroup, Subject: "Keepers", Provider: "acme"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	in := store.SignIn{Provider: "acme", AccountID: "1", Email: "ada@acme.example", EmailVerified: true, GroupIDs: []string{"Keepers"}}
	f.wantRoles("a member of the group", f.mustSignIn(in), "admin")
	if _, err := f.Revoke(t.Context(), by, c.Assignment.ID); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("revoking the only group by which anybody is admin: %v", err)
	}
	if _, err := f.RemoveProvider(t.Context(), by, "acme", noSecrets{}, time.Now()); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("removing the provider of that group: %v", err)
	}
	if _, err := f.RemoveProvider(t.Context(), by, "other", noSecrets{}, time.Now()); err != nil {
		t.Errorf("removing a provider that nobody administers by: %v", err)
	}
	f.assign(policies.RoleAdmin, store.ToPerson, "ada@acme.example")
	if _, err := f.RemoveProvider(t.Context(), by, "acme", noSecrets{}, time.Now()); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("removing the provider by which the last admin comes: %v", err)
	}
	if _, err := f.Revoke(t.Context(), by, c.Assignment.ID); err != nil {
		t.Errorf("revoking the group's where a person holds it: %v", err)
	}
}

// noSecrets keeps no client secrets.
type noSecrets struct{}

func (noSecrets) SetProviderSecret(context.Context, pgx.Tx, *policies.Principal, string, string) error {
	return nil
}
func (noSecrets) DeleteProviderSecret(context.Context, pgx.Tx, string) error { return nil }

// ROLES-25: of two admins who revoke each other at once, one stays.
func TestTwoRevocationsAtOnceLeaveOne(t *testing.T) {
	f := newFixture(t)
	f.bind()
	by := &policies.Principal{Kind: policies.Person, ID: ada, Email: "ada@sample.example", Via: policies.ViaBrowser}
	for round := range 2 {
		f.db.Exec("delete from role_assignment")
		var ids []string
		for i, email := range []string{"ada@sample.example", "bob@sample.example"} {
			f.assign("admin", store.ToPerson, email)
			f.mustSignIn(microsoft(email, []string{ada, oauthtest.OtherID}[i]))
		}
		all, err := f.Assignments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			ids = append(ids, a.ID)
		}
		// Neither gets past its audit row before both have begun.
		hold, err := f.db.Pool(postgres.Migrator).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hold.Exec(t.Context(), "lock table audit_event in share row exclusive mode"); err != nil {
			t.Fatal(err)
		}
		errs := make([]error, len(ids))
		var both sync.WaitGroup
		for i, id := range ids {
			both.Go(func() { _, errs[i] = f.Revoke(context.Background(), by, id) })
		}
		for waiting := 0; waiting < len(ids); {
			if err := hold.QueryRow(t.Context(), "select count(*) from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		if err := hold.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		both.Wait()
		lost := 0
		for _, err := range errs {
			if errors.Is(err, store.ErrLastAdmin) {
				lost++
			} else if err != nil {
				t.Error(err)
			}
		}
		if n := f.rows("role_assignment where role = 'admin'"); len(ids) != 2 || lost != 1 || n != 1 {
			t.Errorf("round %d: of %d, %d were refused and %d are left", round, len(ids), lost, n)
		}
	}
}

// ROLES-24: whoever writes it, the table takes admin and pii_reader for people and
// groups alone, and no name that only looks like one of them.
func TestTheTableKnowsWhatMayBeAssigned(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	pools := map[string]*pgxpool.Pool{"api_rw": db.API(), "the owner": db.Pool(postgres.Migrator)}
	taken := 0
	for who, pool := range pools {
		for _, role := range []string{"viewer", "curator", "admin", "pii_reader", "metric_steward", "Admin", "PII_Reader", "csv_link", "*", "two words", ""} {
			for kind, target := range map[string][2]string{
				"person": {"ada@sample.example", ""}, "domain": {"sample.example", ""}, "group": {groupA, "microsoft"}, "tenant": {"", ""},
			} {
				_, err := pool.Exec(t.Context(), "insert into role_assignment (role, kind, subject, provider) values ($1, $2, $3, $4)", role, kind, target[0], target[1])
				isName := slices.Contains([]string{"viewer", "curator", "admin", "pii_reader", "metric_steward"}, role)
				want := isName && (kind == "person" || kind == "group" || role != "admin" && role != "pii_reader")
				if violation, ok := errors.AsType[*pgconn.PgError](err); (err == nil) != want || err != nil && (!ok || violation.Code != "23514") {
					t.Errorf("as %s, %q for a %s: %v", who, role, kind, err)
				}
				if err == nil {
					taken++
				}
			}
		}
		db.Exec("delete from role_assignment")
		for what, insert := range map[string]string{
			"a person in capitals": `insert into role_assignment (role, kind, subject) values ('viewer', 'person', 'Ada@sample.example')`,
			"a domain in capitals": `insert into role_assignment (role, kind, subject) values ('viewer', 'domain', 'Sample.example')`,
			"a claimed domain": `with p as (insert into person (email) values ('ada@sample.example') returning id)
				insert into role_assignment (role, kind, subject, person_id) select 'viewer', 'domain', 'sample.example', id from p`,
		} {
			if _, err := pool.Exec(t.Context(), insert); err == nil {
				t.Errorf("as %s, %s is taken", who, what)
			}
		}
	}
	if taken != 2*(3*4+2*2) {
		t.Errorf("%d were taken", taken)
	}
}
