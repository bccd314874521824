package eval

import (
	"fmt"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A scalar computes one value, a tableFn a table. What goes wrong with the
// values is a panic with an [*Error], which [Engine.Query] and IFERROR recover:
// an error result in every one of some hundred closures would hide what they do.
type (
	scalar  func(*env) value.Value
	tableFn func(*env) *relation
)

// A node is a compiled expression: either scalar or table is set.
type node struct {
	pos    dax.Pos
	scalar scalar
	table  tableFn
	schema *schema // of table

	// steady is set where the value is the same in every context.
	steady bool
}

// An env is what an expression is computed in.
type env struct {
	q      *query
	filter *filterContext
	frames []frame
	live   int // frames from here on are turned into filters by the next context transition
	vars   []variable

	// The measure that a calculation item is applied to.
	selected *measure
}

// A frame is one row context.
type frame struct {
	rel *relation
	row int
}

// each runs f for every row of rel, in a row context.
func (e *env) each(rel *relation, f func(i int)) {
	top := len(e.frames)
	e.frames = append(e.frames, frame{rel: rel})
	for i := range rel.n {
		if i&255 == 0 {
			e.q.check()
		}
		e.frames[top].row = i
		f(i)
	}
	e.frames = e.frames[:top]
}

// fail ends the evaluation.
func fail(kind ErrorKind, format string, args ...any) {
	panic(&Error{Kind: kind, Message: fmt.Sprintf(format, args...)})
}

// must passes on what an operator on values gave.
func must[T any](v T, err error) T {
	if err != nil {
		fail(Evaluation, "%s", err)
	}
	return v
}

// A compiler compiles the expressions of one unit: a query, a measure, a
// calculated column or a row filter. The unit's variables share one list.
type compiler struct {
	q       *query
	slots   int
	home    *table // of a measure: [x] can be a column of it
	inlined int    // user-defined functions around this place

	conditions int // boolean filter arguments around this place
}

// A scope is what names mean at a place: a list that grows inwards.
type scope struct {
	outer *scope
	depth int // row contexts so far

	// One of the following is set.
	frame   *schema    // a row context
	collect *collector // the row context of a condition in CALCULATE
	name    string     // a variable or parameter, folded
	bound   *binding
}

// A binding is what a variable or parameter stands for.
type binding struct {
	node  node
	uses  int
	keys  []groupKey // of SUMMARIZE, in the binding of ISSUBTOTAL
	expr  dax.Expr   // of a parameter by expression
	scope *scope     // where expr stands
}

func (s *scope) row(sc *schema) *scope {
	return &scope{outer: s, depth: s.levels() + 1, frame: sc}
}

func (s *scope) with(name string, b *binding) *scope {
	return &scope{outer: s, depth: s.levels(), name: knowledge.Fold(name), bound: b}
}

func (s *scope) levels() int {
	if s == nil {
		return 0
	}
	return s.depth
}

// A collector is the row context of a condition like T[c] = 1 given to
// CALCULATE: every column that the condition names is one of its columns.
type collector struct {
	schema schema
}

func (c *compiler) fail(at dax.Node, kind ErrorKind, format string, args ...any) {
	err := &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		err.Line, err.Column = at.Pos().Line, at.Pos().Column
	}
	panic(err)
}

// scalarOf compiles an expression that must be a scalar. A table of one column
// is one while it has a single row. A missing argument is blank.
func (c *compiler) scalarOf(s *scope, x dax.Expr) scalar {
	return c.scalarNode(s, x).scalar
}

func (c *compiler) scalarNode(s *scope, x dax.Expr) node {
	if x == nil {
		return node{scalar: func(*env) value.Value { return value.Value{} }, steady: true}
	}
	n := c.any(s, x)
	if n.scalar != nil {
		return n
	}
	if len(n.schema.cols) != 1 {
		c.fail(x, Invalid, "The expression refers to multiple columns. Multiple columns cannot be converted to a scalar value.")
	}
	table := n.table
	return node{scalar: func(e *env) value.Value {
		rel := table(e)
		switch rel.n {
		case 0:
			return value.Value{}
		case 1:
			return rel.at(0, 0)
		}
		fail(Evaluation, "A table of multiple values was supplied where a single value was expected.")
		return value.Value{}
	}}
}

