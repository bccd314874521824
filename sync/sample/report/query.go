package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// maxRows is how many rows of a visual are drawn.
const maxRows = 1000

// A term orders rows.
type term struct {
	dax        string
	descending bool
}

// query asks for the tables that a visual is drawn from: its rows; the totals of
// tables and matrices; of a matrix the totals of its rows and of its columns.
func (v *Visual) query(m *knowledge.Model, rows, across []group, filters []Filter) (string, error) {
	var b strings.Builder
	names, err := defineFilters(&b, m, filters)
	if err != nil {
		return "", err
	}
	all := slices.Concat(rows, across)
	table := v.summarize(all, names)
	order := v.order(all)
	switch {
	case v.Top > 0:
		table = topN(v.Top, table, []term{{dax.QuoteBracket(v.Values[0]), true}})
	case len(order) > 0:
		table = topN(maxRows+1, table, order)
	}
	evaluate(&b, table, order)
	if len(v.Values) > 0 && (v.Kind == Table || v.Kind == Matrix) {
		evaluate(&b, v.summarize(nil, names), nil)
	}
	if v.Kind == Matrix {
		evaluate(&b, v.summarize(rows, names), v.order(rows))
		evaluate(&b, v.summarize(across, names), v.order(across))
	}
	return b.String(), nil
}

func evaluate(b *strings.Builder, table string, order []term) {
	fmt.Fprintf(b, "EVALUATE\n    %s\n", table)
	for i, t := range order {
		joint := ",\n    "
		if i == 0 {
			joint = "ORDER BY\n    "
		}
		b.WriteString(joint + t.dax)
		if t.descending {
			b.WriteString(" DESC")
		}
	}
	b.WriteString("\n")
}

func topN(n int, table string, order []term) string {
	text := fmt.Sprintf("TOPN ( %d, %s", n, table)
	for _, t := range order {
		direction := "ASC"
		if t.descending {
			direction = "DESC"
		}
		text += ", " + t.dax + ", " + direction
	}
	return text + " )"
}

// defineFilters defines a variable for each filter that leaves anything out.
func defineFilters(b *strings.Builder, m *knowledge.Model, filters []Filter) ([]string, error) {
	var names []string
	for _, f := range filters {
		condition, err := f.condition(m)
		if err != nil {
			return nil, err
		}
		if condition == "" {
			continue
		}
		if names == nil {
			b.WriteString("DEFINE\n")
		}
		name := fmt.Sprintf("__Filter%d", len(names)+1)
		names = append(names, name)
		fmt.Fprintf(b, "    VAR %s =\n        FILTER ( KEEPFILTERS ( VALUES ( %s ) ), %s )\n",
			name, dax.QuoteColumn(f.Target.Table, f.Target.Column), condition)
	}
	return names, nil
}

// A group is a column that a query groups by.
type group struct {
	Field
	format string
	drawn  bool // not only there to order the next one
}

// grouping puts before each field the column of its table that orders it.
func grouping(m *knowledge.Model, list []Field) ([]group, error) {
	var out []group
	for _, f := range list {
		c, err := findColumn(m, f)
		if err != nil {
			return nil, err
		}
		if c.SortBy != "" {
			out = append(out, group{Field: Field{Table: f.Table, Column: c.SortBy}})
		}
		out = append(out, group{Field: f, format: c.FormatString, drawn: true})
	}
	return out, nil
}

// summarize groups by the fields. Without values it gives the combinations that
// there are.
func (v *Visual) summarize(by []group, filters []string) string {
	var args []string
	for _, f := range by {
		args = append(args, dax.QuoteColumn(f.Table, f.Column))
	}
	args = append(args, filters...)
	for _, name := range v.Values {
		args = append(args, dax.QuoteText(name), dax.QuoteBracket(name))
	}
	return "SUMMARIZECOLUMNS ( " + strings.Join(args, ", ") + " )"
}

// order is by the columns; but the largest value comes first where only so many
// are shown, and in bars whose column has no order of its own.
func (v *Visual) order(groups []group) []term {
	var list []term
	if v.Top > 0 || v.Kind == Bar && len(groups) == 1 {
		list = append(list, term{dax.QuoteBracket(v.Values[0]), true})
	}
	for _, g := range groups {
		list = append(list, term{dax.QuoteColumn(g.Table, g.Column), false})
	}
	return list
}
