package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// A grant is one privilege of one role, such as
// "update of person.name to api_rw" or "usage of sequence river_job_id_seq to worker_rw".
type grant string

// AUTHZ-24
func TestGrantsAreThoseThatTheMigrationsDeclare(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, problem := range compareGrants(t, db) {
		t.Error(problem)
	}
}

// AUTHZ-24
func TestGrantsComparisonFindsWhatIsNotDeclared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, want string }{
		"a table without a declaration": {
			"create table fixture (id int); alter table fixture owner to migrator",
			"table fixture has no declared grant",
		},
		"a table grant":                {"grant delete on person to api_rw", "not declared: delete of person to api_rw"},
		"a column grant":               {"grant update (name) on person to worker_rw", "not declared: update of person.name to worker_rw"},
		"a grant to everybody":         {"grant select on setting to public", "not declared: select of setting to public"},
		"a grant on a sequence":        {"grant update on sequence river_job_id_seq to api_rw", "not declared: update of sequence river_job_id_seq to api_rw"},
		"a function that all may call": {"create function fixture() returns int language sql as 'select 1'", "not declared: execute of function fixture to public"},
		"a declared grant that is gone": {
			"revoke select on setting from worker_rw",
			"declared but not there: select of setting to worker_rw",
		},
		"a declared column grant that is gone": {
			"revoke select (id) on person from worker_rw",
			"declared but not there: select of person.id to worker_rw",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			db.Exec(c.change)
			if problems := compareGrants(t, db); !slices.Equal(problems, []string{c.want}) {
				t.Errorf("got %q, want %q alone", problems, c.want)
			}
		})
	}
}

// AUTHZ-23
func TestMigratorOwnsEverything(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var others []string
	db.QueryRow(`select coalesce(array_agg(c.relname::text), '{}') from pg_class c
		where c.relnamespace = 'public'::regnamespace and c.relowner <> 'migrator'::regrole
		and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`, nil, &others)
	if len(others) > 0 {
		t.Errorf("not owned by migrator: %q", others)
	}
	var privileged []string
	db.QueryRow(`select coalesce(array_agg(rolname::text), '{}') from pg_roles
		where rolname in ('migrator', 'api_rw', 'worker_rw', 'audit_writer')
		and (rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls)`, nil, &privileged)
	if len(privileged) > 0 {
		t.Errorf("roles with powers over the cluster: %q", privileged)
	}
	var members []string
	db.QueryRow(`select coalesce(array_agg(m.rolname || ' in ' || r.rolname order by m.rolname), '{}')
		from pg_auth_members a join pg_roles m on m.oid = a.member join pg_roles r on r.oid = a.roleid
		where m.rolname in ('migrator', 'api_rw', 'worker_rw', 'audit_writer')`, nil, &members)
	if want := []string{"api_rw in audit_writer", "worker_rw in audit_writer"}; !slices.Equal(members, want) {
		t.Errorf("memberships %q, want %q", members, want)
	}
}

// AUTHZ-20
func TestOpenRefusesAnAddressOfAnotherRole(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, role := range []postgres.Role{postgres.API, postgres.Worker, postgres.AuditWriter} {
		var user string
		if err := db.Pool(role).QueryRow(t.Context(), "select current_user").Scan(&user); err != nil || user != string(role) {
			t.Errorf("current_user of the pool of %s: %q, %v", role, user, err)
		}
		if pool, err := postgres.Open(t.Context(), db.URL(postgres.Migrator), role); err == nil {
			pool.Close()
			t.Errorf("the migrator's address was taken for %s", role)
		}
	}
}

// AUTHZ-21
func TestAuditWriterInsertsAndNothingElse(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var grants []string
	db.QueryRow(`select coalesce(array_agg(lower(privilege_type) || ' ' || table_name order by table_name), '{}')
		from information_schema.table_privileges where grantee = 'audit_writer'`, nil, &grants)
	if want := []string{"insert audit_event", "insert query_log"}; !slices.Equal(grants, want) {
		t.Errorf("grants %q, want %q", grants, want)
	}
	pool := db.Pool(postgres.AuditWriter)
	allow(t, pool, `insert into audit_event (principal_kind, principal_id, via, action, outcome) values ('person', 'p', 'browser', 'a', 'allow')`)
	allow(t, pool, `insert into query_log (principal_id, via, dataset_id, dax, outcome, milliseconds) values ('p', 'browser', gen_random_uuid(), 'd', 'done', 1)`)
	for _, table := range []string{"audit_event", "query_log"} {
		deny(t, pool, "select from "+table)
		deny(t, pool, "update "+table+" set via = 'x'")
		deny(t, pool, "delete from "+table)
		deny(t, pool, "truncate "+table)
	}
	// The api and the worker have its right only after they switched to it.
	for _, pool := range []*pgxpool.Pool{db.API(), db.Worker()} {
		deny(t, pool, `insert into audit_event (principal_kind, principal_id, via, action, outcome) values ('person', 'p', 'browser', 'a', 'allow')`)
	}
}

