package diff_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs from line %d on; run with -update and read the change\n got %q\nwant %q", file, i+1, g[min(i, len(g)):min(i+3, len(g))], w[min(i, len(w)):min(i+3, len(w))])
		}
	}
}

func table(name string, measures []knowledge.Measure, columns ...string) knowledge.Table {
	t := knowledge.Table{Name: name, Measures: measures}
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, ":")
		t.Columns = append(t.Columns, knowledge.Column{Name: name, DataType: knowledge.DataType(typ)})
	}
	return t
}

// shop and store are two models of one business.
func shop() *knowledge.Model {
	return &knowledge.Model{Name: "Shop", Tables: []knowledge.Table{
		table("Sales", []knowledge.Measure{
			{Name: "Net sales", Expression: "SUM ( Sales[Net amount] )"},
			{Name: "Cost", Expression: "SUM ( Sales[Discount] )"},
			{Name: "Units", Expression: "SUM ( Sales[Quantity] )"},
		}, "Net amount:double", "Gross amount:double", "Discount:double", "Quantity:int64", "Price:double", "Channel:string", "Customer:int64", "Date:dateTime", "Shipped:dateTime"),
		table("Customer", nil, "Customer:int64", "Region:string"),
		table("Calendar", nil, "Date:dateTime"),
	}, Relationships: []knowledge.Relationship{
		{Name: "1", FromTable: "Sales", FromColumn: "Customer", ToTable: "Customer", ToColumn: "Customer"},
		{Name: "2", FromTable: "Sales", FromColumn: "Date", ToTable: "Calendar", ToColumn: "Date"},
		{Name: "3", FromTable: "Sales", FromColumn: "Shipped", ToTable: "Calendar", ToColumn: "Date", Inactive: true},
	}}
}

func store() *knowledge.Model {
	return &knowledge.Model{Name: "Store", Tables: []knowledge.Table{
		table("Lines", []knowledge.Measure{{Name: "Turnover", Expression: "SUM ( Lines[Value] )"}}, "Pieces:int64", "Unit price:double", "Value:double", "Kind:string"),
		table("Sales", nil, "Quantity:int64", "Net amount:double"),
		table("Days", nil, "Day:dateTime"),
	}}
}

