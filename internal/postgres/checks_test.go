package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// JOBS-08
func TestWorkerKeepsTheOutcomesOfItsOwnChecksAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ids := map[*pgxpool.Pool][]string{
		db.API():    {"database", "policies", "secrets", "app_registration", "sync_age"},
		db.Worker(): {"scanner", "what_to_sync"},
	}
	const write = `insert into setting_check (id, state, answer) values ($1, 'passed', 'written')
		on conflict (id) do update set answer = 'written again'`
	for pool, own := range ids {
		for _, id := range own {
			for range 2 {
				if _, err := pool.Exec(t.Context(), write, id); err != nil {
					t.Errorf("%s writes its %s: %v", pool.Config().ConnConfig.User, id, err)
				}
			}
		}
	}
	db.Exec("update setting_check set answer = 'untouched'")
	for pool := range ids {
		for other, theirs := range ids {
			if other == pool {
				continue
			}
			role := pool.Config().ConnConfig.User
			for _, id := range append(slices.Clone(theirs), "another") {
				if id == "another" && role == "api_rw" {
					continue // whatever is not the worker's is the api's
				}
				if _, err := pool.Exec(t.Context(), write, id); err == nil {
					t.Errorf("%s wrote %s", role, id)
				}
				tag, err := pool.Exec(t.Context(), "update setting_check set answer = 'forged' where id = $1", id)
				if err == nil && tag.RowsAffected() > 0 {
					t.Errorf("%s changed %s", role, id)
				}
			}
			for _, id := range ids[pool] {
				if _, err := pool.Exec(t.Context(), "update setting_check set id = $1 where id = $2", theirs[0]+" ", id); role == "worker_rw" && err == nil {
					t.Errorf("%s renamed %s", role, id)
				}
			}
		}
		deny(t, pool, "delete from setting_check")
		deny(t, pool, "truncate setting_check")
	}
	var changed, seenByWorker, seenByAPI int
	db.QueryRow("select count(*) from setting_check where answer <> 'untouched'", nil, &changed)
	if err := db.Worker().QueryRow(t.Context(), "select count(*) from setting_check").Scan(&seenByWorker); err != nil {
		t.Fatal(err)
	}
	if err := db.API().QueryRow(t.Context(), "select count(*) from setting_check").Scan(&seenByAPI); err != nil {
		t.Fatal(err)
	}
	if changed != 0 || seenByWorker != 2 || seenByAPI != 7 {
		t.Errorf("%d rows are changed, the worker sees %d and the api %d; want 0, 2 and 7", changed, seenByWorker, seenByAPI)
	}
}

// JOBS-10: every table that keeps the answers of checks holds their length.
func TestNoTableKeepsALongAnswer(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var tables []string
	db.QueryRow(`select array_agg(table_name::text) from information_schema.columns
		where table_schema = 'public' and column_name = 'answer' and table_name like '%check%'`, nil, &tables)
	if len(tables) == 0 {
		t.Fatal("no table keeps answers")
	}
	for _, table := range tables {
		for length, want := range map[int]bool{300: true, 301: false} {
			_, err := db.API().Exec(t.Context(), "insert into "+table+" (id, state, answer) values ($1, 'failed', $2)", "c"+string(rune('a'+length%26)), strings.Repeat("é", length))
			failed, _ := errors.AsType[*postgres.Error](postgres.Translate(err))
			if want && err != nil || !want && (failed == nil || failed.Code != "23514") {
				t.Errorf("%s: %d characters: %v", table, length, err)
			}
		}
	}
}

// privileges lists what a role may do with a table, column by column where it may
// not do it with all.
func privileges(db *postgrestest.Database, role postgres.Role, table string) (list []string) {
	db.QueryRow(`
		select coalesce(array_agg(p order by p), '{}') from (
			select lower(privilege_type) as p from information_schema.table_privileges where grantee = $1 and table_name = $2
			union
			select lower(privilege_type) || ' ' || column_name from information_schema.column_privileges c where grantee = $1 and table_name = $2
				and not exists (select from information_schema.table_privileges t where t.grantee = $1 and t.table_name = $2 and t.privilege_type = c.privilege_type)
		) as all_of`, []any{string(role), table}, &list)
	return list
}

