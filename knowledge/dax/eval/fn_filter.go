package eval

import (
	"slices"
	"strconv"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// filterFunctions are those that read or change the contexts.
func filterFunctions() map[string]function {
	return map[string]function{
		"calculate":      scalarFunction(1, -1, (*compiler).calculate),
		"calculatetable": tableFunction(1, -1, (*compiler).calculateTable),
		"filter":         tableFunction(2, 2, (*compiler).filterTable),
		"all":            tableFunction(0, -1, func(c *compiler, s *scope, x *dax.Call) node { return c.allTable(s, x, true) }),
		"allnoblankrow":  tableFunction(1, -1, func(c *compiler, s *scope, x *dax.Call) node { return c.allTable(s, x, false) }),
		"allexcept":      tableFunction(2, -1, (*compiler).allExceptTable),
		"allselected":    tableFunction(0, -1, (*compiler).allSelectedTable),
		"values":         tableFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node { return c.valuesTable(s, x, true) }),
		"distinct":       tableFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node { return c.valuesTable(s, x, false) }),
		"filters":        tableFunction(1, 1, (*compiler).filtersTable),
		"keepfilters": tableFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node {
			table, sc := c.tableOf(s, x.Args[0])
			return node{schema: sc, table: func(e *env) *relation {
				kept := *table(e)
				kept.keep = true
				return &kept
			}}
		}),
		"removefilters":   onlyIn("filter arguments of CALCULATE and CALCULATETABLE"),
		"userelationship": onlyIn("filter arguments of CALCULATE and CALCULATETABLE"),
		"crossfilter":     onlyIn("filter arguments of CALCULATE and CALCULATETABLE"),

		"selectedvalue":      scalarFunction(1, 2, (*compiler).selectedValue),
		"hasonevalue":        scalarFunction(1, 1, (*compiler).hasOneValue),
		"hasonefilter":       scalarFunction(1, 1, (*compiler).hasOneFilter),
		"isfiltered":         scalarFunction(1, 1, (*compiler).isFiltered),
		"iscrossfiltered":    scalarFunction(1, 1, (*compiler).isCrossFiltered),
		"isinscope":          scalarFunction(1, 1, (*compiler).isInScope),
		"related":            scalarFunction(1, 1, (*compiler).related),
		"relatedtable":       tableFunction(1, 1, (*compiler).calculateTable),
		"lookupvalue":        scalarFunction(3, -1, (*compiler).lookupValue),
		"earlier":            scalarFunction(1, 2, (*compiler).earlier),
		"earliest":           scalarFunction(1, 1, (*compiler).earliest),
		"firstnonblank":      tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.nonBlank(s, x, false) }),
		"lastnonblank":       tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.nonBlank(s, x, true) }),
		"firstnonblankvalue": scalarFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.nonBlankValue(s, x, false) }),
		"lastnonblankvalue":  scalarFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.nonBlankValue(s, x, true) }),
	}
}

// filterTable is FILTER.
func (c *compiler) filterTable(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	cond := c.scalarOf(s.row(sc), x.Args[1])
	return node{schema: sc, table: func(e *env) *relation {
		rel := table(e)
		var keep []int
		e.each(rel, func(i int) {
			if must(value.Truth(cond(e))) {
				keep = append(keep, i)
			}
		})
		if len(keep) == rel.n {
			return rel
		}
		return e.q.pick(rel, keep)
	}}
}

// allTable is ALL and ALLNOBLANKROW as tables.
func (c *compiler) allTable(s *scope, x *dax.Call, blankRow bool) node {
	t, cols := c.columnsOrTable(s, x)
	if t == nil && cols == nil {
		c.fail(x, Invalid, "ALL without arguments can only be used as a filter argument of CALCULATE.")
	}
	return c.rowsUnder(t, cols, blankRow, func(*env) *filterContext { return &filterContext{} })
}

// rowsUnder is the rows of a table, or the combinations of some of its columns,
// under a filter context.
func (c *compiler) rowsUnder(t *table, cols []*modelColumn, blankRow bool, under func(*env) *filterContext) node {
	if t != nil {
		sc := c.q.schema(t)
		return node{schema: sc, table: func(e *env) *relation {
			rows := under(e).rows(e.q, t).List()
			if !blankRow {
				rows = withoutBlankRow(t, rows)
			}
			return baseRelation(sc, rows)
		}}
	}
	sc := schemaOf(cols...)
	return node{schema: sc, table: func(e *env) *relation {
		t := cols[0].table
		rows := under(e).rows(e.q, t)
		if !blankRow && t.blankRow {
			rows = column.Listed(rows.Size(), withoutBlankRow(t, rows.List()))
		}
		if len(cols) == 1 {
			return idsRelation(sc, distinctIDs(cols[0], rows))
		}
		return combinations(sc, cols, rows)
	}}
}

