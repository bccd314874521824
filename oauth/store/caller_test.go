package store_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store"
)

// principals counts how often a caller was read whole.
type principals struct{ n atomic.Int32 }

func (p *principals) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if regexp.MustCompile(`(?m)^with credential as`).MatchString(data.SQL) {
		p.n.Add(1)
	}
	return ctx
}

func (*principals) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// another is the store of another process on the same database.
func (f *fixture) another() (*store.Store, *principals) {
	f.t.Helper()
	config, err := pgxpool.ParseConfig(f.db.URL(postgres.API))
	if err != nil {
		f.t.Fatal(err)
	}
	read := &principals{}
	config.ConnConfig.Tracer = read
	pool, err := pgxpool.NewWithConfig(f.t.Context(), config)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(pool.Close)
	return store.New(pool, setting.Base{}), read
}

// OAUTH-15, SIGNIN-04, SIGNIN-16, SIGNIN-20, SIGNIN-22: a process that keeps a caller
// sees every change on the very next request, whoever made it and by whatever way.
func TestWhoIsKeptIsWhoTheyAre(t *testing.T) {
	f := newFixture(t)
	f.assign("viewer", store.ToPerson, "ada@sample.example")
	f.assign("curator", store.ToDomain, "sample.example")
	f.assign("metric_steward", store.ToGroup, groupA)
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA}, true
	person := f.mustSignIn(in).PersonID
	f.db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('workspace', $1, $2, 'Member')`, groupB, ada)
	f.db.Exec(`insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource) values ('c', 'registered', 'c', '{}', '{}', '{}', '/api/mcp')`)

	// Each change is made to a person with a session and a grant of their own kind.
	restore := func() {
		f.db.Exec(`delete from oauth_grant`)
		f.db.Exec(`delete from oauth_consent`)
		f.db.Exec(`delete from session`)
		f.db.Exec(`insert into session (digest, person_id, provider, expires_at) values ('s', $1, 'microsoft', now() + interval '1 hour')`, person)
		f.db.Exec(`insert into oauth_consent (id, person_id, client_id, scopes) values ($1, $2, 'c', '{}')`, groupA, person)
		f.db.Exec(`insert into oauth_grant (id, consent_id, client_id, person_id, scopes, audience) values ('g', $1, 'c', $2, '{}', 'a')`, groupA, person)
	}
	kept, reads := f.another()
	type found struct {
		Session, Grant       *store.Caller
		SessionErr, GrantErr string
	}
	look := func(s *store.Store) (r found) {
		var err error
		if r.Session, err = s.CallerBySession(t.Context(), []byte("s"), time.Now()); err != nil {
			r.SessionErr = err.Error()
		}
		if r.Grant, err = s.CallerByGrant(t.Context(), "g", time.Now()); err != nil {
			r.GrantErr = err.Error()
		}
		return r
	}
	for _, change := range []string{
		`delete from session`,
		`update session set expires_at = now()`,
		`update oauth_grant set revoked_at = now()`,
		`update oauth_grant set audience = 'b'`,
		`update oauth_consent set ended_at = now()`,
		`update oauth_consent set created_at = now()`,
		`update person set email = 'ada2@sample.example'`,
		`insert into role_assignment (role, kind, subject, person_id) select 'admin', 'person', 'ada@sample.example', id from person`,
		`delete from role_assignment where role = 'admin'`,
		`delete from role_assignment where kind = 'group'`,
		`update person_identity set groups_read_at = now() - interval '8 days'`,
		`update person_sign_in set signed_in_at = now() - interval '8 days'`,
		`update person_identity set signed_in_at = now(), groups_read_at = now()`,
		`insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'dataset', object_id, object_id, 'Read' from powerbi_access`,
		`delete from powerbi_access`,
		`insert into powerbi_connection (person_id, state, object_id, groups_read_at) select id, 'connected', '` + groupB + `', now() from person`,
		`update powerbi_connection set state = 'disconnected'`,
		`delete from powerbi_connection`,
		`insert into setting (key, value) values ('access.metadata_visibility', '"everyone"')`,
		`delete from setting`,
		`insert into deployment_tenant (tenant_id, mock) values ('` + groupA + `', true)`,
		`insert into setting (key, value) values ('access.default_role', '"curator"')`,
		`delete from role_assignment`,
		`truncate session`,
		`truncate oauth_consent, oauth_grant, oauth_code, oauth_refresh_token`,
	} {
		restore()
		look(kept)
		before := reads.n.Load()
		if r := look(kept); r.SessionErr+r.GrantErr != "" {
			t.Fatal(r.SessionErr, r.GrantErr)
		}
		if n := reads.n.Load(); n != before {
			t.Fatalf("before %s: nothing is kept", change)
		}
		f.db.Exec(change)
		fresh, _ := f.another()
		same := cmp.Comparer(func(a, b revision.Revisions) bool { return a == b })
		if d := cmp.Diff(look(fresh), look(kept), same); d != "" {
			t.Errorf("after %s (-fresh +kept):\n%s", change, d)
		}
	}
}

// SIGNIN-16, SIGNIN-20: what ends by itself ends for who is kept, without a change.
func TestWhoIsKeptEndsInTime(t *testing.T) {
	f := newFixture(t)
	f.assign("viewer", store.ToPerson, "ada@sample.example")
	f.assign("curator", store.ToDomain, "sample.example")
	f.assign("metric_steward", store.ToGroup, groupA)
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA}, true
	f.mustSignIn(in)
	f.db.Exec(`update session set digest = 's'`)
	for what, change := range map[string]string{
		"curator":        `update person_sign_in set signed_in_at = now() - interval '7 days' + interval '1.5 seconds'`,
		"metric_steward": `update person_identity set groups_read_at = now() - interval '7 days' + interval '1.5 seconds'`,
	} {
		f.db.Exec(change)
		holds := func() bool {
			c, err := f.CallerBySession(t.Context(), []byte("s"), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return slices.Contains(c.Roles, what)
		}
		if !holds() || !holds() {
			t.Fatalf("%s is gone already", what)
		}
		// The database's clock decides, so there is nothing to turn but time.
		time.Sleep(2 * time.Second)
		if holds() {
			t.Errorf("%s is held after its 7 days", what)
		}
	}
	if _, err := f.CallerBySession(t.Context(), []byte("s"), time.Now().Add(2*time.Hour)); err == nil {
		t.Error("a session that is over by the caller's clock still opens")
	}
}

// Every table that a caller is read from tells of its changes.
func TestEveryTableOfACallerIsWatched(t *testing.T) {
	f := newFixture(t)
	text, err := os.ReadFile("queries/principal.sql")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, m := range regexp.MustCompile(`(?:from|join)\s+([a-z_]+)`).FindAllStringSubmatch(string(text), -1) {
		var isTable bool
		if f.db.QueryRow(`select exists (select from pg_class where relkind = 'r' and relname = $1)`, []any{m[1]}, &isTable); !isTable || m[1] == "revision" {
			continue
		}
		tables++
		var watched int
		f.db.QueryRow(`select count(*) from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relname = $1 and t.tgname like 'revise%' and t.tgenabled = 'O'`, []any{m[1]}, &watched)
		if watched == 0 {
			t.Errorf("%s has no trigger", m[1])
		}
	}
	if tables < 9 {
		t.Errorf("only %d tables were found", tables)
	}
}