// tableOf compiles an expression that must be a table.
func (c *compiler) tableOf(s *scope, x dax.Expr) (tableFn, *schema) {
	if x == nil {
		c.fail(nil, Invalid, "A table expression is missing.")
	}
	n := c.any(s, x)
	if n.table == nil {
		c.fail(x, Invalid, "The expression specified in the query is not a valid table expression.")
	}
	return n.table, n.schema
}

// maxCompiled bounds the expressions that one query compiles. Functions that are
// put in place where they are called could otherwise multiply without end.
const maxCompiled = 1 << 20

// any compiles an expression.
func (c *compiler) any(s *scope, x dax.Expr) node {
	if c.q.compiled++; c.q.compiled > maxCompiled {
		c.fail(x, Exceeded, "The query is too complex.")
	}
	if c.q.nested++; c.q.nested > maxNested {
		c.fail(x, Exceeded, "The query is too complex: its expressions are nested too deeply.")
	}
	defer func() { c.q.nested-- }()
	switch x := x.(type) {
	case *dax.Number:
		v, ok := value.ParseNumber(x.Text)
		if !ok {
			c.fail(x, Syntax, "The number '%s' cannot be read.", x.Text)
		}
		return constant(v)
	case *dax.Text:
		return constant(value.OfText(x.Value))
	case *dax.Date:
		t, ok := value.ParseDate(x.Value)
		if !ok {
			c.fail(x, Syntax, "The date '%s' cannot be read.", x.Value)
		}
		return constant(value.OfTime(t))
	case *dax.Bool:
		return constant(value.OfBool(x.Value))
	case *dax.Paren:
		return c.any(s, x.X)
	case *dax.Name:
		return c.nameRef(s, x)
	case *dax.Ref:
		return c.columnOrMeasure(s, x)
	case *dax.Call:
		return c.call(s, x)
	case *dax.Unary:
		return c.unary(s, x)
	case *dax.Binary:
		return c.binary(s, x)
	case *dax.TableConstructor:
		return c.constructor(s, x)
	case *dax.Vars:
		return c.vars(s, x)
	case *dax.Parameter:
		c.fail(x, Unsupported, "The parameter '@%s' has no value: executeQueries takes none.", x.Name)
	case *dax.Tuple:
		c.fail(x, Invalid, "A list of values in parentheses can stand only before IN and in a table constructor.")
	}
	c.fail(x, Unsupported, "The expression has a form that is not supported here.")
	return node{}
}

func constant(v value.Value) node {
	return node{scalar: func(*env) value.Value { return v }, steady: true}
}

// nameRef is a name alone: a parameter, a variable or a table.
func (c *compiler) nameRef(s *scope, x *dax.Name) node {
	if !x.Quoted {
		if b := s.find(x.Value); b != nil {
			return c.bound(b, s)
		}
	}
	t := c.tableNamed(x, x.Value)
	return c.tableNode(t)
}

// find looks a variable or parameter up.
func (s *scope) find(name string) *binding {
	name = knowledge.Fold(name)
	for ; s != nil; s = s.outer {
		if s.bound != nil && s.name == name {
			return s.bound
		}
	}
	return nil
}

// bound is the use of a variable or parameter.
func (c *compiler) bound(b *binding, at *scope) node {
	b.uses++
	if b.expr != nil {
		return c.any(b.scope.within(at), b.expr)
	}
	return b.node
}

// within is the scope s, in which an argument was written, with the row contexts
// of the place where the argument is used.
func (s *scope) within(at *scope) *scope {
	var inner []*scope
	for ; at.levels() > s.levels(); at = at.outer {
		if at.frame != nil || at.collect != nil {
			inner = append(inner, at)
		}
	}
	for i := len(inner) - 1; i >= 0; i-- {
		s = &scope{outer: s, depth: s.levels() + 1, frame: inner[i].frame, collect: inner[i].collect}
	}
	return s
}

// tableNode is the rows of a table that the filter context leaves.
func (c *compiler) tableNode(t *table) node {
	c.q.e.needTable(t)
	sc := c.q.schema(t)
	return node{schema: sc, table: func(e *env) *relation {
		return baseRelation(sc, withoutBlankRow(t, e.filter.rows(e.q, t).List()))
	}}
}

