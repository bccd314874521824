package pii_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/reference"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

// A question is a query that somebody would ask of a model, with the columns and
// measures that it names.
type question struct {
	dax  string
	uses []reference.Element
}

// questions are what people and agents ask first: each measure by itself and by
// some columns, the values of each column, and the tables.
func questions(m *knowledge.Model) []question {
	quote := func(table string) string { return "'" + strings.ReplaceAll(table, "'", "''") + "'" }
	name := func(table, name string) string { return quote(table) + "[" + strings.ReplaceAll(name, "]", "]]") + "]" }
	var list []question
	var by []reference.Element
	for _, t := range m.Tables {
		if len(t.Items) > 0 {
			continue
		}
		list = append(list, question{"EVALUATE TOPN ( 100, " + quote(t.Name) + " )", []reference.Element{{Kind: reference.Table, Table: t.Name}}})
		for i, c := range t.Columns {
			e := reference.Element{Kind: reference.Column, Table: t.Name, Name: c.Name}
			list = append(list, question{"EVALUATE VALUES ( " + name(t.Name, c.Name) + " )", []reference.Element{e}})
			if i%4 == 1 && len(by) < 12 {
				by = append(by, e)
			}
		}
	}
	for _, t := range m.Tables {
		for i, x := range t.Measures {
			e := reference.Element{Kind: reference.Measure, Table: t.Name, Name: x.Name}
			ref := "[" + strings.ReplaceAll(x.Name, "]", "]]") + "]"
			list = append(list, question{`EVALUATE ROW ( "v", ` + ref + " )", []reference.Element{e}})
			if len(by) > 0 {
				c := by[i%len(by)]
				list = append(list,
					question{fmt.Sprintf(`EVALUATE SUMMARIZECOLUMNS ( %s, "v", %s ) ORDER BY [v] DESC`, name(c.Table, c.Name), ref), []reference.Element{c, e}},
					question{fmt.Sprintf(`EVALUATE TOPN ( 5, ADDCOLUMNS ( VALUES ( %s ), "v", CALCULATE ( %s ) ), [v], DESC )`, name(c.Table, c.Name), ref), []reference.Element{c, e}})
			}
		}
	}
	return list
}

// The guard must not annoy those who ask for nothing personal. In every model the
// names that look like personal data are marked; of the questions that touch
// nothing covered, next to none is refused.
func TestHarmlessQuestionsPass(t *testing.T) {
	models := map[string]*knowledge.Model{}
	for _, folder := range company.Datasets() {
		m, err := tmdl.LoadFS(company.Files, folder)
		if err != nil {
			t.Fatal(err)
		}
		models[folder] = m
	}
	if root := os.Getenv("PBMB_PUBLIC_MODELS"); root != "" {
		for folder, m := range publicModels(t) {
			models[filepath.Base(root)+"/"+folder] = m
		}
	}
	asked, refused, personal := 0, 0, 0
	var reasons []string
	for folder, m := range models {
		m.RelationshipsKnown = true
		var rules []pii.Rule
		for _, table := range m.Tables {
			for _, c := range table.Columns {
				if s, ok := pii.SuggestName(table.Name, c.Name, c.DataType); ok && s.Confidence > pii.Low {
					rules = append(rules, pii.Rule{Kind: pii.Column, Table: table.Name, Name: c.Name, PII: true})
				}
			}
		}
		if len(rules) == 0 {
			// Any column will do: the guard is off where nothing is marked.
			i := slices.IndexFunc(m.Tables, func(t knowledge.Table) bool { return len(t.Columns) > 0 })
			if i < 0 {
				continue
			}
			rules = []pii.Rule{{Kind: pii.Column, Table: m.Tables[i].Name, Name: m.Tables[i].Columns[0].Name, PII: true}}
		}
		c := pii.Cover(rules, m)
		graph := reference.NewGraph(m)
		covered := func(e reference.Element) bool {
			kind := map[reference.Kind]pii.Kind{reference.Table: pii.Table, reference.Column: pii.Column}[e.Kind]
			return kind != "" && len(c.ExplainElement(pii.Ref{Kind: kind, Table: e.Table, Name: e.Name})) > 0
		}
		for _, q := range questions(m) {
			touches := false
			for _, e := range q.uses {
				touches = touches || covered(e)
				if e.Kind == reference.Measure {
					// A measure may count people, but what it reads is then not free of them.
					for _, d := range graph.Dependencies(e) {
						touches = touches || d.Element.Kind == reference.Column && covered(d.Element)
					}
				}
			}
			if touches {
				personal++
				continue
			}
			asked++
			if r := pii.Check(q.dax, m, c); r != nil {
				refused++
				steps := c.Explain(r)
				reasons = append(reasons, fmt.Sprintf("%s: %s: %s %v", folder, q.dax, r.Cause, steps[0].Steps))
			}
		}
	}
	slices.Sort(reasons)
	for _, reason := range reasons[:min(40, len(reasons))] {
		t.Log(reason)
	}
	t.Logf("%d models: of %d questions that touch nothing covered, %d (%.2f %%) are refused; %d others touch something",
		len(models), asked, refused, 100*float64(refused)/float64(asked), personal)
	if asked < 1000 || refused*50 > asked {
		t.Errorf("%d of %d harmless questions are refused, 2 %% are allowed", refused, asked)
	}
}