// AUTHZ-22
func TestRecordsAreAppendOnly(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec(`insert into audit_event (principal_kind, principal_id, via, action, outcome) values ('person', 'p', 'browser', 'a', 'allow');
		insert into query_log (principal_id, via, dataset_id, dax, outcome, milliseconds) values ('p', 'browser', gen_random_uuid(), 'd', 'done', 1);
		insert into book_change (principal_kind, principal_id, via, element_kind, element_id) values ('person', 'p', 'browser', 'term', '1')`)
	for _, role := range []postgres.Role{postgres.API, postgres.Worker, postgres.AuditWriter} {
		pool := db.Pool(role)
		for _, table := range []string{"audit_event", "query_log", "book_change"} {
			deny(t, pool, "update "+table+" set via = 'changed'")
			deny(t, pool, "delete from "+table)
			deny(t, pool, "truncate "+table)
			deny(t, pool, "drop table "+table)
		}
	}
}

// JOBS-23
func TestQueueTablesBelongToTheMigrator(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var tables []string
	db.QueryRow(`select array_agg(tablename::text order by tablename) from pg_tables where tablename like 'river%' and tableowner = 'migrator'`, nil, &tables)
	if want := []string{"river_job", "river_leader", "river_migration", "river_notification", "river_queue"}; !slices.Equal(tables, want) {
		t.Errorf("queue tables of migrator: %q, want %q", tables, want)
	}
	for _, role := range []postgres.Role{postgres.API, postgres.Worker} {
		allow(t, db.Pool(role), "insert into river_job (kind, args, max_attempts, queue) values ('k', '{}', 1, 'api')")
		allow(t, db.Pool(role), "update river_job set priority = 2")
		allow(t, db.Pool(role), "delete from river_job")
		for _, table := range tables {
			deny(t, db.Pool(role), "truncate "+table)
			deny(t, db.Pool(role), "alter table "+table+" add column c int")
		}
	}
	for _, table := range tables {
		deny(t, db.Pool(postgres.AuditWriter), "select from "+table)
		deny(t, db.Pool(postgres.AuditWriter), "insert into "+table+" default values")
	}
}

// NET-23
func TestWorkerOnlyReadsAndDeletesRates(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	allow(t, db.API(), "insert into request_rate (rule, subject, window_start, count) values ('r', 's', now(), 1)")
	deny(t, db.Worker(), "insert into request_rate (rule, subject, window_start, count) values ('r', 't', now(), 1)")
	deny(t, db.Worker(), "update request_rate set count = 0")
	allow(t, db.Worker(), "select from request_rate")
	allow(t, db.Worker(), "delete from request_rate")
}

// SECRET-05
func TestContainerWritesItsOwnIdentityAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	pools := map[string]*pgxpool.Pool{"api": db.API(), "worker": db.Worker()}
	for own, pool := range pools {
		if _, err := pool.Exec(t.Context(), "insert into container_identity (container, recipient) values ($1, 'own')", own); err != nil {
			t.Fatalf("%s publishes its own: %v", own, err)
		}
	}
	for own, pool := range pools {
		other := map[string]string{"api": "worker", "worker": "api"}[own]
		tag, err := pool.Exec(t.Context(), "update container_identity set recipient = 'forged' where container = $1", other)
		if err == nil && tag.RowsAffected() > 0 {
			t.Errorf("%s changed the recipient of %s", own, other)
		}
		if _, err := pool.Exec(t.Context(), "update container_identity set container = $1 where container = $2", other, own); err == nil {
			t.Errorf("%s renamed its row to %s", own, other)
		}
		if _, err := pool.Exec(t.Context(), `insert into container_identity (container, recipient) values ($1, 'forged')
			on conflict (container) do update set recipient = excluded.recipient`, other); err == nil {
			t.Errorf("%s inserted over the row of %s", own, other)
		}
	}
	var forged int
	db.QueryRow("select count(*) from container_identity where recipient <> 'own'", nil, &forged)
	if forged != 0 {
		t.Errorf("%d forged recipients", forged)
	}
}

