package pii_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
)

// PII-17
func TestReferences(t *testing.T) {
	for text, want := range map[string]pii.Ref{
		"Customer":                {Kind: pii.Table, Table: "Customer"},
		" 'Order lines' ":         {Kind: pii.Table, Table: "Order lines"},
		"Order lines":             {Kind: pii.Table, Table: "Order lines"},
		"Customer[Region]":        {Kind: pii.Column, Table: "Customer", Name: "Region"},
		"Order lines[ Net price]": {Kind: pii.Column, Table: "Order lines", Name: " Net price"},
		"'Cust''omer'[E]]mail[1]": {Kind: pii.Column, Table: "Cust'omer", Name: "E]mail[1"},
	} {
		if got, err := pii.ParseReference(text, false); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
		measure := want
		measure.Kind = pii.Measure
		got, err := pii.ParseReference(text, true)
		if want.Kind == pii.Table {
			if err == nil {
				t.Errorf("%q is taken for a measure", text)
			}
		} else if err != nil || got != measure {
			t.Errorf("%q as a measure: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", " ", "[Region]", "Customer[", "Customer[Region", "Customer[]", "Customer[ ]", "Customer]", "''", "'Customer",
		"Customer[a]b", "'a'b[c]", "''[x]", "Cust'omer[x]", "Customer[a]]",
	} {
		_, err := pii.ParseReference(text, false)
		var bad *pii.ReferenceError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "Customer[Region]") || !strings.Contains(err.Error(), "Sales[Net sales]") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func people() *knowledge.Model {
	customer := newTable("Customer", "CustomerKey", "Customer", "Region", "Name")
	customer.Measures = []knowledge.Measure{{Name: "Customer count", Expression: "COUNTROWS ( Customer )"}}
	sales := newTable("Sales", "CustomerKey", "Net sales")
	sales.Measures = []knowledge.Measure{{Name: "Net sales total", Expression: "SUM ( Sales[Net sales] )"}}
	return &knowledge.Model{
		Tables: []knowledge.Table{customer, sales, newTable("Supplier", "Customer"), newTable("ｶﾀﾛｸﾞ", "名前1")},
		Relationships: []knowledge.Relationship{
			{FromTable: "Sales", FromColumn: "CustomerKey", ToTable: "Customer", ToColumn: "CustomerKey"},
		},
		RelationshipsKnown: true,
	}
}

func covered(c *pii.Coverage, m *knowledge.Model) []string {
	var list []string
	for _, t := range m.Tables {
		for _, col := range t.Columns {
			if c.Column(t.Name, col.Name) {
				list = append(list, t.Name+"["+col.Name+"]")
			}
		}
		for _, measure := range t.Measures {
			if c.Measure(t.Name, measure.Name) {
				list = append(list, "measure "+t.Name+"["+measure.Name+"]")
			}
		}
	}
	return list
}

func TestWhatRulesCover(t *testing.T) {
	all := []string{"Customer[CustomerKey]", "Customer[Customer]", "Customer[Region]", "Customer[Name]"}
	for name, test := range map[string]struct {
		rules []pii.Rule
		want  []string
	}{
		"PII-11 a column":                         {[]pii.Rule{rule("Customer[Customer]", true)}, all[1:2]},
		"PII-12 a table, PII-14 not its measures": {[]pii.Rule{rule("Customer", true)}, all},
		"PII-15 a measure":                        {[]pii.Rule{measureRule("Customer[Customer count]", true)}, []string{"measure Customer[Customer count]"}},
		"PII-16 a column named like a measure":    {[]pii.Rule{rule("Customer[Customer count]", true), rule("Sales[Net sales]", true)}, []string{"Sales[Net sales]"}},
		"PII-16 a measure named like a column":    {[]pii.Rule{measureRule("Sales[Net sales]", true)}, nil},
		"PII-18 letter case":                      {[]pii.Rule{rule("customer[CUSTOMER]", true)}, all[1:2]},
		"PII-19 full width":                       {[]pii.Rule{rule("Ｃｕｓｔｏｍｅｒ[Customer]", true), rule("カタログ[名前１]", true)}, []string{all[1], "ｶﾀﾛｸﾞ[名前1]"}},
		"PII-20 case and width":                   {[]pii.Rule{rule("ＣＵＳＴＯＭＥＲ[ｒＥgion]", true), measureRule("ＳＡＬＥＳ[nＥt sales TOTAL]", true)}, []string{all[2], "measure Sales[Net sales total]"}},
		"PII-23 accents, spaces and punctuation":  {[]pii.Rule{rule("Customer[Náme]", true), rule("Customer[ Name]", true), rule("Customer[Name_]", true)}, nil},
		"PII-25 a cleared column":                 {[]pii.Rule{rule("Customer", true), rule("Customer[Region]", false)}, []string{all[0], all[1], all[3]}},
		"PII-25 a column of a cleared table":      {[]pii.Rule{rule("Customer", false), rule("Customer[Region]", true)}, all[2:3]},
		"PII-27 the column's rule is removed":     {[]pii.Rule{rule("Customer", true)}, all},
	} {
		m := people()
		if got := covered(pii.Cover(test.rules, m), m); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// PII-13
func TestATableRuleCoversColumnsThatComeLater(t *testing.T) {
	m := people()
	m.Tables[0].Columns = append(m.Tables[0].Columns, knowledge.Column{Name: "Phone"})
	c := pii.Cover([]pii.Rule{rule("Customer", true)}, m)
	if !c.Column("Customer", "Phone") || !c.Column("Customer", "Not synced yet") {
		t.Error("a new column is not covered")
	}
}

// PII-20
func TestEveryMixOfCaseAndWidthMatches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	vary := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r < '!' || r > '~' || r == '[' || r == ']':
				return r
			case random.IntN(3) == 0:
				r = unicode.ToUpper(r)
			case random.IntN(3) == 0:
				r = unicode.ToLower(r)
			}
			if random.IntN(2) == 0 {
				r += 0xFEE0
			}
			return r
		}, s)
	}
	m := people()
	for range 300 {
		table, column := vary("Customer"), vary("Region")
		c := pii.Cover([]pii.Rule{{Kind: pii.Column, Table: table, Name: column, PII: true}}, m)
		if !c.Column("Customer", "Region") || !c.Column(vary("CUSTOMER"), vary("region")) {
			t.Fatalf("%s[%s] does not match", table, column)
		}
		other := []rune("Region")
		other[random.IntN(len(other))] = 'à' + rune(random.IntN(20))
		if c.Column("Customer", string(other)) {
			t.Fatalf("%s matches %s", string(other), column)
		}
	}
}

