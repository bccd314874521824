package revision_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/revision"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

const (
	ada  = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
	bert = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"
	some = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
)

func read(t testing.TB, db *postgrestest.Database, person string) revision.Revisions {
	t.Helper()
	r, err := revision.Read(t.Context(), db.API(), person)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Known() {
		t.Fatal("what was read is not known")
	}
	return r
}

// changed names the subjects whose revisions differ.
func changed(a, b revision.Revisions) string {
	var names []string
	for _, s := range []struct {
		name string
		same bool
	}{{"person", a.Person == b.Person}, {"roles", a.Roles == b.Roles}, {"tenant", a.Tenant == b.Tenant}, {"pii", a.PII == b.PII}} {
		if !s.same {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, " ")
}

// OAUTH-15 SIGNIN-04: whatever a caller or a list depends on, changed by anybody and in
// whatever way, shows in the revisions; and nobody else's do.
func TestEveryChangeShows(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec(`insert into person (id, email) values ($1, 'ada@sample.example'), ($2, 'bert@sample.example')`, ada, bert)
	db.Exec(`insert into powerbi_workspace (id, name, folded) values ($1, 'w', 'w')`, some)
	db.Exec(`insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource) values ('c', 'registered', 'c', '{}', '{}', '{}', '/api/mcp')`)
	for _, c := range []struct{ sql, want string }{
		{`update person set email = 'ada2@sample.example' where id = '` + ada + `'`, "person"},
		{`insert into person_identity (person_id, object_id) values ('` + ada + `', '` + some + `')`, "person"},
		{`update person_identity set signed_in_at = now()`, "person"},
		{`delete from person_identity`, "person"},
		{`insert into person_sign_in (person_id, provider, email, email_verified) values ('` + ada + `', 'microsoft', '', true)`, "person"},
		{`update person_sign_in set signed_in_at = now()`, "person"},
		{`delete from person_sign_in`, "person"},
		{`insert into powerbi_connection (person_id, state, object_id) values ('` + ada + `', 'connected', '` + some + `')`, "person"},
		{`update powerbi_connection set groups_read_at = now()`, "person"},
		{`delete from powerbi_connection`, "person"},
		{`insert into session (digest, person_id, provider, expires_at) values ('x', '` + ada + `', 'microsoft', now())`, ""},
		{`update session set expires_at = now()`, "person"},
		{`delete from session`, "person"},
		{`insert into oauth_consent (id, person_id, client_id, scopes) values ('` + some + `', '` + ada + `', 'c', '{}')`, ""},
		{`insert into oauth_grant (id, consent_id, client_id, person_id, scopes, audience) values ('g', '` + some + `', 'c', '` + ada + `', '{}', '')`, ""},
		{`update oauth_grant set revoked_at = now()`, "person"},
		{`delete from oauth_grant`, "person"},
		{`update oauth_consent set ended_at = now()`, "person"},
		{`delete from oauth_consent`, "person"},
		{`insert into role_assignment (role, kind, subject) values ('viewer', 'person', 'x')`, "roles"},
		{`update role_assignment set person_id = '` + bert + `'`, "roles"},
		{`update role_assignment set role = role where false`, ""},
		{`delete from role_assignment`, "roles"},
		{`update powerbi_workspace set name = 'v'`, "tenant"},
		{`insert into powerbi_dataset (id, workspace_id, name, folded) values ('` + some + `', '` + some + `', 'd', 'd')`, "tenant"},
		{`insert into dataset_switch (dataset_id, is_off) values ('` + some + `', true)`, "tenant"},
		{`insert into powerbi_table (dataset_id, name, folded) values ('` + some + `', 't', 't')`, "tenant"},
		{`insert into powerbi_column (dataset_id, table_id, name, folded) select dataset_id, id, 'c', 'c' from powerbi_table`, "tenant"},
		{`insert into powerbi_measure (dataset_id, table_id, name, folded) select dataset_id, id, 'm', 'm' from powerbi_table`, "tenant"},
		{`insert into powerbi_app (id, workspace_id, name) values ('` + some + `', '` + some + `', 'a')`, "tenant"},
		{`insert into powerbi_app_dataset (app_id, dataset_id) values ('` + some + `', '` + some + `')`, "tenant"},
		{`insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('app', '` + some + `', '` + some + `', 'Read')`, "tenant"},
		{`delete from powerbi_access`, "tenant"},
		{`insert into pii_rule (kind, table_name, table_folded, name_folded, pii) values ('table', 'T', 't', '', true)`, "pii"},
		{`delete from pii_rule`, "pii"},
		{`insert into setting (key, value) values ('access.default_role', '"none"')`, "roles"},
		{`truncate setting`, "roles"},
		{`truncate session`, "roles"},
		{`truncate oauth_grant, oauth_code, oauth_refresh_token`, "roles"},
		{`truncate role_assignment`, "roles"},
		{`truncate powerbi_access`, "tenant"},
		{`truncate pii_rule`, "pii"},
	} {
		before, others := read(t, db, ada), read(t, db, bert)
		if again := read(t, db, ada); again != before {
			t.Fatalf("two readings with nothing between them differ in %s", changed(before, again))
		}
		db.Exec(c.sql)
		if got := changed(before, read(t, db, ada)); got != c.want {
			t.Errorf("%s\nchanges %q, want %q", c.sql, got, c.want)
		}
		if got := changed(others, read(t, db, bert)); strings.Contains(got, "person") {
			t.Errorf("%s\nchanges somebody else", c.sql)
		}
	}
	var rows int
	if db.QueryRow(`select count(*) from revision`, nil, &rows); rows > 4 {
		t.Errorf("%d rows are left, for 4 subjects", rows)
	}
}

// Two transactions that change the same thing do not wait for each other, what is
// not committed does not show, and what is rolled back never does.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	begin := func() pgx.Tx {
		tx, err := db.Worker().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	exec := func(tx pgx.Tx, item string) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), `set local lock_timeout = '2s'`); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('app', $1, $1, 'Read')`, item); err != nil {
			t.Fatal(err)
		}
	}
	start := read(t, db, ada)
	first, second, third := begin(), begin(), begin()
	exec(first, ada)
	exec(second, bert)
	exec(third, some)
	if got := changed(start, read(t, db, ada)); got != "" {
		t.Errorf("what is not committed shows in %s", got)
	}
	seen := map[revision.Revisions]string{start: "nothing"}
	for _, step := range []struct {
		name string
		end  func() error
		same bool
	}{
		{"the second", func() error { return second.Commit(t.Context()) }, false},
		{"the third, rolled back", func() error { return third.Rollback(t.Context()) }, true},
		{"the first", func() error { return first.Commit(t.Context()) }, false},
	} {
		before := read(t, db, ada)
		if err := step.end(); err != nil {
			t.Fatal(err)
		}
		now := read(t, db, ada)
		if (now == before) != step.same {
			t.Errorf("after %s: the same is %v", step.name, now == before)
		}
		if was, ok := seen[now]; ok && !step.same {
			t.Errorf("after %s it is as after %s", step.name, was)
		}
		seen[now] = step.name
	}
}

// Under any mixture of writers, equal revisions mean an equal state.
func TestEqualRevisionsMeanAnEqualState(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				tx, err := db.API().Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				_, err = tx.Exec(t.Context(), `insert into pii_rule (kind, table_name, table_folded, name_folded, pii) values ('table', $1, $1, '', true)`, fmt.Sprintf("t%d-%d", w, n))
				if err != nil {
					t.Error(err)
				}
				end := tx.Commit
				if n%5 == 4 {
					end = tx.Rollback
				}
				if err := end(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	states := map[revision.Revision]int{}
	for range 400 {
		before := read(t, db, ada)
		var count int
		if err := db.API().QueryRow(t.Context(), `select count(*) from pii_rule`).Scan(&count); err != nil {
			t.Fatal(err)
		}
		if read(t, db, ada) != before {
			continue // something came in between
		}
		if was, ok := states[before.PII]; ok && was != count {
			t.Fatalf("the same revision stands for %d and for %d rules", was, count)
		}
		states[before.PII] = count
	}
	close(stop)
	writers.Wait()
	if len(states) < 5 {
		t.Errorf("only %d states were seen", len(states))
	}
}