func withoutBlankRow(t *table, rows []int32) []int32 {
	if n := len(rows); t.blankRow && n > 0 && int(rows[n-1]) == t.n {
		return rows[:n-1]
	}
	return rows
}

// columnOrMeasure is T[x] or [x].
func (c *compiler) columnOrMeasure(s *scope, x *dax.Ref) node {
	if x.Variation != "" {
		return c.relatedTo(s, x, c.variation(x))
	}
	if !x.HasTable {
		folded := knowledge.Fold(x.Name)
		for at := s; at != nil; at = at.outer {
			if at.frame == nil {
				continue
			}
			for i, m := range at.frame.cols {
				if knowledge.Fold(m.name) == folded {
					return c.read(at, i)
				}
			}
		}
		if m := c.q.measure(x.Name); m != nil {
			return c.measureRef(x, m)
		}
		if c.home != nil && c.q.column(c.home, x.Name) != nil {
			return c.columnOrMeasure(s, &dax.Ref{Span: x.Span, Table: c.home.name, HasTable: true, Quoted: true, Name: x.Name})
		}
		c.fail(x, UnknownName, "The value for '%s' cannot be determined. Either the column doesn't exist, or there is no current row for this column.", x.Name)
	}
	if b := s.find(x.Table); b != nil && !x.Quoted {
		if name, ok := b.expr.(*dax.Name); ok {
			// A parameter that stands for a table: T[c] is a column of that table.
			return c.columnOrMeasure(s, &dax.Ref{Span: x.Span, Table: name.Value, HasTable: true, Quoted: true, Name: x.Name})
		}
	}
	t := c.q.table(x.Table)
	if t == nil {
		// A column that a query made can carry the name of a table.
		if n, ok := c.readNamed(s, x, nil); ok {
			return n
		}
		if b := s.find(x.Table); b != nil {
			c.fail(x, Invalid, "The variable '%s' is a table; name its columns by the table that they come from, or by [%s] alone.", x.Table, x.Name)
		}
		c.tableNamed(x, x.Table)
	}
	col := c.q.column(t, x.Name)
	if col == nil {
		if m := c.q.measure(x.Name); m != nil {
			return c.measureRef(x, m)
		}
		if n, ok := c.readNamed(s, x, nil); ok {
			return n
		}
		c.fail(x, UnknownName, "The column '%s' in table '%s' cannot be found or may not be used in this expression.", x.Name, t.name)
	}
	if n, ok := c.readNamed(s, x, col); ok {
		return n
	}
	c.fail(x, Invalid, "A single value for column '%s' in table '%s' cannot be determined. This can happen when a measure or function formula refers to a column that contains many values without specifying an aggregation such as min, max, count, or sum to get a single result.", x.Name, t.name)
	return node{}
}

// variation is the column that T[c].[v] means: v in the hidden date table behind
// the date column c.
func (c *compiler) variation(x *dax.Ref) *modelColumn {
	t := c.tableNamed(x, x.Table)
	col := c.q.column(t, x.Name)
	if col == nil {
		c.fail(x, UnknownName, "The column '%s' in table '%s' cannot be found or may not be used in this expression.", x.Name, t.name)
	}
	if col.def != nil {
		for _, v := range col.def.Variations {
			dates := c.q.table(v.Table)
			if dates == nil {
				continue
			}
			if found := c.q.column(dates, x.Variation); found != nil {
				c.q.e.needColumn(found)
				return found
			}
		}
	}
	c.fail(x, UnknownName, "The column '%s' has no variation '%s'.", x.Name, x.Variation)
	return nil
}

// readNamed looks T[c] up in the row contexts.
func (c *compiler) readNamed(s *scope, x *dax.Ref, col *modelColumn) (node, bool) {
	table, name := knowledge.Fold(x.Table), knowledge.Fold(x.Name)
	for at := s; at != nil; at = at.outer {
		if at.collect != nil && col != nil {
			c.q.e.needColumn(col)
			return c.read(at, at.collect.add(col)), true
		}
		if at.frame == nil {
			continue
		}
		for i, m := range at.frame.cols {
			if knowledge.Fold(m.name) == name && knowledge.Fold(m.table) == table {
				return c.read(at, i), true
			}
		}
	}
	return node{}, false
}

