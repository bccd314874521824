package visibility_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// VIS-07 VIS-12: a completed statement filters, and brings its values beside those
// of the text.
func TestStatement(t *testing.T) {
	db := model(t, map[string][2]string{"Customer": {"Customer,Region", "Orders"}})
	rule(t, db, pii.Rule{Kind: pii.Column, Table: "Customer", Name: "Customer", PII: true})
	p := person(0)
	v, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	const text = `
		select d.name || ' ' || c.name || ' ' || {pii_column c t} || ' ' || array_to_string({app_ids d}, ' ')
		from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
		where {datasets d} and {columns c t} and c.name = @name
		union all
		select d.name || ' ' || m.name || ' ' || {pii_measure m t}
		from powerbi_measure m join powerbi_table t on t.id = m.table_id join powerbi_dataset d on d.id = m.dataset_id
		where {datasets d} and {measures m t}
		order by 1`
	for name, want := range map[string]string{
		"Region":   "dataset 0 Orders false|dataset 0 Region false " + id('b', 0) + "|dataset 1 Orders false|dataset 1 Region false " + id('b', 0) + " " + id('b', 1),
		"Customer": "dataset 0 Orders false|dataset 1 Orders false",
	} {
		given := pgx.NamedArgs{"name": name}
		sql, args := v.Statement(text, given)
		if got := strings.Join(ask(t, db, sql, args), "|"); got != want {
			t.Errorf("columns named %s:\n%s, want\n%s", name, got, want)
		}
		if len(given) != 1 {
			t.Errorf("the caller's arguments were changed to %v", given)
		}
		for _, ids := range [][]string{p.WorkspaceIDs, p.AppIDs, p.DatasetIDs} {
			if strings.Contains(sql, ids[0]) {
				t.Errorf("the statement holds a value: %s", sql)
			}
		}
	}
	var none *visibility.View
	sql, args := none.Statement(text, pgx.NamedArgs{"name": "Region"})
	if got := ask(t, db, sql, args); len(got) != 0 {
		t.Errorf("without a view, it shows %v", got)
	}
}

// A text with a condition that does not exist is a mistake in our own code.
func TestStatementRefusesUnknownConditions(t *testing.T) {
	for _, text := range []string{"{dataset d}", "{datasets d e}", "{columns c}", "{pii_column c}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is completed", text)
				}
			}()
			v, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}})
			if err != nil {
				t.Fatal(err)
			}
			v.Statement("select 1 where "+text, nil)
		}()
	}
}
