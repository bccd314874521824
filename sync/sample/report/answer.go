package report

import (
	"context"
	"slices"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// An Answer is what a visual is drawn from. Total is there for tables and
// matrices that have values; the other two for matrices.
type Answer struct {
	Rows         [][]Cell `json:"rows"`
	Cut          bool     `json:"cut,omitempty"` // there are more rows than are drawn
	Total        []Cell   `json:"total,omitempty"`
	RowTotals    [][]Cell `json:"rowTotals,omitempty"`
	ColumnTotals [][]Cell `json:"columnTotals,omitempty"`
}

// A Cell is a value as JSON has it, where times are texts, and as people read it.
type Cell struct {
	Value any    `json:"value"`
	Text  string `json:"text"`
}

// Ask evaluates a visual for an identity, with the filters of its own definition
// and those that are given, as the report's and the page's. The error is a
// [FilterError], an [UnknownColumn], an [eval.Error], or that of the context.
func (v *Visual) Ask(ctx context.Context, e *eval.Engine, m *knowledge.Model, as eval.Identity, filters []Filter) (*Answer, error) {
	all := slices.Concat(filtersOf(v.Filters), filters)
	rows, err := grouping(m, v.Rows)
	if err != nil {
		return nil, err
	}
	var across []group
	if v.Columns != nil {
		if across, err = grouping(m, []Field{*v.Columns}); err != nil {
			return nil, err
		}
	}
	text, err := v.query(m, rows, across, all)
	if err != nil {
		return nil, err
	}
	result, err := e.Query(ctx, text, as)
	if err != nil {
		return nil, err
	}
	a := &Answer{Rows: v.cells(m, slices.Concat(rows, across), result.Tables[0].Rows)}
	if len(a.Rows) > maxRows {
		a.Rows, a.Cut = a.Rows[:maxRows], true
	}
	if len(result.Tables) > 1 {
		a.Total = make([]Cell, len(v.Values)) // of no row at all the totals are blank
		if total := v.cells(m, nil, result.Tables[1].Rows); len(total) > 0 {
			a.Total = total[0]
		}
	}
	if v.Kind == Matrix {
		a.RowTotals = v.cells(m, rows, result.Tables[2].Rows)
		a.ColumnTotals = v.cells(m, across, result.Tables[3].Rows)
	}
	return a, nil
}

// cells are the values of rows that are drawn.
func (v *Visual) cells(m *knowledge.Model, groups []group, rows [][]any) [][]Cell {
	formats := make([]string, len(v.Values))
	for i, name := range v.Values {
		if me := findMeasure(m, name); me != nil {
			formats[i] = me.FormatString
		}
	}
	out := make([][]Cell, len(rows))
	for i, row := range rows {
		out[i] = []Cell{}
		for j, raw := range row {
			if j >= len(groups) {
				out[i] = append(out[i], cell(raw, formats[j-len(groups)]))
			} else if groups[j].drawn {
				out[i] = append(out[i], cell(raw, groups[j].format))
			}
		}
	}
	return out
}

func cell(raw any, format string) Cell {
	var v value.Value
	switch x := raw.(type) {
	case nil:
		return Cell{}
	case bool:
		v = value.OfBool(x)
	case int64:
		v = value.OfInt(x)
	case float64:
		v = value.OfDouble(x)
	case string:
		v = value.OfText(x)
	case time.Time:
		v = value.OfTime(x)
		raw = x.Format("2006-01-02T15:04:05")
	}
	return Cell{Value: raw, Text: value.Format(v, format, value.USEnglish)}
}