func (c *collector) add(col *modelColumn) int {
	for i, m := range c.schema.cols {
		if m.lineage == col {
			return i
		}
	}
	c.schema.cols = append(c.schema.cols, col.meta())
	return len(c.schema.cols) - 1
}

// read reads a column of a row context.
func (c *compiler) read(at *scope, i int) node {
	level := at.depth - 1
	if at.frame != nil {
		if col := at.frame.cols[i].lineage; col != nil {
			c.q.e.needColumn(col)
		}
	}
	return node{scalar: func(e *env) value.Value {
		f := &e.frames[level]
		return f.rel.at(i, f.row)
	}}
}

// tableNamed is a table of the query or the model.
func (c *compiler) tableNamed(at dax.Node, name string) *table {
	t := c.q.table(name)
	if t == nil {
		c.fail(at, UnknownName, "Cannot find table '%s'.", name)
	}
	return t
}

// columnOf is an argument that must be a column of the model.
func (c *compiler) columnOf(s *scope, x dax.Expr) *modelColumn {
	col := c.tryColumn(s, x)
	if col == nil {
		if x == nil {
			c.fail(nil, Invalid, "A column reference is missing.")
		}
		c.fail(x, Invalid, "The expression is not a reference to a column of the model.")
	}
	return col
}

// tryColumn is the column that an expression names; nil where it is something
// else. A name that does not exist fails.
func (c *compiler) tryColumn(s *scope, x dax.Expr) *modelColumn {
	switch x := x.(type) {
	case *dax.Paren:
		return c.tryColumn(s, x.X)
	case *dax.Name:
		if b := s.find(x.Value); b != nil && b.expr != nil && !x.Quoted {
			b.uses++
			return c.tryColumn(b.scope, b.expr)
		}
	case *dax.Ref:
		if x.Variation != "" {
			return c.variation(x)
		}
		if !x.HasTable {
			folded := knowledge.Fold(x.Name)
			for at := s; at != nil; at = at.outer {
				if at.frame != nil {
					for _, m := range at.frame.cols {
						if knowledge.Fold(m.name) == folded {
							return m.lineage
						}
					}
				}
			}
			if c.home == nil || c.q.measure(x.Name) != nil {
				return nil
			}
			col := c.q.column(c.home, x.Name)
			if col != nil {
				c.q.e.needColumn(col)
			}
			return col
		}
		name := x.Table
		if b := s.find(name); b != nil && !x.Quoted {
			if alias, ok := b.expr.(*dax.Name); ok {
				name = alias.Value
			}
		}
		t := c.tableNamed(x, name)
		col := c.q.column(t, x.Name)
		if col == nil {
			if c.q.measure(x.Name) != nil {
				return nil
			}
			c.fail(x, UnknownName, "The column '%s' in table '%s' cannot be found or may not be used in this expression.", x.Name, t.name)
		}
		c.q.e.needColumn(col)
		return col
	}
	return nil
}

// constructor is { … }.
func (c *compiler) constructor(s *scope, x *dax.TableConstructor) node {
	width := 0
	rows := make([][]scalar, len(x.Rows))
	for i, row := range x.Rows {
		items := []dax.Expr{row}
		if t, ok := row.(*dax.Tuple); ok {
			items = t.Items
		}
		if i == 0 {
			width = len(items)
		} else if len(items) != width {
			c.fail(row, Invalid, "Each row of a table constructor must have the same number of values.")
		}
		for _, item := range items {
			rows[i] = append(rows[i], c.scalarOf(s, item))
		}
	}
	sc := &schema{}
	for i := range width {
		name := "Value"
		if width > 1 {
			name = fmt.Sprintf("Value%d", i+1)
		}
		sc.cols = append(sc.cols, colMeta{name: name})
	}
	return node{schema: sc, table: func(e *env) *relation {
		rel := newRelation(sc)
		vals := make([]value.Value, width)
		for _, row := range rows {
			for i, item := range row {
				vals[i] = item(e)
			}
			rel.addRow(vals...)
		}
		return rel
	}}
}