func allow(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Errorf("%s may not: %s: %v", pool.Config().ConnConfig.User, sql, err)
	}
}

// deny expects that a statement fails for want of a right, and not otherwise.
func deny(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	if err = postgres.Translate(err); !errors.Is(err, postgres.ErrDenied) {
		t.Errorf("as %s: %s: got %v, want ErrDenied", pool.Config().ConnConfig.User, sql, err)
	}
}

// compareGrants gives a line for each difference between what the migration
// files declare and what the database has, in both directions.
func compareGrants(t *testing.T, db *postgrestest.Database) []string {
	t.Helper()
	declared, tables := declaredGrants(t)
	actual, actualTables := actualGrants(t, db)
	var problems []string
	for g := range actual {
		if !declared[g] {
			problems = append(problems, "not declared: "+string(g))
		}
	}
	for g := range declared {
		if !actual[g] {
			problems = append(problems, "declared but not there: "+string(g))
		}
	}
	for _, table := range actualTables {
		if !tables[table] {
			problems = append(problems, fmt.Sprintf("table %s has no declared grant", table))
		}
	}
	slices.Sort(problems)
	return problems
}

var (
	comment   = regexp.MustCompile(`--[^\n]*`)
	statement = regexp.MustCompile(`(?is)\bgrant\s+([^;]*?)\s+on\s+(?:(table|sequence|function|schema)\s+)?([^;]*?)\s+to\s+([^;]*?)\s*;`)
	privilege = regexp.MustCompile(`(?i)(\w+)(?:\s*\(([^)]*)\))?`)
)

// declaredGrants reads the grant statements of the migration files, and which
// tables they name.
func declaredGrants(t *testing.T) (map[grant]bool, map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	grants, tables := map[grant]bool{}, map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sql := comment.ReplaceAllString(string(content), "")
		for _, m := range statement.FindAllStringSubmatch(sql, -1) {
			kind := strings.ToLower(m[2])
			for object := range strings.SplitSeq(m[3], ",") {
				object, _, _ = strings.Cut(strings.TrimSpace(object), "(") // a function's arguments
				if kind == "" || kind == "table" {
					tables[object] = true
				} else {
					object = kind + " " + object
				}
				for role := range strings.SplitSeq(m[4], ",") {
					for _, p := range privilege.FindAllStringSubmatch(m[1], -1) {
						for column := range strings.SplitSeq(p[2], ",") {
							name := object
							if column = strings.TrimSpace(column); column != "" {
								name += "." + column
							}
							grants[grant(strings.ToLower(p[1])+" of "+name+" to "+strings.TrimSpace(role))] = true
						}
					}
				}
			}
		}
	}
	return grants, tables
}

// actualGrants reads what the catalog says of everything in the database that
// is not an extension's: what anybody but an object's owner may do, and which
// tables there are.
func actualGrants(t *testing.T, db *postgrestest.Database) (map[grant]bool, []string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, db.SuperuserURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		with ours as (
			select c.oid, c.relname, c.relkind, c.relowner, c.relacl from pg_class c
			where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
			and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
		), acl (name, owner, items) as (
			select case relkind when 'S' then 'sequence ' else '' end || relname, relowner, relacl from ours
			union all
			select ours.relname || '.' || a.attname, ours.relowner, a.attacl from pg_attribute a join ours on ours.oid = a.attrelid
			union all
			select 'function ' || p.proname, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) from pg_proc p
			where p.pronamespace = 'public'::regnamespace
			and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
			union all
			select 'schema ' || nspname, nspowner, nspacl from pg_namespace where nspname !~ '^(pg_|information_schema)'
		)
		select lower(e.privilege_type) || ' of ' || acl.name || ' to ' || coalesce(r.rolname, 'public')
		from acl cross join aclexplode(acl.items) e left join pg_roles r on r.oid = e.grantee
		where e.grantee <> acl.owner`)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[grant])
	if err != nil {
		t.Fatal(err)
	}
	grants := map[grant]bool{}
	for _, g := range found {
		grants[g] = true
	}
	var tables []string
	db.QueryRow(`select array_agg(relname::text) from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
		and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`, nil, &tables)
	return grants, tables
}