// PII-22
func TestReferencesThatFoldAlikeAreOneRule(t *testing.T) {
	a, b := rule("Customer[Customer]", true), rule("ＣＵＳＴＯＭＥＲ[customer]", false)
	if a.Ref().Key() != b.Ref().Key() {
		t.Error("two keys for one rule")
	}
	if a.Ref().Key() == measureRule("Customer[Customer]", true).Ref().Key() {
		t.Error("a column and a measure share a key")
	}
	m := people()
	if got := covered(pii.Cover([]pii.Rule{a, b}, m), m); got != nil {
		t.Errorf("the later decision does not win: %q", got)
	}
}

func TestCounts(t *testing.T) {
	m := people()
	for name, want := range map[string][2]int{"Customer": {4, 0}, "customer[region]": {1, 0}, "Customer[Custmer]": {0, 0}} {
		if columns, measures := pii.Count(rule(name, true), m); columns != want[0] || measures != want[1] {
			t.Errorf("%s: got %d columns and %d measures", name, columns, measures)
		}
	}
	if _, measures := pii.Count(measureRule("Customer[Customer count]", true), m); measures != 1 {
		t.Error("the measure is not counted")
	}
}

func TestJoinsAndKeys(t *testing.T) {
	many := func(from, to string) knowledge.Relationship {
		f, _ := pii.ParseReference(from, false)
		t, _ := pii.ParseReference(to, false)
		return knowledge.Relationship{FromTable: f.Table, FromColumn: f.Name, ToTable: t.Table, ToColumn: t.Name}
	}
	inactive := func(r knowledge.Relationship) knowledge.Relationship { r.Inactive = true; return r }
	manyToMany := func(r knowledge.Relationship) knowledge.Relationship { r.ToMany = true; return r }
	tables := []knowledge.Table{
		newTable("Customer", "CustomerKey", "Customer", "Region", "Birth date"),
		newTable("Sales", "CustomerKey", "Customer name", "Order date", "Amount"),
		newTable("Calendar", "Date", "Month"), newTable("Month", "Month", "Name"),
		newTable("A", "x", "y"), newTable("B", "x", "y"), newTable("C", "x", "y"),
	}
	for name, test := range map[string]struct {
		rules     []pii.Rule
		relations []knowledge.Relationship
		refused   string
		passes    string
		tables    string
	}{
		"PII-105, PII-107 a birth date and its calendar": {
			rules:     []pii.Rule{rule("Customer[Birth date]", true)},
			relations: []knowledge.Relationship{many("Customer[Birth date]", "Calendar[Date]")},
			refused:   "Customer[Birth date] Calendar[Date] Calendar[Month]",
			passes:    "Customer[Region] Sales[Order date] Month[Month]",
			tables:    "Sales Month",
		},
		"PII-106 a chain": {
			rules:     []pii.Rule{rule("A[x]", true)},
			relations: []knowledge.Relationship{many("A[x]", "B[x]"), many("C[x]", "B[x]")},
			refused:   "A[x] B[x] B[y] C[x]",
			passes:    "A[y] C[y]",
		},
		"PII-106 a chain with an inactive link": {
			rules:     []pii.Rule{rule("A[x]", true)},
			relations: []knowledge.Relationship{inactive(many("A[x]", "B[x]")), inactive(many("C[x]", "B[x]"))},
			refused:   "C[x]",
		},
		"PII-108 a cleared column of a keyed table": {
			rules:     []pii.Rule{rule("Customer", true), rule("Customer[Region]", false)},
			relations: []knowledge.Relationship{many("Sales[CustomerKey]", "Customer[CustomerKey]")},
			refused:   "Customer[CustomerKey] Customer[Customer] Sales[CustomerKey]",
			passes:    "Customer[Region] Sales[Amount]",
		},
		"PII-109 keyed tables spread no further": {
			rules:     []pii.Rule{rule("Customer[Birth date]", true)},
			relations: []knowledge.Relationship{many("Customer[Birth date]", "Calendar[Date]"), many("Calendar[Month]", "Month[Month]")},
			refused:   "Calendar[Month]",
			passes:    "Month[Month] Month[Name]",
			tables:    "Month",
		},
		"PII-110 a cleared column that is joined": {
			rules:     []pii.Rule{rule("Customer[Customer]", true), rule("Sales[Customer name]", false)},
			relations: []knowledge.Relationship{many("Sales[Customer name]", "Customer[Customer]")},
			refused:   "Sales[Customer name] Customer[Customer] Customer[Region]",
			passes:    "Sales[Amount]",
		},
		"PII-112 a cleared key": {
			rules:     []pii.Rule{rule("Customer", true), rule("Customer[CustomerKey]", false)},
			relations: []knowledge.Relationship{many("Sales[CustomerKey]", "Customer[CustomerKey]")},
			refused:   "Customer[Customer] Customer[Region]",
			passes:    "Sales[CustomerKey] Customer[CustomerKey]",
			tables:    "Sales",
		},
		"PII-113 no relationship, no spread": {
			rules:   []pii.Rule{rule("A[x]", true)},
			refused: "A[x]", passes: "A[y] B[x] C[x]", tables: "B C",
		},
		"many to many has no key": {
			rules:     []pii.Rule{rule("A[x]", true)},
			relations: []knowledge.Relationship{manyToMany(many("A[x]", "B[x]"))},
			refused:   "B[x]", passes: "A[y] B[y]",
		},
	} {
		m := &knowledge.Model{Tables: tables, Relationships: test.relations, RelationshipsKnown: true}
		c := pii.Cover(test.rules, m)
		split := func(s string) []string { return strings.Split(strings.ReplaceAll(s, "] ", "]\n"), "\n") }
		for _, ref := range split(test.refused) {
			r, err := pii.ParseReference(ref, false)
			if err != nil {
				t.Fatal(err)
			}
			query := fmt.Sprintf("EVALUATE VALUES ( '%s'[%s] )", r.Table, r.Name)
			if got := pii.Check(query, m, c); got == nil || !slices.Equal(got.Elements, []string{ref}) {
				t.Errorf("%s: %s: got %+v", name, query, got)
			}
			if got := pii.Check("EVALUATE '"+r.Table+"'", m, c); got == nil {
				t.Errorf("%s: the whole table %s passes", name, r.Table)
			}
		}
		if test.passes != "" {
			for _, ref := range split(test.passes) {
				r, _ := pii.ParseReference(ref, false)
				if got := pii.Check(fmt.Sprintf("EVALUATE VALUES ( '%s'[%s] )", r.Table, r.Name), m, c); got != nil {
					t.Errorf("%s: %s: %s", name, ref, got.Sentence())
				}
			}
		}
		for _, table := range strings.Fields(test.tables) {
			if got := pii.Check("EVALUATE "+table, m, c); got != nil {
				t.Errorf("%s: %s: %s", name, table, got.Sentence())
			}
		}
	}
}

