package setting_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
)

// FETCH-11: every process reads what holds at that moment, and
// rows of what is no setting are passed over.
func TestReadIsAfresh(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	processes := map[string]*setting.Store{"the api": setting.New(db.API(), setting.Base{}), "the worker": setting.New(db.Worker(), setting.Base{})}
	want := func(timeout time.Duration, perMinute int) {
		t.Helper()
		for name, s := range processes {
			v, err := s.Read(t.Context())
			if err != nil || v.Query.Timeout() != timeout || v.ServiceAccounts.RatePerMinute != perMinute {
				t.Errorf("%s reads %v and %d, %v; want %v and %d", name, v.Query.Timeout(), v.ServiceAccounts.RatePerMinute, err, timeout, perMinute)
			}
		}
	}
	want(120*time.Second, 60)
	db.Exec(`insert into setting (key, value) values ('query.timeout_seconds', '30'), ('service_accounts.rate_per_minute', '2'), ('setup.step', '"app"')`)
	want(30*time.Second, 2)
	for _, key := range []string{"powerbi.authority", "powerbi.api_url", "powerbi.graph_url", "search.base_url"} {
		db.Exec(`insert into setting (key, value) values ($1, '"https://attacker.example"')`, key)
	}
	want(30*time.Second, 2)
	if v, err := processes["the api"].Read(t.Context()); err != nil || v.PowerBI != (setting.PowerBI{}) {
		t.Errorf("with addresses of an attacker's: %+v, %v", v.PowerBI, err)
	}
	db.Exec("update setting set value = '601' where key = 'query.timeout_seconds'")
	for name, s := range processes {
		_, err := s.Read(t.Context())
		if invalid, ok := errors.AsType[*setting.InvalidError](err); !ok || invalid.Key != "query.timeout_seconds" {
			t.Errorf("%s reads what the setting does not take: %v", name, err)
		}
	}
}

// A reader in a transaction sees what the transaction wrote.
func TestReadWithinATransaction(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	tx, err := db.API().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `insert into setting (key, value) values ('access.default_role', '"none"')`); err != nil {
		t.Fatal(err)
	}
	s := setting.New(db.API(), setting.Base{})
	v, err := s.Within(tx).Read(t.Context())
	if err != nil || v.Access.DefaultRole != setting.NoDefaultRole {
		t.Errorf("within: %q, %v", v.Access.DefaultRole, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Read(t.Context()); err != nil || v.Access.DefaultRole != "viewer" {
		t.Errorf("after the rollback: %q, %v", v.Access.DefaultRole, err)
	}
}
