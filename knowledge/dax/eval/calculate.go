package eval

import (
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// transition is the filter context that the row contexts make of e's own: every
// column of the current rows is held to its value.
func (e *env) transition() *filterContext {
	f := e.filter
	for i := e.live; i < len(e.frames); i++ {
		fr := &e.frames[i]
		filters := fr.rel.rowFilters(fr.row)
		if len(filters) == 0 {
			continue
		}
		before, rel := f, fr.rel
		if rel.keep {
			f = f.and(filters...)
			f.shadow = func() *filterContext { return before.and(rel.filters()...) }
			continue
		}
		f = f.override(filters...)
		// The values iterated over are what ALLSELECTED sees of these columns.
		f.shadow = func() *filterContext {
			return before.override(rel.filters()...)
		}
	}
	return f
}

// rowFilters hold the columns of the model in one row of r to their values.
func (r *relation) rowFilters(row int) []filter {
	var filters []filter
	if t := r.schema.base; t != nil {
		f := &rowFilter{table: t, grouped: true}
		at := r.rows[row]
		switch twins := t.twinsOf(at); {
		case twins != nil:
			f.rows = column.Listed(t.size(), twins)
		default:
			f.rows = column.Listed(t.size(), r.rows[row:row+1])
		}
		filters = append(filters, f)
	}
	for c := range r.cols {
		col := r.schema.cols[c].lineage
		if col == nil || col.data == nil || r.schema.base != nil && col.table == r.schema.base {
			continue
		}
		if id, ok := r.id(c, row); ok {
			filters = append(filters, oneValue(col, id))
		} else {
			filters = append(filters, valuesFilter(col, nil))
		}
	}
	return filters
}

// twinsOf is the rows that equal a row in all columns, where the table has such
// rows at all.
func (t *table) twinsOf(row int32) []int32 {
	if t.unique != nil {
		return nil
	}
	return t.twins()[row]
}

// findTwins gives for each row the rows that equal it.
func (t *table) findTwins() [][]int32 {
	byKey := map[string][]int32{}
	keys := make([]string, t.n+1)
	var buf []byte
	for row := range int32(t.n + 1) {
		buf = buf[:0]
		for _, c := range t.columns {
			if c.data != nil {
				id := c.data.IDs()[row]
				buf = append(buf, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
			}
		}
		keys[row] = string(buf)
		byKey[keys[row]] = append(byKey[keys[row]], row)
	}
	rows := make([][]int32, t.n+1)
	for row, k := range keys {
		rows[row] = byKey[k]
	}
	return rows
}

// filters turns a table value into filters on the columns of the model in it.
func (r *relation) filters() []filter {
	if t := r.schema.base; t != nil {
		rows := slices.Clone(r.rows)
		slices.Sort(rows)
		rows = slices.Compact(rows)
		g := newGather(t.size())
		g.add(rows)
		return []filter{&rowFilter{table: t, rows: g.rows()}}
	}
	var cols []*modelColumn
	var at []int
	for i, m := range r.schema.cols {
		if m.lineage != nil && !slices.Contains(cols, m.lineage) {
			cols = append(cols, m.lineage)
			at = append(at, i)
		}
	}
	if len(cols) == 0 {
		return nil
	}
	flat := make([]int32, 0, r.n*len(cols))
rows:
	for row := range r.n {
		for i, c := range at {
			id, ok := r.id(c, row)
			if !ok {
				flat = flat[:len(flat)-i]
				continue rows
			}
			flat = append(flat, id)
		}
	}
	return tuplesFilter(cols, flat)
}

// A modifier is one filter argument of CALCULATE. Either it gives filters, or it
// changes the filter context.
type modifier struct {
	filters func(*env) []filter
	keep    bool // KEEPFILTERS: they come on top of what is there
	change  func(*env, *filterContext) *filterContext
}

// under compiles the filter arguments of CALCULATE: what is given computes the
// filter context that they make, row contexts included.
func (c *compiler) under(s *scope, args []dax.Expr) func(*env) *filterContext {
	var all []modifier
	for _, arg := range args {
		if arg != nil {
			all = append(all, c.modifier(s, arg))
		}
	}
	return func(e *env) *filterContext { return e.modified(all) }
}

// modified is the filter context that modifiers make of e's, row contexts
// included.
func (e *env) modified(all []modifier) *filterContext {
	computed := make([][]filter, len(all))
	for i, m := range all {
		if m.filters != nil {
			computed[i] = m.filters(e)
		}
	}
	f := e.transition()
	for _, m := range all {
		if m.change != nil {
			f = m.change(e, f)
		}
	}
	// All filters are put in at once: two on one column both hold.
	var override, keep []filter
	for i, m := range all {
		if m.keep {
			keep = append(keep, computed[i]...)
		} else {
			override = append(override, computed[i]...)
		}
	}
	for _, one := range override {
		// A filter on the dates of a date table takes the place of all filters on
		// that table: that is how time intelligence leaves the current month.
		if v, ok := one.(*valueFilter); ok && v.col.isDateKey() {
			f = f.without(func(c *modelColumn) bool { return c.table == v.col.table })
		}
	}
	return f.override(override...).and(keep...)
}

// within is e under another filter context.
func (e *env) within(f *filterContext) *env {
	inner := *e
	inner.filter = f
	inner.live = len(e.frames)
	return &inner
}

func (c *compiler) calculate(s *scope, x *dax.Call) node {
	c.outsideConditions(x, strings.ToUpper(x.Func))
	n := c.scalarNode(s, x.Args[0])
	under := c.under(s, x.Args[1:])
	return node{scalar: func(e *env) value.Value {
		return n.scalar(e.within(under(e)))
	}}
}

func (c *compiler) calculateTable(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	under := c.under(s, x.Args[1:])
	return node{schema: sc, table: func(e *env) *relation {
		return table(e.within(under(e)))
	}}
}

// modifier compiles one filter argument.
func (c *compiler) modifier(s *scope, x dax.Expr) modifier {
	if p, ok := x.(*dax.Paren); ok {
		return c.modifier(s, p.X)
	}
	if call, ok := x.(*dax.Call); ok {
		switch knowledge.Fold(call.Func) {
		case "keepfilters":
			c.arity(call, 1, 1)
			m := c.modifier(s, call.Args[0])
			if m.filters == nil {
				table, _ := c.tableOf(s, call.Args[0])
				m = modifier{filters: func(e *env) []filter { return table(e).filters() }}
			}
			m.keep = true
			return m
		case "all", "removefilters", "allnoblankrow":
			return modifier{change: c.remover(s, call)}
		case "allexcept":
			return modifier{change: c.allExcept(s, call)}
		case "allselected":
			return modifier{change: c.allSelected(s, call)}
		case "allcrossfiltered":
			c.arity(call, 1, 1)
			t := c.tableArg(s, call.Args[0])
			return modifier{change: func(e *env, f *filterContext) *filterContext {
				return f.without(func(col *modelColumn) bool { return t.reaches(col.table) || col.table.reaches(t) })
			}}
		case "userelationship":
			return modifier{change: c.useRelationship(s, call)}
		case "crossfilter":
			return modifier{change: c.crossFilter(s, call)}
		}
	}
	if c.isTable(s, x) {
		table, _ := c.tableOf(s, x)
		return modifier{filters: func(e *env) []filter { return table(e).filters() }}
	}
	return modifier{filters: c.condition(s, x)}
}

// isTable says whether an expression is a table, going by its form.
func (c *compiler) isTable(s *scope, x dax.Expr) bool {
	switch x := x.(type) {
	case *dax.Paren:
		return c.isTable(s, x.X)
	case *dax.TableConstructor:
		return true
	case *dax.Name:
		if b := s.find(x.Value); b != nil && !x.Quoted {
			if b.expr != nil {
				return c.isTable(b.scope, b.expr)
			}
			return b.node.table != nil
		}
		return true
	case *dax.Vars:
		// The variables matter only for a RETURN that names one of them.
		if name, ok := x.Return.(*dax.Name); ok {
			for _, v := range x.Vars {
				if knowledge.Fold(v.Name) == knowledge.Fold(name.Value) {
					return c.isTable(s, v.Value)
				}
			}
		}
		return c.isTable(s, x.Return)
	case *dax.Call:
		if d, _ := c.userFunction(x.Func); d != nil {
			return c.isTable(nil, d.Value)
		}
		if knowledge.Fold(x.Func) == "evaluateandlog" && len(x.Args) > 0 {
			return c.isTable(s, x.Args[0])
		}
		f, ok := c.q.e.functions[knowledge.Fold(x.Func)]
		return ok && f.table
	}
	return false
}

// outsideConditions refuses what must not stand in a boolean filter argument.
func (c *compiler) outsideConditions(at dax.Node, function string) {
	if c.conditions > 0 {
		c.fail(at, Invalid, "A function '%s' has been used in a True/False expression that is used as a table filter expression. This is not allowed.", function)
	}
}

// condition compiles a boolean filter argument. It stands for the values, or
// combinations of values, of the columns it names for which it is true.
func (c *compiler) condition(s *scope, x dax.Expr) func(*env) []filter {
	collect := &collector{}
	at := &scope{outer: s, depth: s.levels() + 1, collect: collect}
	c.conditions++
	n := c.scalarNode(at, x)
	c.conditions--
	if len(collect.schema.cols) == 0 {
		c.fail(x, Invalid, "A true/false expression that is used as a filter must name at least one column.")
	}
	sc := &collect.schema
	cols := make([]*modelColumn, len(sc.cols))
	for i, m := range sc.cols {
		cols[i] = m.lineage
		if cols[i].table != cols[0].table {
			c.fail(x, Invalid, "The expression contains columns from multiple tables, but only columns from a single table can be used in a true/false expression that is used as a table filter expression.")
		}
	}
	steady := c.onlyConstants(x)
	var same []filter
	if equal := c.equality(s, x, cols); equal != nil {
		return equal
	}
	return func(e *env) []filter {
		if same != nil {
			return same
		}
		var rel *relation
		if len(cols) == 1 {
			rel = idsRelation(sc, e.q.valuesOf(cols[0]))
		} else {
			rel = combinations(sc, cols, e.q.visible(cols[0].table))
		}
		var flat []int32
		e.each(rel, func(i int) {
			if must(value.Truth(n.scalar(e))) {
				for k := range cols {
					flat = append(flat, rel.cols[k].ids[i])
				}
			}
		})
		filters := tuplesFilter(cols, flat)
		if steady {
			same = filters
		}
		return filters
	}
}

// equality is the quick way for T[c] = x and T[c] == x: the value is looked up.
func (c *compiler) equality(s *scope, x dax.Expr, cols []*modelColumn) func(*env) []filter {
	b, ok := x.(*dax.Binary)
	if !ok || b.Op != "=" && b.Op != "==" || len(cols) != 1 {
		return nil
	}
	ref, other := b.X, b.Y
	if _, ok := ref.(*dax.Ref); !ok {
		ref, other = other, ref
	}
	if _, ok := ref.(*dax.Ref); !ok || c.tryColumn(s, ref) != cols[0] || c.mentions(s, other, cols[0]) {
		return nil
	}
	n := c.scalarNode(s, other)
	col, strict := cols[0], b.Op == "=="
	made := map[int32][]filter{}
	return func(e *env) []filter {
		v := n.scalar(e)
		if !strict {
			if v.IsBlank() || v == (value.OfText("")) || v.IsNumber() && v.Float() == 0 || v == value.False {
				// Blank and the zero of the type are equal: look at all values.
				var ids []int32
				for id, have := range col.data.Values() {
					if must(value.Compare(have, v)) == 0 {
						ids = append(ids, int32(id))
					}
				}
				return []filter{valuesFilter(col, ids)}
			}
			if values := col.data.Values(); len(values) > 1 {
				must(value.Compare(values[1], v)) // types that cannot be compared
			}
		}
		id, ok := col.data.Find(v)
		if !ok {
			id = -1
		}
		filters := made[id]
		if filters == nil {
			var ids []int32
			if ok {
				ids = []int32{id}
			}
			filters = []filter{valuesFilter(col, ids)}
			made[id] = filters
		}
		return filters
	}
}

// mentions says whether an expression reads the column as a value, or may.
func (c *compiler) mentions(s *scope, x dax.Expr, col *modelColumn) bool {
	found := false
	dax.Walk(x, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Ref:
			found = found || n.HasTable && knowledge.Fold(n.Name) == col.folded
		case *dax.Name:
			if b := s.find(n.Value); b != nil && b.expr != nil {
				found = true
			}
		}
		return !found
	})
	return found
}