// PII-121, PII-122, PII-123
func TestHeaderOfAnAnswer(t *testing.T) {
	m := shop()
	c := pii.Cover(personal(), m)
	for name, test := range map[string]struct {
		query string
		keys  []string
		want  []string
	}{
		"as expected":               {`EVALUATE SUMMARIZECOLUMNS ( Customer[City], "s", [Total Sales] )`, []string{"Customer[City]", "[s]"}, nil},
		"other letter case":         {`EVALUATE VALUES ( customer[CITY] )`, []string{"Customer[City]"}, nil},
		"fewer columns":             {`EVALUATE Product`, []string{"Product[Category]"}, nil},
		"a marked column":           {`EVALUATE VALUES ( Customer[City] )`, []string{"Customer[City]", "customer[EMAIL]"}, []string{"Customer[Email]"}},
		"a table with a blank":      {`EVALUATE Product`, []string{"Time Calc[x]"}, []string{"Time Calc[x]"}},
		"an unexpected column":      {`EVALUATE VALUES ( Product[Category] )`, []string{"Product[Category]", "[x]"}, []string{"[x]"}},
		"a renamed column":          {`EVALUATE SELECTCOLUMNS ( VALUES ( Customer[Email] ), "x", [Email] )`, []string{"[x]"}, []string{"Customer[Email]"}},
		"renamed through variables": {`DEFINE VAR a = SELECTCOLUMNS ( Customer, "x", [Email] ) VAR b = SELECTCOLUMNS ( a, "y", [x] ) EVALUATE b`, []string{"[y]"}, []string{"Customer[Email]"}},
		"a table of the query":      {`DEFINE TABLE T = SELECTCOLUMNS ( Product, "a", Product[Category] ) EVALUATE T`, []string{"T[a]"}, nil},
	} {
		r := pii.CheckHeader(test.keys, test.query, m, c)
		switch {
		case r == nil && test.want == nil:
		case r == nil:
			t.Errorf("%s: passes", name)
		case !slices.Equal(r.Elements, test.want):
			t.Errorf("%s: got %q, want %q", name, r.Elements, test.want)
		}
	}
	if r := pii.CheckHeader([]string{"Customer[Email]"}, "EVALUATE Customer", m, pii.Cover(nil, m)); r != nil {
		t.Errorf("no rule: %s", r.Sentence())
	}
}

