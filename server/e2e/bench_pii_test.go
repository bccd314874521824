package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/pii"
)

const (
	piiColumns = 1000
	piiLimit   = 5 * time.Millisecond // at p95
)

// A piiQuery is a query of a model's own expression, against that model.
type piiQuery struct {
	text     string
	model    *knowledge.Model
	coverage *pii.Coverage
}

// widened is a model with tables added until it has piiColumns columns, and rules
// that cover what is called a name or an address in it, and one column in ten of
// what was added.
func widened(m *knowledge.Model) (*knowledge.Model, *pii.Coverage) {
	wide := *m
	wide.Tables = slices.Clone(m.Tables)
	columns := 0
	var rules []pii.Rule
	for _, tbl := range wide.Tables {
		columns += len(tbl.Columns)
		for _, c := range tbl.Columns {
			if folded := knowledge.Fold(c.Name); strings.Contains(folded, "name") || strings.Contains(folded, "mail") {
				rules = append(rules, pii.Rule{Kind: pii.Column, Table: tbl.Name, Name: c.Name, PII: true})
			}
		}
	}
	for n := 1; columns < piiColumns; n++ {
		tbl := knowledge.Table{Name: fmt.Sprintf("Added %d", n)}
		for i := range min(50, piiColumns-columns) {
			tbl.Columns = append(tbl.Columns, knowledge.Column{Name: fmt.Sprintf("Column %d", i), DataType: knowledge.String})
		}
		rules = append(rules, pii.Rule{Kind: pii.Column, Table: tbl.Name, Name: "Column 7", PII: true})
		columns += len(tbl.Columns)
		wide.Tables = append(wide.Tables, tbl)
	}
	return &wide, pii.Cover(rules, &wide)
}

// piiFigures measures the analysis over the expressions of the corpus's measures,
// each written out in a query against its own model.
func piiFigures(t *testing.T) section {
	const rounds = 5
	models, name := corpusModels(t)
	var queries []piiQuery
	longest := 0
	seen := map[string]bool{}
	for _, m := range models {
		wide, coverage := widened(m)
		for _, tbl := range m.Tables {
			for _, measure := range tbl.Measures {
				text := "EVALUATE ROW ( \"x\", " + measure.Expression + "\n)"
				if seen[text] {
					continue
				}
				seen[text] = true
				if _, err := dax.ParseQuery(text); err != nil {
					continue
				}
				queries = append(queries, piiQuery{text, wide, coverage})
				longest = max(longest, len(text))
			}
		}
	}
	var checks, parses []time.Duration
	refused := 0
	for round := range rounds + 1 {
		for _, q := range queries {
			began := time.Now()
			r := pii.Check(q.text, q.model, q.coverage)
			checked := time.Since(began)
			began = time.Now()
			if _, err := dax.ParseQuery(q.text); err != nil {
				t.Fatal(err)
			}
			parsed := time.Since(began)
			if round == 0 { // warms up
				if r != nil {
					refused++
				}
				continue
			}
			checks, parses = append(checks, checked), append(parses, parsed)
		}
	}
	slices.Sort(checks)
	slices.Sort(parses)
	at := func(list []time.Duration, p float64) time.Duration {
		return list[int(float64(len(list)-1)*p)].Round(time.Microsecond)
	}
	var f section
	f.printf("%d queries of the measures of %s, up to %s long, each against its own model widened to %d columns; %d of them are refused. The reference is to parse them alone. At most %v at p95.\n\n", len(queries), name, kilobytes(longest), piiColumns, refused, piiLimit)
	f.printf("| step | p50 | p95 | p99 |\n| --- | ---: | ---: | ---: |\n")
	for _, row := range []struct {
		name string
		list []time.Duration
	}{{"analysis", checks}, {"parsing alone", parses}} {
		f.printf("| %s | %v | %v | %v |\n", row.name, at(row.list, 0.5), at(row.list, 0.95), at(row.list, 0.99))
	}
	if took := at(checks, 0.95); took > piiLimit {
		f.miss("The analysis takes %v at p95, not %v.", took, piiLimit)
	}

	// How it grows: the same kind of query, longer and longer.
	m := &knowledge.Model{Tables: []knowledge.Table{{Name: "Sales", Columns: []knowledge.Column{{Name: "Amount", DataType: knowledge.Double}}}}, RelationshipsKnown: true}
	wide, coverage := widened(m)
	sizes := []int{8 << 10, 16 << 10, 32 << 10, 64 << 10}
	var run []func()
	for _, size := range sizes {
		text := longQuery(size)
		if r := pii.Check(text, wide, coverage); r != nil {
			t.Fatal(r.Sentence())
		}
		run = append(run, func() { pii.Check(text, wide, coverage) })
	}
	took := interleaved(15, run...)
	f.printf("\n| length of the query | analysis | µs per KiB |\n| --- | ---: | ---: |\n")
	perKiB := make([]float64, len(sizes))
	for i, size := range sizes {
		perKiB[i] = float64(took[i].Microseconds()) / float64(size>>10)
		f.printf("| %d KiB | %v | %.0f |\n", size>>10, took[i].Round(10*time.Microsecond), perKiB[i])
	}
	if growth := perKiB[len(sizes)-1] / perKiB[0]; growth > 1.5 {
		f.miss("A KiB of a long query takes %.1f times what one of a short query takes: it does not grow linearly.", growth)
	}
	return f
}

// longQuery is a query with at least as many bytes.
func longQuery(size int) string {
	var b strings.Builder
	b.WriteString("EVALUATE SUMMARIZECOLUMNS ( ")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "'Added %d'[Column %d], ", 1+i%19, 10+i%40)
	}
	b.WriteString(`"x", SUM ( Sales[Amount] ) )`)
	return b.String()
}