func read(t testing.TB, text string, ix *dax.Index) *diff.Form {
	t.Helper()
	f, err := diff.Read(diff.Side{Text: text, Index: ix, Table: "Sales"})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func render(c diff.Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s\n", c.Kind)
	for _, d := range c.Differences {
		fmt.Fprintf(&b, ">   %s", d.Sentence)
		if d.Kind != c.Kind {
			fmt.Fprintf(&b, " (%s)", d.Kind)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// BOOK-10
func TestPairs(t *testing.T) {
	b, err := os.ReadFile("testdata/pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	a, other := dax.NewIndex(shop()), dax.NewIndex(store())
	blocks := strings.Split(string(b), "\n== ")
	got := blocks[0]
	for _, block := range blocks[1:] {
		var lines []string
		var formA, formB *diff.Form
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, ">") || line == "" {
				continue
			}
			lines = append(lines, line)
			switch mark, text, _ := strings.Cut(line, " "); mark {
			case "A":
				formA = read(t, text, a)
			case "B":
				formB = read(t, text, a)
			case "B'":
				formB = read(t, text, other)
			}
		}
		c := diff.Compare(formA, formB)
		got += "\n== " + strings.Join(lines, "\n") + "\n" + render(c)
		if same := formA.Fingerprint() == formB.Fingerprint(); same != (c.Kind == diff.Same) {
			t.Errorf("%s: the fingerprints are equal: %t, the kind is %s", lines[0], same, c.Kind)
		}
		mirrored(t, lines[0], c, diff.Compare(formB, formA))
	}
	golden(t, "pairs", got)
}

// mirrored fails where two comparisons are not each other's mirror image.
func mirrored(t testing.TB, what string, c, back diff.Comparison) {
	t.Helper()
	if c.Kind != back.Kind || len(c.Differences) != len(back.Differences) {
		t.Fatalf("%s:\n%s\nthe other way round:\n%s", what, render(c), render(back))
	}
	type side struct {
		kind diff.Kind
		a, b diff.Part
	}
	count := map[side]int{}
	for _, d := range c.Differences {
		count[side{d.Kind, d.A, d.B}]++
	}
	for _, d := range back.Differences {
		count[side{d.Kind, d.B, d.A}]--
	}
	for s, n := range count {
		if n != 0 {
			t.Fatalf("%s: %v is not in both:\n%s\nthe other way round:\n%s", what, s, render(c), render(back))
		}
	}
}

func TestPartsHaveTheirPlace(t *testing.T) { // BOOK-10
	ix := dax.NewIndex(shop())
	a, b := "CALCULATE (\n  SUM ( Sales[Net amount] ),\n  Sales[Channel] = \"Online\"\n)", "VAR x = AVERAGE ( Sales[Net amount] ) RETURN x"
	c := diff.Compare(read(t, a, ix), read(t, b, ix))
	var got []string
	for _, d := range c.Differences {
		show := func(text string, p diff.Part) string {
			if p.Text == "" {
				return "-"
			}
			return fmt.Sprintf("%d:%d %s", p.Pos.Line, p.Pos.Column, text[p.Pos.Offset:p.End])
		}
		got = append(got, fmt.Sprintf("%s | %s | %s", d.Kind, show(a, d.A), show(b, d.B)))
	}
	want := []string{
		"different aggregation | 2:3 SUM ( Sales[Net amount] ) | 1:9 AVERAGE ( Sales[Net amount] )",
		`added or removed filters | 3:3 Sales[Channel] = "Online" | -`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.Kind != diff.Different {
		t.Errorf("the kind is %s", c.Kind)
	}
}

func TestSidesHaveTheirNames(t *testing.T) { // BOOK-10
	ix := dax.NewIndex(shop())
	a, _ := diff.Read(diff.Side{Text: "[Net sales]", Index: ix, Name: "the base"})
	b, _ := diff.Read(diff.Side{Text: "CALCULATE([Net sales], Sales[Channel] = \"Online\")", Index: ix, Name: "this variant"})
	if got, want := diff.Compare(a, b).Differences[0].Sentence, `Only this variant filters on Sales[Channel] = "Online".`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWithoutModels(t *testing.T) { // BOOK-10
	for _, pair := range []struct {
		a, b string
		kind diff.Kind
	}{
		{"SUM(Sales[x])", "sum ( 'sales'[X] )", diff.Same},
		{"SUM(Sales[x])", "SUM(Orders[y])", diff.Renamed},
		{"SUM(Sales[x]) + SUM(Sales[y])", "SUM(Sales[y]) + SUM(Sales[x])", diff.Same},
		{"SUM(Sales[x]) - SUM(Sales[y])", "SUM(Sales[x]) - SUM(Sales[z])", diff.Renamed},
		{"SUM(Sales[x]) - SUM(Sales[y])", "SUM(Sales[y]) - SUM(Sales[y])", diff.References},
		{"CALCULATE([m], T[c] = 1)", "[m]", diff.Filters},
		{"VAR t = T RETURN SUMX(t, t[c])", "VAR u = T RETURN SUMX(u, u[c])", diff.Same},
	} {
		c := diff.Compare(read(t, pair.a, nil), read(t, pair.b, nil))
		if c.Kind != pair.kind {
			t.Errorf("%s\n%s\nis %s, want %s\n%s", pair.a, pair.b, c.Kind, pair.kind, render(c))
		}
	}
	// With one model alone both are taken without.
	if c := diff.Compare(read(t, "SUM(Sales[Net amount])", dax.NewIndex(shop())), read(t, "SUM(Sales[NET AMOUNT])", nil)); c.Kind != diff.Same {
		t.Errorf("got\n%s", render(c))
	}
}

func TestWhatDoesNotParseIsNotCompared(t *testing.T) { // BOOK-10
	_, err := diff.Read(diff.Side{Text: "SUM ( Sales[Net amount]"})
	var errs *dax.Errors
	if !errors.As(err, &errs) {
		t.Errorf("got %v", err)
	}
}

// What has nothing in common is told in one sentence, soon.
func TestLargeExpressions(t *testing.T) { // BOOK-10
	long := func(f string, n int) string { return strings.Repeat(f, n) }
	sum := func(of string) string { return strings.TrimSuffix(long(of+" + ", 8_000), " + ") }
	vars := func(name string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "VAR %s0 = [Net sales] ", name)
		for i := range 5_000 {
			fmt.Fprintf(&b, "VAR %s%d = ABS ( %s%d ) - %s%d ", name, i+1, name, i, name, i)
		}
		return b.String() + "RETURN " + name + "5000"
	}
	list := func(from int) string {
		var b strings.Builder
		b.WriteString("CALCULATE ( [Net sales], Sales[Quantity] IN { 1")
		for i := range 5_000 {
			fmt.Fprintf(&b, ", %d", from+i)
		}
		return b.String() + " } )"
	}
	ix := dax.NewIndex(shop())
	for what, pair := range map[string][2]string{
		"sums":      {sum("[Net sales]"), sum("[Cost]")},
		"variables": {vars("a"), vars("b")},
		"others":    {vars("a"), strings.Replace(vars("b"), "[Net sales]", "[Cost]", 1)},
		"lists":     {list(10), list(20)},
		"deep":      {long("CALCULATE(", 900) + "[Net sales]" + long(")", 900), long("ABS(", 900) + "[Net sales]" + long(")", 900)},
		"rows":      {long("SUMX(Sales, CALCULATE(", 400) + "1" + long("))", 400), long("SUMX(Sales, CALCULATE(", 400) + "2" + long("))", 400)},
	} {
		a, b := read(t, pair[0], ix), read(t, pair[1], ix)
		c := diff.Compare(a, b)
		if (what == "variables") != (c.Kind == diff.Same) || len(c.Differences) > 50 {
			t.Errorf("%s: %s, %d differences", what, c.Kind, len(c.Differences))
		}
		mirrored(t, what, c, diff.Compare(b, a))
	}
}