// PII-122
func TestLineageThroughRenaming(t *testing.T) {
	m := shop()
	query := `VALUES ( Customer[Email] )`
	for depth := 1; depth <= 4; depth++ {
		from := "Email"
		if depth > 1 {
			from = fmt.Sprint("c", depth-1)
		}
		query = fmt.Sprintf(`SELECTCOLUMNS ( %s, "c%d", [%s] )`, query, depth, from)
		columns, open, err := pii.Lineage("EVALUATE "+query, m)
		if err != nil || open || len(columns) != 1 || len(columns[0].From) != 1 || columns[0].From[0].String() != "Customer[Email]" ||
			columns[0].Key != fmt.Sprintf("[c%d]", depth) {
			t.Errorf("depth %d: got %+v, %v, %v", depth, columns, open, err)
		}
	}
	if _, _, err := pii.Lineage("EVALUATE (", m); err == nil {
		t.Error("an unreadable query has a lineage")
	}
}

func TestCoverageIsSafeForManyGoroutines(t *testing.T) {
	m := shop()
	c := pii.Cover(personal(), m)
	done := make(chan string)
	for range 8 {
		go func() {
			for _, query := range []string{"EVALUATE { [Contacts of sales] }", "EVALUATE Sales", "EVALUATE { Contact.Show ( 1 ) }", "EVALUATE VALUES ( 'Time Calc' )"} {
				if pii.Check(query, m, c) == nil {
					done <- query
					return
				}
			}
			done <- ""
		}()
	}
	for range 8 {
		if query := <-done; query != "" {
			t.Errorf("%s passes", query)
		}
	}
}
