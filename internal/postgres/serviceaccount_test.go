package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// withAccount is a database with one service account.
func withAccount(t *testing.T) *postgrestest.Database {
	t.Helper()
	db := postgrestest.New(t)
	db.Exec("insert into service_account (name, roles) values ('nightly', '{viewer}')")
	return db
}

// SVC-04
func TestAKeyLivesForAtMost90Days(t *testing.T) {
	t.Parallel()
	db := withAccount(t)
	const insert = "insert into service_account_key (account_id, digest, expires_at) select id, sha256($1), now() + $2::interval from service_account"
	for i, pool := range []*pgxpool.Pool{db.API(), db.Pool(postgres.Migrator)} {
		for _, within := range []string{"90 * interval '24 hours'", "interval '1 second'"} {
			var interval string
			db.QueryRow("select ("+within+")::text", nil, &interval)
			if _, err := pool.Exec(t.Context(), insert, []byte(within+string(rune('a'+i))), interval); err != nil {
				t.Errorf("as %s: a key for %s: %v", pool.Config().ConnConfig.User, within, err)
			}
		}
		refuse(t, pool, "service_account_key_check", insert, []byte("over"), "2160:00:01")
	}
	// The owner cannot write it longer afterwards either; the age counts from created_at.
	refuse(t, db.Pool(postgres.Migrator), "service_account_key_check", "update service_account_key set created_at = created_at - interval '1 second' where expires_at > now() + interval '1 day'")
}

// SVC-05
func TestTheApiNeverWritesAKeysAge(t *testing.T) {
	t.Parallel()
	db := withAccount(t)
	allow(t, db.API(), "insert into service_account_key (account_id, digest, expires_at) select id, sha256('k'), now() + interval '1 hour' from service_account")
	deny(t, db.API(), "insert into service_account_key (account_id, digest, expires_at, created_at) select id, sha256('l'), now() + interval '1 hour', now() from service_account")
	for _, set := range []string{"created_at = now()", "expires_at = now()", "digest = sha256('x')", "account_id = account_id", "id = id"} {
		deny(t, db.API(), "update service_account_key set "+set)
	}
	deny(t, db.API(), "delete from service_account_key")
	allow(t, db.API(), "update service_account_key set revoked_at = now()")
	for _, set := range []string{"id = id", "created_at = now()", "created_by = 'x'"} {
		deny(t, db.API(), "update service_account set "+set)
	}
	for _, table := range []string{"service_account", "service_account_key"} {
		deny(t, db.Worker(), "select from "+table)
		deny(t, db.Worker(), "delete from "+table)
	}
}

// SVC-14
func TestAServiceAccountIsNeitherAdminNorPIIReader(t *testing.T) {
	t.Parallel()
	db := withAccount(t)
	for _, pool := range []*pgxpool.Pool{db.API(), db.Pool(postgres.Migrator)} {
		for _, roles := range [][]string{{"admin"}, {"pii_reader"}, {"viewer", "admin"}, {"pii_reader", "curator", "viewer"}, {}} {
			refuse(t, pool, "service_account_roles_check", "insert into service_account (name, roles) values ('other', $1)", roles)
			refuse(t, pool, "service_account_roles_check", "update service_account set roles = $1", roles)
		}
		allow(t, pool, "update service_account set roles = '{curator,metric_steward}'")
	}
}
