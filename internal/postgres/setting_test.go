package postgres_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

const (
	ownTenant   = `"5a3b1c00-7e57-4000-8000-0000000c0de5"`
	otherTenant = `"6b1f0f3e-6f0c-4f5a-9b0e-1d2c3b4a5960"`
)

// bound is a database that belongs to ownTenant.
func bound(t *testing.T) *postgrestest.Database {
	t.Helper()
	db := postgrestest.New(t)
	db.Exec("insert into deployment_tenant (tenant_id, mock) values (($1::jsonb #>> '{}')::uuid, true)", ownTenant)
	return db
}

// refuse expects that a trigger refuses a statement.
func refuse(t *testing.T, pool *pgxpool.Pool, trigger, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	e, ok := errors.AsType[*postgres.Error](postgres.Translate(err))
	if !ok || e.Constraint != trigger {
		t.Errorf("as %s: %s %v: got %v, want the refusal of %s", pool.Config().ConnConfig.User, sql, args, err, trigger)
	}
}

// TENANT-13: whoever can write the table, its owner included, can save the bound
// tenant and no other.
func TestSettingKeepsTenant(t *testing.T) {
	t.Parallel()
	db := bound(t)
	superuser, err := pgxpool.New(t.Context(), db.SuperuserURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(superuser.Close)
	const insert = "insert into setting (key, value) values ('powerbi.tenant_id', $1::jsonb)"
	for _, pool := range []*pgxpool.Pool{db.API(), db.Pool(postgres.Migrator), superuser} {
		for _, value := range []string{otherTenant, "null", "1", `[` + ownTenant + `]`, `""`} {
			refuse(t, pool, "setting_keeps_tenant", insert, value)
			refuse(t, pool, "setting_keeps_tenant", insert+" on conflict (key) do update set value = excluded.value", value)
		}
		allow(t, pool, "insert into setting (key, value) values ('powerbi.tenant_id', '"+ownTenant+"')")
		allow(t, pool, "update setting set value = '"+ownTenant+"' where key = 'powerbi.tenant_id'")
		refuse(t, pool, "setting_keeps_tenant", "update setting set value = $1::jsonb where key = 'powerbi.tenant_id'", otherTenant)
		refuse(t, pool, "setting_keeps_tenant", "delete from setting where key = 'powerbi.tenant_id'")
		refuse(t, pool, "setting_keeps_tenant", "delete from setting")
		allow(t, pool, "insert into setting (key, value) values ('query.timeout_seconds', '1')")
		allow(t, pool, "delete from setting where key = 'query.timeout_seconds'")
		var kept string
		db.QueryRow("select string_agg(key || ' ' || value::text, ', ') from setting", nil, &kept)
		if kept != "powerbi.tenant_id "+ownTenant {
			t.Errorf("as %s: kept %s", pool.Config().ConnConfig.User, kept)
		}
		db.Exec("alter table setting disable trigger user; delete from setting; alter table setting enable trigger user")
	}
	for _, role := range []postgres.Role{postgres.Worker, postgres.AuditWriter} {
		for _, sql := range []string{"insert into setting (key, value) values ('powerbi.tenant_id', '" + ownTenant + "')", "update setting set version = 9", "delete from setting", "truncate setting"} {
			deny(t, db.Pool(role), sql)
		}
	}
	deny(t, db.API(), "truncate setting")
	deny(t, db.API(), "alter table setting disable trigger user")
}

// A database that belongs to no tenant yet takes one and takes it back.
func TestSettingOfAnUnboundDatabase(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	allow(t, db.API(), "insert into setting (key, value) values ('powerbi.tenant_id', '"+ownTenant+"')")
	allow(t, db.API(), "update setting set value = '"+otherTenant+"'")
	allow(t, db.API(), "delete from setting")
}

// TENANT-14
func TestSettingKeepsKey(t *testing.T) {
	t.Parallel()
	db := bound(t)
	db.Exec("insert into setting (key, value) values ('powerbi.tenant_id', $1::jsonb), ('query.timeout_seconds', '1')", ownTenant)
	for _, pool := range []*pgxpool.Pool{db.API(), db.Pool(postgres.Migrator)} {
		for _, key := range []string{"powerbi.tenant_id", "query.timeout_seconds"} {
			refuse(t, pool, "setting_keeps_key", "update setting set key = 'moved' where key = $1", key)
		}
		allow(t, pool, "update setting set value = '2' where key = 'query.timeout_seconds'")
	}
}

// TENANT-15: what stands first in a session's path, a schema or the session's own
// temporary one, does not change which tenant is the bound one.
func TestSettingTriggersPinTheirPath(t *testing.T) {
	t.Parallel()
	db := bound(t)
	for _, function := range []string{"setting_keeps_tenant", "setting_keeps_key", "deployment_has_admin"} {
		var pinned []string
		db.QueryRow("select proconfig from pg_proc where proname = $1", []any{function}, &pinned)
		if want := []string{"search_path=public, pg_temp"}; !slices.Equal(pinned, want) {
			t.Errorf("%s has %q, want %q", function, pinned, want)
		}
	}
	db.Exec(`create schema hostile; create table hostile.deployment_tenant (tenant_id uuid); grant usage on schema hostile to api_rw;
		grant select on hostile.deployment_tenant to api_rw`)
	db.Exec("insert into hostile.deployment_tenant values (($1::jsonb #>> '{}')::uuid)", otherTenant)
	db.Exec("insert into setting (key, value) values ('powerbi.tenant_id', $1::jsonb)", ownTenant)
	for name, c := range map[string]struct{ url, path string }{
		"a schema": {db.URL(postgres.API), "set search_path = hostile, public"},
		// None of the stack's roles may make one.
		"a temporary table": {db.SuperuserURL(), "create temporary table deployment_tenant (tenant_id uuid); insert into pg_temp.deployment_tenant select tenant_id from hostile.deployment_tenant"},
	} {
		conn, err := pgx.Connect(t.Context(), c.url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), c.path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var shadow string
		if err := conn.QueryRow(t.Context(), "select to_jsonb(tenant_id)::text from deployment_tenant").Scan(&shadow); err != nil || shadow != otherTenant {
			t.Fatalf("%s shadows nothing: %s, %v", name, shadow, err)
		}
		_, err = conn.Exec(t.Context(), "update public.setting set value = $1::jsonb where key = 'powerbi.tenant_id'", otherTenant)
		if e, ok := errors.AsType[*postgres.Error](postgres.Translate(err)); !ok || e.Constraint != "setting_keeps_tenant" {
			t.Errorf("%s: %v", name, err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TENANT-01, TENANT-16
func TestBindingStays(t *testing.T) {
	t.Parallel()
	db := bound(t)
	for _, role := range []postgres.Role{postgres.API, postgres.Worker, postgres.AuditWriter} {
		deny(t, db.Pool(role), "update deployment_tenant set mock = false")
		deny(t, db.Pool(role), "delete from deployment_tenant")
		deny(t, db.Pool(role), "truncate deployment_tenant")
	}
	if _, err := db.API().Exec(t.Context(), "insert into deployment_tenant (tenant_id, mock) values (gen_random_uuid(), true)"); !errors.Is(postgres.Translate(err), postgres.ErrDuplicate) {
		t.Errorf("a second binding: %v", err)
	}
	var granted []string
	db.QueryRow(`select coalesce(array_agg(grantee || ' ' || privilege_type order by grantee, privilege_type), '{}') from information_schema.table_privileges
		where table_name = 'deployment_tenant' and grantee <> 'migrator'`, nil, &granted)
	if want := []string{"api_rw INSERT", "api_rw SELECT", "worker_rw SELECT"}; !slices.Equal(granted, want) {
		t.Errorf("granted %q, want %q", granted, want)
	}
}

// TENANT-09
func TestWorkerLearnsOneBitOfAdmins(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, want := range []bool{false, true} {
		var has bool
		if err := db.Worker().QueryRow(t.Context(), "select deployment_has_admin()").Scan(&has); err != nil || has != want {
			t.Errorf("deployment_has_admin is %v, %v, want %v", has, err, want)
		}
		deny(t, db.Worker(), "select from role_assignment")
		deny(t, db.Pool(postgres.AuditWriter), "select deployment_has_admin()")
		db.Exec("insert into role_assignment (role, kind, subject) values ('admin', 'person', 'admin@sample.example') on conflict do nothing")
	}
	var definer bool
	db.QueryRow("select prosecdef from pg_proc where proname = 'deployment_has_admin'", nil, &definer)
	if !definer {
		t.Error("the function does not run as its owner")
	}
}