func (c *compiler) allExceptTable(s *scope, x *dax.Call) node {
	t := c.tableArg(s, x.Args[0])
	var left []*modelColumn
	var except []*modelColumn
	for _, arg := range x.Args[1:] {
		except = append(except, c.columnOf(s, arg))
	}
	for _, col := range t.columns {
		if !slices.Contains(except, col) {
			left = append(left, col)
		}
	}
	return c.rowsUnder(nil, left, true, func(*env) *filterContext { return &filterContext{} })
}

func (c *compiler) allSelectedTable(s *scope, x *dax.Call) node {
	t, cols := c.columnsOrTable(s, x)
	if t == nil && cols == nil {
		c.fail(x, Invalid, "ALLSELECTED without arguments can only be used as a filter argument of CALCULATE.")
	}
	drop := dropping(t, cols)
	return c.rowsUnder(t, cols, true, func(e *env) *filterContext { return e.filter.selected(drop) })
}

// valuesTable is VALUES, which shows the blank row, and DISTINCT, which does not.
func (c *compiler) valuesTable(s *scope, x *dax.Call, blankRow bool) node {
	current := func(e *env) *filterContext { return e.filter }
	if t := c.tryTable(s, x.Args[0]); t != nil {
		c.q.e.needTable(t)
		n := c.rowsUnder(t, nil, blankRow, current)
		if !blankRow {
			table := n.table
			n.table = func(e *env) *relation { return table(e).distinct() }
		}
		return n
	}
	if _, ok := x.Args[0].(*dax.Ref); ok {
		if at, i := c.madeColumn(s, x.Args[0]); at != nil {
			return c.rowValue(at, i)
		}
		return c.rowsUnder(nil, []*modelColumn{c.columnOf(s, x.Args[0])}, blankRow, current)
	}
	if col := c.tryColumn(s, x.Args[0]); col != nil {
		return c.rowsUnder(nil, []*modelColumn{col}, blankRow, current)
	}
	table, sc := c.tableOf(s, x.Args[0])
	return node{schema: sc, table: func(e *env) *relation { return table(e).distinct() }}
}

// madeColumn finds [x] among the columns without lineage of the row contexts.
func (c *compiler) madeColumn(s *scope, x dax.Expr) (*scope, int) {
	ref, ok := x.(*dax.Ref)
	if !ok || ref.HasTable {
		return nil, 0
	}
	folded := knowledge.Fold(ref.Name)
	for at := s; at != nil; at = at.outer {
		if at.frame == nil {
			continue
		}
		for i, m := range at.frame.cols {
			if knowledge.Fold(m.name) == folded && m.lineage == nil {
				return at, i
			}
		}
	}
	return nil, 0
}

// rowValue is VALUES ( [x] ) of a column that a query made: the current value.
func (c *compiler) rowValue(at *scope, i int) node {
	read := c.read(at, i).scalar
	sc := &schema{cols: []colMeta{{name: at.frame.cols[i].name}}}
	return node{schema: sc, table: func(e *env) *relation {
		rel := newRelation(sc)
		rel.addRow(read(e))
		return rel
	}}
}

// filtersTable is FILTERS: the values that a column is held to.
func (c *compiler) filtersTable(s *scope, x *dax.Call) node {
	col := c.columnOf(s, x.Args[0])
	sc := schemaOf(col)
	return node{schema: sc, table: func(e *env) *relation {
		only := e.filter.without(func(c *modelColumn) bool { return c != col })
		return idsRelation(sc, distinctIDs(col, only.rows(e.q, col.table)))
	}}
}

// current is the values of a column that the filter context leaves.
func (e *env) current(col *modelColumn) []int32 {
	return distinctIDs(col, e.filter.rows(e.q, col.table))
}

func (c *compiler) selectedValue(s *scope, x *dax.Call) node {
	col := c.columnOf(s, x.Args[0])
	var other dax.Expr
	if len(x.Args) > 1 {
		other = x.Args[1]
	}
	otherwise := c.scalarOf(s, other)
	return node{scalar: func(e *env) value.Value {
		if ids := e.current(col); len(ids) == 1 {
			return col.data.Values()[ids[0]]
		}
		return otherwise(e)
	}}
}

