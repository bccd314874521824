package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A calculationGroup is a table whose rows are calculation items: a filter on
// one of them changes what measures compute.
type calculationGroup struct {
	table  *table
	column *modelColumn // of the names of the items
	items  map[int32]*itemDef
}

// An itemDef is a calculation item of the model.
type itemDef struct {
	name string
	expr dax.Expr
	err  error
}

// A calculationItem is an item in a query.
type calculationItem struct {
	scalar scalar
	slots  int
}

// addItems makes a calculation group of a table. Its rows are its items where
// none were given.
func (e *Engine) addItems(t *table, empty bool) {
	def := t.def
	var names *modelColumn
	for _, c := range t.columns {
		if c.def.DataType != knowledge.Int64 && c.expr == nil {
			names = c
			break
		}
	}
	if names == nil {
		e.cannot("calculation group %s: it has no column of names", t.name)
		return
	}
	if empty {
		items := slices.Clone(def.Items)
		slices.SortStableFunc(items, func(a, b knowledge.CalculationItem) int { return a.Ordinal - b.Ordinal })
		t.n = len(items)
		for _, c := range t.columns {
			if c.expr != nil {
				continue
			}
			c.data = column.New(c.name, column.KindOf(c.def.DataType))
			for _, item := range items {
				switch {
				case c == names:
					c.data.AppendText(item.Name)
				case c.def.DataType == knowledge.Int64:
					c.data.AppendInt(int64(item.Ordinal))
				default:
					c.data.AppendBlank()
				}
			}
			c.data.AppendBlank()
		}
	}
	g := &calculationGroup{table: t, column: names, items: map[int32]*itemDef{}}
	for _, item := range def.Items {
		id, ok := names.data.Find(value.OfText(item.Name))
		if !ok {
			continue
		}
		d := &itemDef{name: item.Name}
		d.expr, d.err = dax.ParseExpr(item.Expression)
		g.items[id] = d
	}
	e.calculationGroups = append(e.calculationGroups, g)
	slices.SortStableFunc(e.calculationGroups, func(a, b *calculationGroup) int {
		return b.table.def.Precedence - a.table.def.Precedence
	})
}

// item is the item that the filter context selects; nil where that is not
// exactly one.
func (g *calculationGroup) item(q *query, f *filterContext) *calculationItem {
	ids := distinctIDs(g.column, f.rows(q, g.column.table))
	if len(ids) != 1 {
		return nil
	}
	if def := g.items[ids[0]]; def != nil {
		return q.item(def)
	}
	return nil
}

// item is a calculation item, compiled.
func (q *query) item(def *itemDef) *calculationItem {
	item := q.items[def]
	if item == nil {
		if def.err != nil {
			fail(Syntax, "Calculation error in calculation item '%s': %s", def.name, reason(syntaxError(def.err)))
		}
		c := &compiler{q: q}
		item = &calculationItem{}
		item.scalar = c.scalarOf(nil, def.expr)
		item.slots = c.slots
		q.items[def] = item
	}
	return item
}

// apply computes the item for a measure.
func (i *calculationItem) apply(q *query, m *measure, f *filterContext) value.Value {
	q.enter(m)
	v := i.scalar(&env{q: q, filter: f, selected: m, vars: make([]variable, i.slots)})
	q.calls--
	return v
}
