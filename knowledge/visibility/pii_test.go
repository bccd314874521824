package visibility_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
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

func rule(t testing.TB, db *postgrestest.Database, kind knowledge.PIIKind, table, name string, pii bool) {
	exec(t, db.API(), `insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ($1, $2, $3, $4, $5, $6)
		on conflict (kind, table_folded, name_folded) do update set pii = excluded.pii`,
		kind, table, name, knowledge.Fold(table), knowledge.Fold(name), pii)
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
	type set struct {
		kind        knowledge.PIIKind
		table, name string
		pii         bool
	}
	const table, column, measure = knowledge.PIITable, knowledge.PIIColumn, knowledge.PIIMeasure
	db := model(t, map[string][2]string{"Customer": {"Customer,Region", "Customer,Orders"}, "Supplier": {"Customer,Region", ""}})
	for name, c := range map[string]struct {
		rules []set
		hides string
	}{
		"no rule":                                 {nil, ""},
		"PII-11 a column, of its table alone":     {[]set{{column, "Customer", "Customer", true}}, "Customer[Customer]"},
		"PII-12 PII-14 a table, without measures": {[]set{{table, "Customer", "", true}}, "Customer[Customer] Customer[Region]"},
		"PII-15 PII-16 a measure, not the column": {[]set{{measure, "Customer", "Customer", true}}, "Customer{Customer}"},
		"PII-18 PII-19 PII-20 case and width":     {[]set{{column, "ＣＵＳＴＯＭＥＲ", "rEGION", true}}, "Customer[Region]"},
		"PII-23 not accents or spaces":            {[]set{{column, "Customer", "Régión", true}, {column, "Customer", " Region", true}}, ""},
		"PII-25 a cleared column of a marked table": {
			[]set{{table, "Customer", "", true}, {column, "customer", "REGION", false}}, "Customer[Customer]"},
		"PII-25 a marked column of a cleared table": {
			[]set{{table, "Customer", "", false}, {column, "Customer", "Region", true}}, "Customer[Region]"},
		"PII-26 cleared alone": {[]set{{table, "Customer", "", false}, {measure, "Customer", "Orders", false}}, ""},
		"a cleared column of another table": {
			[]set{{table, "Customer", "", true}, {column, "Supplier", "Customer", false}}, "Customer[Customer] Customer[Region]"},
		"all at once": {
			[]set{{table, "Customer", "", true}, {measure, "Customer", "Orders", true}, {column, "Supplier", "Region", true}},
			"Customer[Customer] Customer[Region] Customer{Orders} Supplier[Region]"},
	} {
		t.Run(name, func(t *testing.T) {
			exec(t, db.API(), `delete from pii_rule`)
			for _, r := range c.rules {
				rule(t, db, r.kind, r.table, r.name, r.pii)
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
		{func() { rule(t, db, knowledge.PIITable, "Customer", "", true) }, ""},
		{func() {
			exec(t, db.Worker(), `insert into powerbi_column (dataset_id, table_id, name, folded) select dataset_id, id, 'Phone', 'phone' from powerbi_table`)
		}, ""},
		{func() { rule(t, db, knowledge.PIIColumn, "Customer", "Phone", false) }, "Customer[Phone]"},
		{func() { exec(t, db.API(), `delete from pii_rule where kind = 'column'`) }, ""},
		{func() { exec(t, db.API(), `delete from pii_rule`) }, "Customer[Customer] Customer[Phone]"},
	} {
		step.do()
		if got, _ := elements(t, db, v); got != step.want {
			t.Errorf("shows %q, want %q", got, step.want)
		}
	}
}

// PII-20 PII-25: the SQL agrees with the rule said in Go, for random rules.
func TestPIICoverageAgreesWithTheRule(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	names := []string{"Customer", "Region", "ＡＢＣ", "Straße", "ｶﾅ"}
	tables := map[string][2]string{}
	for _, table := range names {
		tables[table] = [2]string{strings.Join(names, ","), ""}
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
		tableRule, columnRule := map[string]bool{}, map[[2]string]bool{}
		for range 6 {
			table, name, pii := vary(names[random.IntN(len(names))]), vary(names[random.IntN(len(names))]), random.IntN(2) == 0
			if random.IntN(3) == 0 {
				rule(t, db, knowledge.PIITable, table, "", pii)
				tableRule[knowledge.Fold(table)] = pii
			} else {
				rule(t, db, knowledge.PIIColumn, table, name, pii)
				columnRule[[2]string{knowledge.Fold(table), knowledge.Fold(name)}] = pii
			}
		}
		var want []string
		for _, table := range names {
			for _, name := range names {
				covered, decided := columnRule[[2]string{knowledge.Fold(table), knowledge.Fold(name)}]
				if !decided {
					covered = tableRule[knowledge.Fold(table)]
				}
				if !covered {
					want = append(want, table+"["+name+"]")
				}
			}
		}
		slices.Sort(want)
		if got, _ := elements(t, db, view(t, policies.Person, "viewer")); got != strings.Join(want, " ") {
			t.Errorf("round %d: shows\n%s, want\n%s", round, got, strings.Join(want, " "))
		}
	}
}
