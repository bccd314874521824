package diff_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

type dataset struct {
	folder string
	model  *knowledge.Model
	index  *dax.Index
}

// measure is a measure of a dataset, ready to be compared.
type measure struct {
	dataset *dataset
	table   string
	def     knowledge.Measure
	form    *diff.Form
}

// companyMeasures are the measures of all datasets of the sample company.
func companyMeasures(t testing.TB) []measure {
	t.Helper()
	var list []measure
	for _, folder := range company.Datasets() {
		d := &dataset{folder: path.Base(folder)}
		var err error
		if d.model, err = tmdl.LoadFS(company.Files, folder); err != nil {
			t.Fatal(err)
		}
		d.index = dax.NewIndex(d.model)
		for _, table := range d.model.Tables {
			for _, m := range table.Measures {
				form, err := diff.Read(diff.Side{Text: m.Expression, Name: d.folder, Index: d.index, Table: table.Name, Measure: m.Name})
				if err != nil {
					continue // the company has a measure that does not parse
				}
				list = append(list, measure{d, table.Name, m, form})
			}
		}
	}
	return list
}

// BOOK-10: what the company's measures of one name have in common, and what the
// variants of a measure are beside it.
func TestMeasuresOfTheCompany(t *testing.T) {
	measures := companyMeasures(t)
	var b strings.Builder
	show := func(title string, x, y measure) {
		squeeze := func(m measure) string { return strings.Join(strings.Fields(m.def.Expression), " ") }
		fmt.Fprintf(&b, "\n== %s\n%s: %s\n%s: %s\n%s", title, x.dataset.folder, squeeze(x), y.dataset.folder, squeeze(y), render(diff.Compare(x.form, y.form)))
		mirrored(t, title, diff.Compare(x.form, y.form), diff.Compare(y.form, x.form))
	}
	for i, x := range measures {
		for _, y := range measures[i+1:] {
			if x.def.Name == y.def.Name {
				show(x.def.Name, x, y)
			}
		}
	}
	for _, x := range measures {
		for _, y := range measures {
			if x.dataset == y.dataset && strings.HasPrefix(y.def.Name, x.def.Name+" ") {
				show(x.def.Name+" and "+y.def.Name, x, y)
			}
		}
	}
	golden(t, "company", strings.TrimPrefix(b.String(), "\n"))
}

func BenchmarkRead(b *testing.B) {
	measures := companyMeasures(b)
	n := 0
	for b.Loop() {
		for _, m := range measures {
			if _, err := diff.Read(diff.Side{Text: m.def.Expression, Index: m.dataset.index, Table: m.table}); err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "expressions/s")
}

func BenchmarkCompare(b *testing.B) {
	measures := companyMeasures(b)
	n := 0
	for b.Loop() {
		for i := range measures {
			diff.Compare(measures[i].form, measures[(i*7+3)%len(measures)].form)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "comparisons/s")
}