func (c *compiler) hasOneValue(s *scope, x *dax.Call) node {
	col := c.columnOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value { return value.OfBool(len(e.current(col)) == 1) }}
}

func (c *compiler) hasOneFilter(s *scope, x *dax.Call) node {
	col := c.columnOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value {
		if !e.filter.covers(col) {
			return value.False
		}
		only := e.filter.without(func(c *modelColumn) bool { return c != col })
		return value.OfBool(len(distinctIDs(col, only.rows(e.q, col.table))) == 1)
	}}
}

func (c *compiler) isFiltered(s *scope, x *dax.Call) node {
	if t := c.tryTable(s, x.Args[0]); t != nil {
		return node{scalar: func(e *env) value.Value {
			return value.OfBool(slices.ContainsFunc(t.columns, e.filter.covers))
		}}
	}
	col := c.columnOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value { return value.OfBool(e.filter.covers(col)) }}
}

func (c *compiler) isCrossFiltered(s *scope, x *dax.Call) node {
	t := c.tryTable(s, x.Args[0])
	if t == nil {
		t = c.columnOf(s, x.Args[0]).table
	}
	return node{scalar: func(e *env) value.Value {
		return value.OfBool(e.filter.rows(e.q, t) != e.q.visible(t) || slices.ContainsFunc(t.columns, e.filter.covers))
	}}
}

// isInScope asks whether the column is one that rows are grouped by.
func (c *compiler) isInScope(s *scope, x *dax.Call) node {
	col := c.columnOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value {
		for _, f := range e.filter.filters {
			switch f := f.(type) {
			case *valueFilter:
				if f.grouped && f.col == col {
					return value.True
				}
			case *rowFilter:
				if f.grouped && f.covers(col) {
					return value.True
				}
			}
		}
		return value.False
	}}
}

// related is RELATED: a column of a table that the current row reaches.
func (c *compiler) related(s *scope, x *dax.Call) node {
	return c.relatedTo(s, x, c.columnOf(s, x.Args[0]))
}

// relatedTo reads a column of a table that the current row reaches.
func (c *compiler) relatedTo(s *scope, x dax.Expr, col *modelColumn) node {
	for at := s; at != nil; at = at.outer {
		if at.frame == nil {
			continue
		}
		level := at.depth - 1
		if t := at.frame.base; t != nil && t.reaches(col.table) {
			read := t.reader(col)
			if c.q.allowed[col.table] != nil && t != col.table {
				// A row that the person may not see is not there to be related to.
				walk := t.walk(col.table)
				return node{scalar: func(e *env) value.Value {
					f := &e.frames[level]
					row := walk(f.rel.rows[f.row])
					if int(row) < col.table.size() && !e.q.visible(col.table).Has(row) {
						return value.Value{}
					}
					return col.data.At(row)
				}}
			}
			return node{scalar: func(e *env) value.Value {
				f := &e.frames[level]
				return col.data.Values()[read(f.rel.rows[f.row])]
			}}
		}
		for i, m := range at.frame.cols {
			if m.lineage == col {
				return c.read(at, i)
			}
		}
	}
	c.fail(x, Invalid, "The column '%s[%s]' either doesn't exist or doesn't have a relationship to any table available in the current context.", col.table.name, col.name)
	return node{}
}

// lookupValue is LOOKUPVALUE ( result, column, value, …, alternate ).
func (c *compiler) lookupValue(s *scope, x *dax.Call) node {
	result := c.columnOf(s, x.Args[0])
	t := result.table
	type condition struct {
		col   *modelColumn
		read  func(int32) int32
		equal scalar
	}
	var conditions []condition
	args := x.Args[1:]
	for len(args) >= 2 {
		col := c.columnOf(s, args[0])
		read := t.reader(col)
		if read == nil {
			c.fail(args[0], Invalid, "The column %s is not in the table of the result, nor in one that it is related to.", col)
		}
		conditions = append(conditions, condition{col, read, c.scalarOf(s, args[1])})
		args = args[2:]
	}
	var alternate scalar
	if len(args) == 1 {
		alternate = c.scalarOf(s, args[0])
	}
	return node{scalar: func(e *env) value.Value {
		ids := make([]int32, len(conditions))
		rows := e.q.visible(t)
		for i, cond := range conditions {
			v := cond.equal(e)
			id, ok := cond.col.data.Find(v)
			if !ok {
				return orBlank(e, alternate)
			}
			ids[i] = id
			if cond.col.table == t {
				g := newGather(t.size())
				g.add(cond.col.data.RowsOf(id))
				rows = rows.And(g.rows())
			}
		}
		found := int32(-1)
	rows:
		for _, row := range rows.List() {
			for i, cond := range conditions {
				if cond.read(row) != ids[i] {
					continue rows
				}
			}
			id := result.data.IDs()[row]
			if found >= 0 && id != found {
				if alternate != nil {
					return alternate(e)
				}
				fail(Evaluation, "A table of multiple values was supplied where a single value was expected.")
			}
			found = id
		}
		if found < 0 {
			return orBlank(e, alternate)
		}
		return result.data.Values()[found]
	}}
}