// onlyConstants says whether an expression is made of columns and constants
// alone, so that as a condition it always gives the same filter.
func (c *compiler) onlyConstants(x dax.Expr) bool {
	ok := true
	dax.Walk(x, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Call, *dax.Name, *dax.Vars:
			ok = false
		case *dax.Ref:
			ok = ok && n.HasTable && c.q.measure(n.Name) == nil
		}
		return ok
	})
	return ok
}

// combinations is the combinations of values of columns of one table in rows.
func combinations(sc *schema, cols []*modelColumn, rows *column.Rows) *relation {
	set := newTupleSet(len(cols))
	ids := make([]int32, len(cols))
	var flat []int32
	for _, row := range rows.List() {
		for i, c := range cols {
			ids[i] = c.data.IDs()[row]
		}
		if set.add(ids) {
			flat = append(flat, ids...)
		}
	}
	return tuplesRelation(sc, flat)
}

// tableArg is an argument that names a table of the model.
func (c *compiler) tableArg(s *scope, x dax.Expr) *table {
	t := c.tryTable(s, x)
	if t == nil {
		c.fail(x, Invalid, "The argument must be the name of a table.")
	}
	c.q.e.needTable(t)
	return t
}

// tryTable is the table that an expression names, nil where it is something else.
func (c *compiler) tryTable(s *scope, x dax.Expr) *table {
	switch x := x.(type) {
	case *dax.Paren:
		return c.tryTable(s, x.X)
	case *dax.Name:
		if b := s.find(x.Value); b != nil && !x.Quoted {
			if b.expr != nil {
				b.uses++
				return c.tryTable(b.scope, b.expr)
			}
			return nil
		}
		return c.tableNamed(x, x.Value)
	case *dax.Call:
		if knowledge.Fold(x.Func) == "tableof" {
			c.arity(x, 1, 1)
			return c.referenceTo(s, x).table
		}
	}
	return nil
}
