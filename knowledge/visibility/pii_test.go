package visibility_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// model puts tables with columns and measures into two datasets.
func model(t testing.TB, tables map[string][2]string) *postgrestest.Database {
	t.Helper()
	db := tenant(t)
	for _, dataset := range []string{id('d', 0), id('d', 1)} {
		for table, elements := range tables {
			exec(t, db.Worker(), `insert into powerbi_table (dataset_id, name, folded) values ($1, $2, $3)`, dataset, table, knowledge.Fold(table))
			for i, kind := range []string{"powerbi_column", "powerbi_measure"} {
				for name := range strings.SplitSeq(elements[i], ",") {
					if name == "" {
						continue
					}
					exec(t, db.Worker(), `insert into `+kind+` (dataset_id, table_id, name, folded)
						select $1, id, $3, $4 from powerbi_table where dataset_id = $1 and name = $2`, dataset, table, name, knowledge.Fold(name))
				}
			}
		}
	}
	return db
}

// rule decides as a store does.
func rule(t testing.TB, db *postgrestest.Database, r pii.Rule) {
	t.Helper()
	exec(t, db.API(), `insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ($1, $2, $3, $4, $5, $6)
		on conflict (kind, table_folded, name_folded) do update set pii = excluded.pii`,
		r.Kind, r.Table, r.Name, knowledge.Fold(r.Table), knowledge.Fold(r.Name), r.PII)
}

// elements lists the columns and measures of one dataset that v shows, and how
// many of it are left out.
func elements(t testing.TB, db *postgrestest.Database, v *visibility.View) (shown string, hidden int) {
	t.Helper()
	out := ask(t, db, `
		select t.name || '[' || c.name || ']' from powerbi_column c join powerbi_table t on t.id = c.table_id where c.dataset_id = $1 and `+v.Columns("c", "t")+`
		union all
		select t.name || '{' || m.name || '}' from powerbi_measure m join powerbi_table t on t.id = m.table_id where m.dataset_id = $1 and `+v.Measures("m", "t")+`
		order by 1`, []any{id('d', 1)})
	counts := ask(t, db, `select count(*)::text from (
		select 1 from powerbi_column c join powerbi_table t on t.id = c.table_id where c.dataset_id = $1 and not `+v.Columns("c", "t")+`
		union all
		select 1 from powerbi_measure m join powerbi_table t on t.id = m.table_id where m.dataset_id = $1 and not `+v.Measures("m", "t")+`) left_out`, []any{id('d', 1)})
	if _, err := fmt.Sscan(counts[0], &hidden); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, " "), hidden
}

func view(t testing.TB, kind policies.PrincipalKind, roles ...string) *visibility.View {
	t.Helper()
	p := person(0)
	p.Kind, p.Roles = kind, roles
	v, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPIICoverage(t *testing.T) {
	const all = "Customer[Customer] Customer[Region] Customer{Customer} Customer{Orders} Supplier[Customer] Supplier[Region]"
	db := model(t, map[string][2]string{"Customer": {"Customer,Region", "Customer,Orders"}, "Supplier": {"Customer,Region", ""}})
	for name, c := range map[string]struct {
		rules []pii.Rule
		hides string
	}{
		"no rule":                                 {nil, ""},
		"PII-11 a column, of its table alone":     {[]pii.Rule{{Kind: pii.Column, Table: "Customer", Name: "Customer", PII: true}}, "Customer[Customer]"},
		"PII-12 PII-14 a table, without measures": {[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: true}}, "Customer[Customer] Customer[Region]"},
		"PII-15 PII-16 a measure, not the column": {[]pii.Rule{{Kind: pii.Measure, Table: "Customer", Name: "Customer", PII: true}}, "Customer{Customer}"},
		"PII-18 PII-19 PII-20 case and width":     {[]pii.Rule{{Kind: pii.Column, Table: "ＣＵＳＴＯＭＥＲ", Name: "rEGION", PII: true}}, "Customer[Region]"},
		"PII-23 not accents or spaces":            {[]pii.Rule{{Kind: pii.Column, Table: "Customer", Name: "Régión", PII: true}, {Kind: pii.Column, Table: "Customer", Name: " Region", PII: true}}, ""},
		"PII-25 a cleared column of a marked table": {
			[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: true}, {Kind: pii.Column, Table: "customer", Name: "REGION", PII: false}}, "Customer[Customer]"},
		"PII-25 a marked column of a cleared table": {
			[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: false}, {Kind: pii.Column, Table: "Customer", Name: "Region", PII: true}}, "Customer[Region]"},
		"PII-26 cleared alone": {[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: false}, {Kind: pii.Measure, Table: "Customer", Name: "Orders", PII: false}}, ""},
		"a cleared column of another table": {
			[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: true}, {Kind: pii.Column, Table: "Supplier", Name: "Customer", PII: false}}, "Customer[Customer] Customer[Region]"},
		"all at once": {
			[]pii.Rule{{Kind: pii.Table, Table: "Customer", PII: true}, {Kind: pii.Measure, Table: "Customer", Name: "Orders", PII: true}, {Kind: pii.Column, Table: "Supplier", Name: "Region", PII: true}},
			"Customer[Customer] Customer[Region] Customer{Orders} Supplier[Region]"},
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, db.API(), `delete from pii_rule`)
			for _, r := range c.rules {
				rule(t, db, r)
			}
			hidden := strings.Fields(c.hides)
			want := strings.Join(slices.DeleteFunc(strings.Fields(all), func(e string) bool { return slices.Contains(hidden, e) }), " ")
			for _, v := range []*visibility.View{
				view(t, policies.Person, "viewer"),
				view(t, policies.Person, "admin", "curator"),             // PII-61
				view(t, policies.ServiceAccount, "pii_reader", "viewer"), // PII-62
				nil,
			} {
				// PII-64 PII-71
				if got, n := elements(t, db, v); got != want || n != len(hidden) {
					t.Errorf("%+v: shows %s and leaves %d out, want %s and %d", v, got, n, want, len(hidden))
				}
			}
			// PII-76: a reader sees everything.
			if got, n := elements(t, db, view(t, policies.Person, "pii_reader", "viewer")); got != all || n != 0 {
				t.Errorf("a reader sees %s, without %d", got, n)
			}
		})
	}
}

