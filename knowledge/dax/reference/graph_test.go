package reference_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/reference"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
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
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs from line %d on; run with -update and read the change\n got %q\nwant %q", file, i+1, g[i:min(i+3, len(g))], w[i:min(i+3, len(w))])
		}
	}
}

// companyModels are the models of the sample company, by folder.
func companyModels(t testing.TB) ([]string, map[string]*knowledge.Model) {
	t.Helper()
	folders, models := company.Datasets(), map[string]*knowledge.Model{}
	for _, folder := range folders {
		m, err := tmdl.LoadFS(company.Files, folder)
		if err != nil {
			t.Fatal(err)
		}
		models[folder] = m
	}
	return folders, models
}

func list(deps []reference.Dependency) string {
	var b strings.Builder
	distance := 0
	for _, d := range deps {
		switch {
		case d.Distance == distance:
			b.WriteString(", ")
		case distance > 0:
			b.WriteString("; ")
		}
		if d.Distance != distance {
			distance = d.Distance
			fmt.Fprintf(&b, "%d ", distance)
		}
		b.WriteString(d.Element.String())
	}
	return b.String()
}

// report lists what every element depends on, and what depends on it, with the
// distances.
func report(m *knowledge.Model) string {
	g := reference.NewGraph(m)
	var b strings.Builder
	say := func(e reference.Element) {
		down, up := g.Dependencies(e), g.Dependants(e)
		if len(down)+len(up) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s %s\n", e.Kind, e)
		if len(down) > 0 {
			fmt.Fprintf(&b, "    needs %s\n", list(down))
		}
		if len(up) > 0 {
			fmt.Fprintf(&b, "    is needed by %s\n", list(up))
		}
	}
	unresolved := func(e reference.Element) {
		if refs := g.References(e); refs != nil {
			for _, u := range refs.Unresolved {
				fmt.Fprintf(&b, "unresolved %s in %s: %s\n", u.Text, e, u.Problem)
			}
		}
	}
	for _, t := range m.Tables {
		say(reference.Element{Kind: reference.Table, Table: t.Name})
		for _, c := range t.Columns {
			say(reference.Element{Kind: reference.Column, Table: t.Name, Name: c.Name})
		}
		for _, measure := range t.Measures {
			say(reference.Element{Kind: reference.Measure, Table: t.Name, Name: measure.Name})
		}
		for _, item := range t.Items {
			say(reference.Element{Kind: reference.Item, Table: t.Name, Name: item.Name})
		}
	}
	for _, f := range m.Functions {
		say(reference.Element{Kind: reference.Function, Name: f.Name})
	}
	for _, r := range m.Roles {
		for _, p := range r.Tables {
			say(reference.Element{Kind: reference.Role, Table: p.Table, Name: r.Name})
		}
	}
	for _, c := range g.Cycles() {
		fmt.Fprintf(&b, "cycle %s\n", strings.Join(names(c), " → "))
	}
	for _, t := range m.Tables {
		for _, measure := range t.Measures {
			unresolved(reference.Element{Kind: reference.Measure, Table: t.Name, Name: measure.Name})
		}
	}
	for _, e := range g.Invalid() {
		fmt.Fprintf(&b, "invalid %s\n", e)
	}
	return b.String()
}

func TestGraphOfTheCompany(t *testing.T) { // BOOK-06
	var b strings.Builder
	folders, models := companyModels(t)
	for _, folder := range folders {
		fmt.Fprintf(&b, "== %s\n%s", folder, report(models[folder]))
	}
	golden(t, "company", b.String())
}

func TestGraphOfAdventureWorks(t *testing.T) { // BOOK-06
	golden(t, "adventureworks", report(publicModel(t, adventureWorks)))
}

func TestGraphOfEveryKind(t *testing.T) { // BOOK-06
	golden(t, "shop", report(shop()))
}