// JOBS-18, JOBS-19, JOBS-20
func TestWhoWritesTheSearch(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for table, want := range map[string]map[postgres.Role][]string{
		"search_document": {postgres.API: {"select"}, postgres.Worker: {"delete", "insert", "select", "update"}},
		"search_state":    {postgres.API: {}, postgres.Worker: {"insert", "select", "update"}},
		"embedding_usage": {postgres.API: {"insert", "select"}, postgres.Worker: {"insert", "select"}},
	} {
		want[postgres.AuditWriter] = []string{}
		for role, list := range want {
			if got := privileges(db, role, table); !slices.Equal(got, list) {
				t.Errorf("%s may %q on %s, want %q", role, got, table, list)
			}
		}
	}
	const (
		document = "insert into search_document (element_kind, element_id, body) values ('term', '1', 'b')"
		state    = "insert into search_state (name, value) values ('n', 'v')"
		usage    = "insert into embedding_usage (purpose, model, tokens, cost) values ('query', 'm', 1, 0.1)"
	)
	for _, statement := range []string{document, "update search_document set body = 'c'", state, "update search_state set value = 'w'", usage} {
		allow(t, db.Worker(), statement)
	}
	allow(t, db.API(), "select from search_document")
	for _, statement := range []string{document, "update search_document set body = 'c'", "delete from search_document", "select from search_state", state, "update search_state set value = 'w'"} {
		deny(t, db.API(), statement)
	}
	for _, pool := range []*pgxpool.Pool{db.API(), db.Worker(), db.Pool(postgres.AuditWriter)} {
		deny(t, pool, "delete from search_state")
		deny(t, pool, "truncate search_state")
		for _, statement := range []string{"update embedding_usage set tokens = 0", "delete from embedding_usage", "truncate embedding_usage"} {
			deny(t, pool, statement)
		}
	}
	allow(t, db.API(), usage)
	allow(t, db.API(), "select from embedding_usage")
	allow(t, db.Worker(), "select from embedding_usage")
}

// JOBS-21
func TestSpendIsNeverNegative(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for name, values := range map[string]string{"tokens": "-1, 0", "cost": "0, -1", "a small cost": "0, -0.000001", "an endless cost": "0, 'Infinity'", "no number": "0, 'NaN'"} {
		_, err := db.Worker().Exec(t.Context(), "insert into embedding_usage (purpose, model, tokens, cost) values ('documents', 'm', "+values+")")
		if failed, _ := errors.AsType[*postgres.Error](postgres.Translate(err)); failed == nil || failed.Code != "23514" {
			t.Errorf("%s: %v", name, err)
		}
	}
	allow(t, db.Worker(), "insert into embedding_usage (purpose, model, tokens, cost) values ('documents', 'm', 0, 0)")
}

// JOBS-22
func TestTheMirrorIsTheWorkersAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var tables []string
	db.QueryRow(`select array_agg(relname::text order by relname) from pg_class
		where relnamespace = 'public'::regnamespace and relkind = 'r' and relname like 'powerbi\_%' and relname <> 'powerbi_connection'`, nil, &tables)
	if !slices.Contains(tables, "powerbi_access") || len(tables) < 10 {
		t.Fatalf("the mirror's tables are %q", tables)
	}
	own := []string{"powerbi_column", "powerbi_dataset", "powerbi_measure", "powerbi_table"}
	for _, table := range tables {
		want := []string{"select"}
		if slices.Contains(own, table) {
			want = append(want, "update custom", "update own_description")
		}
		if got := privileges(db, postgres.API, table); !slices.Equal(got, want) {
			t.Errorf("api_rw may %q on %s, want %q", got, table, want)
		}
		if got := privileges(db, postgres.AuditWriter, table); len(got) > 0 {
			t.Errorf("audit_writer may %q on %s", got, table)
		}
		var columns []string
		db.QueryRow("select array_agg(column_name::text) from information_schema.columns where table_name = $1 and is_identity = 'NO'", []any{table}, &columns)
		for _, column := range columns {
			statement := "update " + table + " set " + column + " = " + column
			if slices.Contains(own, table) && (column == "custom" || column == "own_description") {
				allow(t, db.API(), statement)
			} else {
				deny(t, db.API(), statement)
			}
		}
		deny(t, db.API(), "insert into "+table+" default values")
		deny(t, db.API(), "delete from "+table)
		deny(t, db.API(), "truncate "+table)
	}
	// What the api reads of a model under a person's token is not the mirror's.
	for _, table := range []string{"model_relationship", "model_read"} {
		if got := privileges(db, postgres.API, table); !slices.Contains(got, "insert") {
			t.Errorf("api_rw may %q on %s", got, table)
		}
	}
}