// PII-09 PII-13 PII-27 PII-30: rules and models are read as they are now.
func TestPIICoverageIsOfNow(t *testing.T) {
	db := model(t, map[string][2]string{"Customer": {"Customer", ""}})
	v := view(t, policies.Person, "viewer")
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "Customer[Customer]"},
		{func() { rule(t, db, pii.Rule{Kind: pii.Table, Table: "Customer", PII: true}) }, ""},
		{func() {
			exec(t, db.Worker(), `insert into powerbi_column (dataset_id, table_id, name, folded) select dataset_id, id, 'Phone', 'phone' from powerbi_table`)
		}, ""},
		{func() { rule(t, db, pii.Rule{Kind: pii.Column, Table: "Customer", Name: "Phone"}) }, "Customer[Phone]"},
		{func() { exec(t, db.API(), `delete from pii_rule where kind = 'column'`) }, ""},
		{func() { exec(t, db.API(), `delete from pii_rule`) }, "Customer[Customer] Customer[Phone]"},
	} {
		step.do()
		if got, _ := elements(t, db, v); got != step.want {
			t.Errorf("shows %q, want %q", got, step.want)
		}
	}
}

// PII-03 PII-20 PII-25: what lists leave out is what the check of queries takes
// for marked, for random rules over names that differ in case and width.
func TestListsAgreeWithTheCheckOfQueries(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	names := []string{"Customer", "Region", "ＡＢＣ", "Straße", "ｶﾅ"}
	tables := map[string][2]string{}
	m := &knowledge.Model{RelationshipsKnown: true}
	for i, table := range names {
		measures := []string{"Count", "Name"}
		for j := range measures {
			measures[j] += fmt.Sprint(i) // a model's measures have names of their own
		}
		tables[table] = [2]string{strings.Join(names, ","), strings.Join(measures, ",")}
		of := knowledge.Table{Name: table}
		for _, name := range names {
			of.Columns = append(of.Columns, knowledge.Column{Name: name})
		}
		for _, name := range measures {
			of.Measures = append(of.Measures, knowledge.Measure{Name: name})
		}
		m.Tables = append(m.Tables, of)
	}
	db := model(t, tables)
	vary := func(s string) string {
		if random.IntN(2) == 0 {
			return strings.ToLower(s)
		}
		return s
	}
	for round := range 15 {
		exec(t, db.API(), `delete from pii_rule`)
		decided := map[string]pii.Rule{}
		for range 8 {
			r := pii.Rule{Table: vary(names[random.IntN(len(names))]), PII: random.IntN(2) == 0}
			switch random.IntN(4) {
			case 0:
				r.Kind = pii.Table
			case 1:
				r.Kind, r.Name = pii.Measure, vary([]string{"Count", "Name"}[random.IntN(2)])+fmt.Sprint(random.IntN(len(names)))
			default:
				r.Kind, r.Name = pii.Column, vary(names[random.IntN(len(names))])
			}
			rule(t, db, r)
			decided[r.Ref().Key()] = r
		}
		coverage := pii.Cover(slices.Collect(maps.Values(decided)), m)
		var want []string
		for _, table := range m.Tables {
			for _, c := range table.Columns {
				if !coverage.Column(table.Name, c.Name) {
					want = append(want, table.Name+"["+c.Name+"]")
				}
			}
			for _, c := range table.Measures {
				if !coverage.Measure(table.Name, c.Name) {
					want = append(want, table.Name+"{"+c.Name+"}")
				}
			}
		}
		slices.Sort(want)
		if got, _ := elements(t, db, view(t, policies.Person, "viewer")); got != strings.Join(want, " ") {
			t.Errorf("round %d, rules %v: shows\n%s, want\n%s", round, decided, got, strings.Join(want, " "))
		}
	}
}