func TestCyclesAreNamed(t *testing.T) { // BOOK-06
	m := &knowledge.Model{Tables: []knowledge.Table{{
		Name: "T",
		Columns: []knowledge.Column{
			{Name: "c", DataType: knowledge.Int64},
			{Name: "calc", Expression: "[through column] + 1"},
		},
		Measures: []knowledge.Measure{
			{Name: "self", Expression: "[self] + 1"},
			{Name: "a", Expression: "[b] + 1"},
			{Name: "b", Expression: "[a] + SUM(T[c])"},
			{Name: "one", Expression: "[two]"},
			{Name: "two", Expression: "[three] + [four]"},
			{Name: "three", Expression: "[four]"},
			{Name: "four", Expression: "[one]"},
			{Name: "through column", Expression: "SUM(T[calc])"},
			{Name: "outside", Expression: "[a] + [self]"},
			{Name: "fine", Expression: "SUM(T[c])"},
		},
	}, {
		Name: "U", Expression: "ROW(\"x\", [through table])",
		Columns:  []knowledge.Column{{Name: "x"}},
		Measures: []knowledge.Measure{{Name: "through table", Expression: "MAX(U[x])"}},
	}}, Functions: []knowledge.Function{{Name: "F", Expression: "() => F()"}}}
	g := reference.NewGraph(m)
	var got []string
	for _, c := range g.Cycles() {
		got = append(got, strings.Join(names(c), " → "))
	}
	want := []string{
		"T[calc] → T[through column] → T[calc]",
		"T[self] → T[self]",
		"T[a] → T[b] → T[a]",
		"T[one] → T[two] → T[four] → T[one]",
		"U → U[through table] → U[x] → U",
		"F() → F()",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := strings.Join(names(g.Cycle(find(t, m, "T[three]"))), " → "); got != "T[three] → T[four] → T[one] → T[two] → T[three]" {
		t.Errorf("the cycle of T[three] is %q", got)
	}
	for _, name := range []string{"T[fine]", "T[outside]", "T[c]"} {
		if c := g.Cycle(find(t, m, name)); c != nil {
			t.Errorf("%s is in no cycle, got %q", name, names(c))
		}
	}
	if got, want := list(g.Dependencies(find(t, m, "T[a]"))), "1 T[b]; 2 T[c]"; got != want {
		t.Errorf("T[a] needs %s, want %s", got, want)
	}
	if got, want := list(g.Dependants(find(t, m, "T[a]"))), "1 T[b], T[outside]"; got != want {
		t.Errorf("T[a] is needed by %s, want %s", got, want)
	}
}

// chain is a model with n measures, each of which needs the one before, and a
// column far from most of them.
func chain(n int) *knowledge.Model {
	t := knowledge.Table{Name: "T", Columns: []knowledge.Column{{Name: "c", DataType: knowledge.Int64}}}
	t.Measures = append(t.Measures, knowledge.Measure{Name: "m0", Expression: "SUM(T[c])"})
	for i := 1; i < n; i++ {
		t.Measures = append(t.Measures, knowledge.Measure{Name: fmt.Sprintf("m%d", i), Expression: fmt.Sprintf("[m%d] + MAX(T[c])", i-1)})
	}
	return &knowledge.Model{Tables: []knowledge.Table{t}}
}

func TestALongChainIsFollowedToItsEnd(t *testing.T) { // BOOK-06
	const n = 10_000
	g := reference.NewGraph(chain(n))
	last := reference.Element{Kind: reference.Measure, Table: "T", Name: fmt.Sprintf("m%d", n-1)}
	deps := g.Dependencies(last)
	if len(deps) != n {
		t.Fatalf("the last measure needs %d elements, want %d", len(deps), n)
	}
	if end := deps[n-1]; end.Element.Name != "m0" || end.Distance != n-1 {
		t.Errorf("the farthest is %v", end)
	}
	if got := len(g.Dependants(reference.Element{Kind: reference.Column, Table: "t", Name: "C"})); got != n {
		t.Errorf("%d elements need the column, want %d", got, n)
	}
	if c := g.Cycles(); c != nil {
		t.Errorf("a chain has the cycles %v", c)
	}
	// A chain of functions that each call the next costs as little.
	m := &knowledge.Model{}
	for i := range n {
		m.Functions = append(m.Functions, knowledge.Function{Name: fmt.Sprintf("F%d", i), Expression: fmt.Sprintf("(x) => F%d(x)", (i+1)%n)})
	}
	if c := reference.NewGraph(m).Cycles(); len(c) != 1 || len(c[0]) != n+1 {
		t.Errorf("a ring of %d functions has %d cycles", n, len(c))
	}
}

// What a large model costs grows with its size. Memory is measured, as time
// depends on what else the machine does: 8 times the size takes about 8 times as
// much; with the sets of sources that a resolution can keep it takes 10 times.
func TestLargeModelsCostLinearMemory(t *testing.T) { // BOOK-06
	cost := func(n int) uint64 {
		m := chain(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reference.NewGraph(m)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := cost(2_000), cost(16_000); large > 9*small {
		t.Errorf("2,000 measures took %d bytes, 16,000 took %d", small, large)
	}
}

func TestTheOrderIsAlwaysTheSame(t *testing.T) { // BOOK-06
	first := report(shop())
	for range 20 {
		if got := report(shop()); got != first {
			t.Fatalf("got\n%s\nthen\n%s", first, got)
		}
	}
}

func BenchmarkReferences(b *testing.B) {
	_, models := companyModels(b)
	m := models["commercial/sales"]
	f := reference.NewFinder(m)
	n := 0
	for b.Loop() {
		for _, t := range m.Tables {
			for _, measure := range t.Measures {
				f.Of(measure.Expression, t.Name, false)
				n++
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "expressions/s")
}

func BenchmarkGraphOf250000Measures(b *testing.B) {
	m := chain(250_000)
	for b.Loop() {
		reference.NewGraph(m)
	}
}
