package dax_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

// companyModels are the models of the sample company.
func companyModels(tb testing.TB) []*knowledge.Model {
	tb.Helper()
	var models []*knowledge.Model
	for _, folder := range company.Datasets() {
		m, err := tmdl.LoadFS(company.Files, folder)
		if err != nil {
			tb.Fatal(err)
		}
		models = append(models, m)
	}
	return models
}

// halfFinished is the one measure of the company that does not parse.
const halfFinished = "SUM ( 'Fair leads'[Amount]"

// expressions calls f for every measure and calculated column of a model.
func expressions(m *knowledge.Model, f func(text, table string, row bool)) {
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			if strings.TrimSpace(c.Expression) != "" {
				f(c.Expression, t.Name, true)
			}
		}
		for _, measure := range t.Measures {
			f(measure.Expression, t.Name, false)
		}
	}
}

// corpus are the DAX texts that the benchmarks read: those of the public models
// where they are here, and otherwise those of the sample company.
func corpus(tb testing.TB) (texts []publicText, size int) {
	tb.Helper()
	if publicFolder() != "" {
		for _, text := range publicTexts(tb) {
			if notDAX(text) == "" {
				texts = append(texts, text)
			}
		}
	} else {
		for _, m := range companyModels(tb) {
			expressions(m, func(text, _ string, _ bool) {
				if text != halfFinished {
					texts = append(texts, publicText{text: text})
				}
			})
		}
	}
	for _, text := range texts {
		size += len(text.text)
	}
	return texts, size
}

func BenchmarkParse(b *testing.B) {
	texts, size := corpus(b)
	kinds := make([]parser, len(texts))
	for i, text := range texts {
		kinds[i] = parserOf(text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for i, text := range texts {
			if _, err := kinds[i](text.text); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	texts, size := corpus(b)
	nodes := make([]dax.Node, len(texts))
	for i, text := range texts {
		n, err := parseAny(text)
		if err != nil {
			b.Fatal(err)
		}
		nodes[i] = n
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range nodes {
			dax.Format(n)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	type expression struct {
		ix    *dax.Index
		x     dax.Expr
		table string
		row   bool
	}
	var all []expression
	size := 0
	for _, m := range companyModels(b) {
		ix := dax.NewIndex(m)
		expressions(m, func(text, table string, row bool) {
			x, err := dax.ParseExpr(text)
			if err != nil {
				b.Fatal(err)
			}
			size += len(text)
			all = append(all, expression{ix, x, table, row})
		})
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range all {
			if _, err := e.ix.ResolveExpr(e.x, e.table, e.row); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A query as reports send them, of columns in quotes and nothing else.
func BenchmarkParseQuery(b *testing.B) {
	text := "EVALUATE SUMMARIZECOLUMNS(" + strings.Repeat("'Date'[Month Name], ", 3000) + "\"x\", [Orders])"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dax.ParseQuery(text); err != nil {
			b.Fatal(err)
		}
	}
}
