package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var curator = &policies.Principal{
	Kind: policies.Person, ID: "5f0c0de5-0000-4000-8000-000000000001", Name: "Cora Curator",
	Via: policies.ViaConnector, ClientID: "a-client", Credential: "a-grant", Address: "192.0.2.7",
}

// AUTHZ-10, AUTHZ-21
func TestWriteKeepsWhoWhatAndThroughWhat(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ctx := requestid.NewContext(t.Context(), "request-1")
	for _, role := range []postgres.Role{postgres.API, postgres.Worker} {
		err := audit.NewWriter(db.Pool(role)).Write(ctx, curator, audit.Event{
			Action: "mark_pii", Outcome: audit.Deny, Element: "Customer[Customer]", Reason: "pii_refused", Detail: map[string]any{"columns": 2},
		})
		if err != nil {
			t.Fatalf("as %s: %v", role, err)
		}
	}
	var rows int
	var got []string
	db.QueryRow(`select count(*), array_agg(distinct concat_ws(' ', principal_kind, principal_id, principal_name, via, client_id, credential, address,
		request_id, action, outcome, element, reason, detail)) from audit_event`, nil, &rows, &got)
	want := []string{`person 5f0c0de5-0000-4000-8000-000000000001 Cora Curator connector a-client a-grant 192.0.2.7 ` +
		`request-1 mark_pii deny Customer[Customer] pii_refused {"columns": 2}`}
	if rows != 2 || !cmp.Equal(got, want) {
		t.Errorf("%d rows; got, want: %s", rows, cmp.Diff(got, want))
	}
}

// AUTHZ-21
func TestWriteSharesTheCallersTransactionAndGivesItsRoleBack(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	write := func(end error) error {
		return postgres.Tx(t.Context(), db.API(), func(tx pgx.Tx) error {
			if err := audit.Write(t.Context(), tx, curator, audit.Event{Action: "change", Outcome: audit.Allow}); err != nil {
				return err
			}
			var user string
			if err := tx.QueryRow(t.Context(), "select current_user").Scan(&user); err != nil || user != string(postgres.API) {
				t.Errorf("after the audit the transaction runs as %q, %v", user, err)
			}
			if _, err := tx.Exec(t.Context(), "insert into setting (key, value) values ('k', '1')"); err != nil {
				return err
			}
			return end
		})
	}
	failure := errors.New("the work failed")
	if err := write(failure); !errors.Is(err, failure) {
		t.Fatal(err)
	}
	count := func() (events, settings int) {
		db.QueryRow("select (select count(*) from audit_event), (select count(*) from setting)", nil, &events, &settings)
		return
	}
	if events, settings := count(); events != 0 || settings != 0 {
		t.Errorf("after a rollback: %d events, %d settings, want none", events, settings)
	}
	if err := write(nil); err != nil {
		t.Fatal(err)
	}
	if events, settings := count(); events != 1 || settings != 1 {
		t.Errorf("after a commit: %d events, %d settings, want one each", events, settings)
	}
}

func TestWriteQuery(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	rows := 3
	for _, q := range []audit.Query{
		{DatasetID: "5f0c0de5-0000-4000-8000-000000000002", DAX: "EVALUATE Sales", Purpose: "a look", Outcome: "done", Rows: &rows, Duration: 1500 * time.Millisecond, RanAs: "o"},
		{DatasetID: "5f0c0de5-0000-4000-8000-000000000002", DAX: "EVALUATE Customer", Outcome: "pii_refused"},
	} {
		if err := audit.NewWriter(db.API()).WriteQuery(context.Background(), curator, q); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	db.QueryRow(`select array_agg(concat_ws(' ', via, client_id, dax, purpose, outcome, coalesce(rows::text, 'none'), milliseconds, ran_as) order by id) from query_log`, nil, &got)
	want := []string{"connector a-client EVALUATE Sales a look done 3 1500 o", "connector a-client EVALUATE Customer  pii_refused none 0 "}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

func TestWriteFailsWithTheTransactionWhereTheRoleMayNot(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	// The migrator is no member of audit_writer.
	err := audit.NewWriter(db.Pool(postgres.Migrator)).Write(t.Context(), curator, audit.Event{Action: "a", Outcome: audit.Allow})
	if !errors.Is(err, postgres.ErrDenied) {
		t.Errorf("got %v, want ErrDenied", err)
	}
}