func orBlank(e *env, s scalar) value.Value {
	if s == nil {
		return value.Value{}
	}
	return s(e)
}

// rowsWith are the row contexts that have a column, the innermost first.
func (c *compiler) rowsWith(s *scope, x dax.Expr) []node {
	ref, ok := x.(*dax.Ref)
	if !ok {
		c.fail(x, Invalid, "EARLIER needs a column.")
	}
	table, name := knowledge.Fold(ref.Table), knowledge.Fold(ref.Name)
	var found []node
	for at := s; at != nil; at = at.outer {
		if at.frame == nil {
			continue
		}
		for i, m := range at.frame.cols {
			if knowledge.Fold(m.name) == name && (!ref.HasTable || knowledge.Fold(m.table) == table) {
				found = append(found, c.read(at, i))
				break
			}
		}
	}
	return found
}

func (c *compiler) earlier(s *scope, x *dax.Call) node {
	found := c.rowsWith(s, x.Args[0])
	back := 1
	if len(x.Args) > 1 {
		n, ok := x.Args[1].(*dax.Number)
		if !ok {
			c.fail(x.Args[1], Invalid, "The second argument of EARLIER must be a whole number.")
		}
		back, _ = strconv.Atoi(n.Text) // anything else is out of range below
	}
	if back < 1 || back >= len(found) {
		c.fail(x, Invalid, "EARLIER/EARLIEST refers to an earlier row context which doesn't exist.")
	}
	return found[back]
}

func (c *compiler) earliest(s *scope, x *dax.Call) node {
	found := c.rowsWith(s, x.Args[0])
	if len(found) < 2 {
		c.fail(x, Invalid, "EARLIER/EARLIEST refers to an earlier row context which doesn't exist.")
	}
	return found[len(found)-1]
}

// columnTable is an argument that is a column or a table of one column: its
// values in the filter context, and its one column.
func (c *compiler) columnTable(s *scope, x dax.Expr) (tableFn, *schema) {
	if col := c.tryColumn(s, x); col != nil {
		n := c.rowsUnder(nil, []*modelColumn{col}, true, func(e *env) *filterContext { return e.transition() })
		return n.table, n.schema
	}
	table, sc := c.tableOf(s, x)
	if len(sc.cols) != 1 {
		c.fail(x, Invalid, "A column or a table of one column is expected.")
	}
	return table, sc
}

// nonBlank is FIRSTNONBLANK and LASTNONBLANK: the first value of a column, in
// the order of its values, for which an expression is not blank.
func (c *compiler) nonBlank(s *scope, x *dax.Call, last bool) node {
	table, sc := c.columnTable(s, x.Args[0])
	of := c.scalarOf(s.row(sc), x.Args[1])
	return node{schema: sc, table: func(e *env) *relation {
		rel, at, _ := e.findNonBlank(table(e), of, last)
		if at < 0 {
			return rel.pick(nil)
		}
		return rel.pick([]int{at})
	}}
}

func (c *compiler) nonBlankValue(s *scope, x *dax.Call, last bool) node {
	table, sc := c.columnTable(s, x.Args[0])
	of := c.scalarOf(s.row(sc), x.Args[1])
	return node{scalar: func(e *env) value.Value {
		_, _, v := e.findNonBlank(table(e), of, last)
		return v
	}}
}

func (e *env) findNonBlank(rel *relation, of scalar, last bool) (*relation, int, value.Value) {
	places := make([]int, rel.n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int {
		o := value.Order(rel.at(0, a), rel.at(0, b))
		if last {
			return -o
		}
		return o
	})
	rel = rel.pick(places)
	top := len(e.frames)
	e.frames = append(e.frames, frame{rel: rel})
	defer func() { e.frames = e.frames[:top] }()
	for i := range rel.n {
		e.frames[top].row = i
		// The expression is evaluated as if it were in CALCULATE.
		if v := of(e.within(e.transition())); !v.IsBlank() {
			return rel, i, v
		}
	}
	return rel, -1, value.Value{}
}
