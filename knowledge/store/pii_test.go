package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// office has two datasets in a workspace each: People with a table Customer and a
// role, and Sales with one too.
type office struct {
	t     *testing.T
	db    *postgrestest.Database
	store *store.Store
}

const (
	peopleSpace, salesSpace = "a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"
	peopleID, salesID       = "d0000000-0000-4000-8000-000000000001", "d0000000-0000-4000-8000-000000000002"
)

func newOffice(t *testing.T) *office {
	o := &office{t: t, db: postgrestest.New(t)}
	o.store = store.New(o.db.API())
	o.exec(`insert into powerbi_workspace (id, name, folded) values ($1, 'HR', 'hr'), ($2, 'Shop', 'shop')`, peopleSpace, salesSpace)
	o.exec(`insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, 'People', 'people'), ($3, $4, 'Sales', 'sales')`,
		peopleID, peopleSpace, salesID, salesSpace)
	for _, dataset := range []string{peopleID, salesID} {
		o.exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, 'Customer', 'customer')`, dataset)
		for name, column := range map[string]string{"Email": "string", "Region": "string", "Login": "string"} {
			o.exec(`insert into powerbi_column (dataset_id, table_id, name, folded, data_type) select dataset_id, id, $2, lower($2), $3 from powerbi_table where dataset_id = $1`,
				dataset, name, column)
		}
		o.exec(`insert into powerbi_measure (dataset_id, table_id, name, folded, expression)
			select dataset_id, id, 'Mails', 'mails', 'CONCATENATEX ( Customer, Customer[Email], ";" )' from powerbi_table where dataset_id = $1`, dataset)
	}
	o.exec(`insert into powerbi_column (dataset_id, table_id, name, folded, data_type) select dataset_id, id, 'Salary', 'salary', 'decimal' from powerbi_table where dataset_id = $1`, peopleID)
	o.exec(`insert into powerbi_role (dataset_id, name, definition) values ($1, 'Own', '{"tables": [{"table": "Customer", "filter": "[Login] = USERPRINCIPALNAME ()"}], "members": []}')`, peopleID)
	return o
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	if _, err := o.db.Worker().Exec(o.t.Context(), sql, args...); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) as(name string, workspaces ...string) *policies.Principal {
	return &policies.Principal{
		Kind: policies.Person, ID: name, Name: name, Roles: []string{policies.RoleAdmin}, WorkspaceIDs: workspaces, Via: policies.ViaBrowser,
	}
}

func (o *office) view(p *policies.Principal) *visibility.View {
	o.t.Helper()
	v, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(o.t.Context(), p)
	if err != nil {
		o.t.Fatal(err)
	}
	return v
}

func (o *office) set(p *policies.Principal, ref pii.Ref, marked bool) pii.Change {
	o.t.Helper()
	c, err := o.store.SetRule(o.t.Context(), p, ref, pii.Rule{PII: marked}.State(), "why")
	if err != nil {
		o.t.Fatal(err)
	}
	return c
}

func (o *office) state(ref pii.Ref) pii.State {
	o.t.Helper()
	rules, err := o.store.ListRules(o.t.Context(), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, r := range rules {
		if r.Key() == ref.Key() {
			return r.Rule().State()
		}
	}
	return pii.Undecided
}

var email = pii.Ref{Kind: pii.Column, Table: "Customer", Name: "Email"}

// PII-29, PII-48, PII-49, PII-50, PII-51: one current decision, the last one's
// author, time and way in, and an audit row for each.
func TestOneRuleForAName(t *testing.T) {
	o := newOffice(t)
	first, second := o.as("First"), o.as("Second")
	second.Via = policies.ViaCLI
	o.set(first, email, true)
	o.set(first, pii.Ref{Kind: pii.Column, Table: "CUSTOMER", Name: "ＥＭＡＩＬ"}, false)
	last := o.set(second, email, true)
	rules, err := o.store.ListRules(t.Context(), nil)
	if err != nil || len(rules) != 1 {
		t.Fatalf("%d rules: %v, %v", len(rules), rules, err)
	}
	r := rules[0]
	if !r.PII || r.ChangedBy != "Second" || r.Via != "cli" || r.Version != last.Version || !r.ChangedAt.Equal(last.At) {
		t.Errorf("the rule is %+v after %+v", r, last)
	}
	var audited []string
	o.db.QueryRow(`select array_agg(concat_ws(' ', principal_name, via, action, outcome, element, detail->>'kind', detail->>'before', detail->>'after') order by id) from audit_event`, nil, &audited)
	want := []string{
		"First browser mark_pii allow Customer[Email] column none marked",
		"First browser clear_pii allow CUSTOMER[ＥＭＡＩＬ] column marked cleared",
		"Second cli mark_pii allow Customer[Email] column cleared marked",
	}
	if !slices.Equal(audited, want) {
		t.Errorf("audited %q\nwant %q", audited, want)
	}
}

// PII-28, PII-47: a change is undone where it is the last one, and only there; a
// version never comes back.
func TestRestore(t *testing.T) {
	o := newOffice(t)
	admin := o.as("Admin")
	undo := func(version int64) (pii.Change, error) {
		return o.store.RestoreRule(t.Context(), admin, email, version)
	}
	if _, err := undo(1); !errors.Is(err, knowledge.ErrNotFound) {
		t.Errorf("undoing what never was: %v", err)
	}
	if _, err := o.store.RemoveRule(t.Context(), admin, email); !errors.Is(err, knowledge.ErrNotFound) {
		t.Errorf("removing what never was: %v", err)
	}
	marked := o.set(admin, email, true)
	cleared := o.set(admin, email, false)
	if _, err := undo(marked.Version); !errors.Is(err, knowledge.ErrConflict) || o.state(email) != pii.IsCleared {
		t.Errorf("undoing a change that is not the last: %v, and it is %s", err, o.state(email))
	}
	back, err := undo(cleared.Version)
	if err != nil || o.state(email) != pii.IsMarked || back.Before != pii.IsCleared || back.After != pii.IsMarked || back.Note != "why" {
		t.Errorf("undoing the last change: %+v, %v, and it is %s", back, err, o.state(email))
	}
	removed, err := o.store.RemoveRule(t.Context(), admin, email)
	if err != nil || o.state(email) != pii.Undecided {
		t.Fatal(err)
	}
	if _, err := o.store.RemoveRule(t.Context(), admin, email); !errors.Is(err, knowledge.ErrNotFound) {
		t.Errorf("removing twice: %v", err)
	}
	again := o.set(admin, email, true)
	if again.Version <= removed.Version {
		t.Errorf("the version %d came back after %d", again.Version, removed.Version)
	}
	if _, err := undo(removed.Version); !errors.Is(err, knowledge.ErrConflict) {
		t.Errorf("undoing a removal that was followed by a mark: %v", err)
	}
	if _, err := undo(again.Version); err != nil || o.state(email) != pii.Undecided {
		t.Errorf("undoing the mark: %v, and it is %s", err, o.state(email))
	}
}

// PII-47: of many who undo one change at once, one does.
func TestRestoreOnce(t *testing.T) {
	o := newOffice(t)
	admin := o.as("Admin")
	o.set(admin, email, false)
	change := o.set(admin, email, true)
	var done, refused atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := o.store.RestoreRule(t.Context(), admin, email, change.Version)
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, knowledge.ErrConflict):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 || refused.Load() != 7 || o.state(email) != pii.IsCleared {
		t.Errorf("%d did it and %d were refused; it is %s", done.Load(), refused.Load(), o.state(email))
	}
}

// PII-55, PII-56: the counts are those of what Power BI lets the admin reach, off
// datasets included, whatever policy opens beyond it.
func TestCountMatches(t *testing.T) {
	o := newOffice(t)
	refs := []pii.Ref{email, {Kind: pii.Table, Table: "customer"}, {Kind: pii.Measure, Table: "Customer", Name: "Mails"}, {Kind: pii.Column, Table: "Nothing", Name: "Here"}}
	count := func(p *policies.Principal) string {
		t.Helper()
		found, err := o.store.CountMatches(t.Context(), o.view(p), refs)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(found)
	}
	both, one, none := o.as("both", peopleSpace, salesSpace), o.as("one", salesSpace), o.as("none")
	none.MetadataVisibility = policies.VisibleToEveryone
	for _, c := range []struct {
		who  *policies.Principal
		want string
	}{
		{both, "[{2 0 2} {7 0 2} {0 2 2} {0 0 0}]"},
		{one, "[{1 0 1} {3 0 1} {0 1 1} {0 0 0}]"},
		{none, "[{0 0 0} {0 0 0} {0 0 0} {0 0 0}]"},
	} {
		if got := count(c.who); got != c.want {
			t.Errorf("%s counts %s, want %s", c.who.Name, got, c.want)
		}
	}
	if _, err := o.db.API().Exec(t.Context(), `insert into dataset_switch (dataset_id, is_off) values ($1, true)`, salesID); err != nil {
		t.Fatal(err)
	}
	if got, want := count(one), "[{1 0 1} {3 0 1} {0 1 1} {0 0 0}]"; got != want {
		t.Errorf("with the dataset off it counts %s, want %s", got, want)
	}
}

// PII-52 to PII-54, PII-56, PII-58: suggestions come from what the admin reaches,
// leave out what was decided, and decide nothing.
func TestSuggest(t *testing.T) {
	o := newOffice(t)
	suggested := func(p *policies.Principal, dataset string) []string {
		t.Helper()
		found, err := o.store.Suggest(t.Context(), o.view(p), dataset)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i, s := range found.Suggestions {
			out = append(out, fmt.Sprintf("%s %s %d", s.Ref, s.Reason, found.Datasets[i]))
		}
		return out
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	both, shop := o.as("both", peopleSpace, salesSpace), o.as("shop", salesSpace)
	same("of all", suggested(both, ""), []string{"Customer[Login] identity 0", "Customer[Email] name 2", "Customer[Salary] name 1"})
	same("of one", suggested(both, "Sales"), []string{"Customer[Email] name 1"})
	same("of one by its workspace", suggested(both, "hr/people"), []string{"Customer[Login] identity 0", "Customer[Email] name 1", "Customer[Salary] name 1"})
	same("of what is reached", suggested(shop, ""), []string{"Customer[Email] name 1"})
	for _, hidden := range []string{"People", peopleID, "Nowhere"} {
		if _, err := o.store.Suggest(t.Context(), o.view(shop), hidden); !errors.Is(err, knowledge.ErrNotFound) {
			t.Errorf("of %s, which is out of reach: %v", hidden, err)
		}
	}
	if o.state(email) != pii.Undecided {
		t.Error("a suggestion decided something")
	}
	if _, err := o.db.API().Exec(t.Context(), `insert into dataset_switch (dataset_id, is_off) values ($1, true)`, salesID); err != nil {
		t.Fatal(err)
	}
	same("of one that is off", suggested(shop, "Sales"), []string{"Customer[Email] name 1"})

	o.set(both, email, true)
	same("once one is marked", suggested(both, ""), []string{"Customer[Login] identity 0", "Customer[Mails] value_measure 2", "Customer[Salary] name 1"})
	o.set(both, pii.Ref{Kind: pii.Column, Table: "Customer", Name: "Login"}, false)
	o.set(both, pii.Ref{Kind: pii.Measure, Table: "Customer", Name: "Mails"}, false)
	same("once others are cleared", suggested(both, ""), []string{"Customer[Salary] name 1"})
}
