package eval

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A query is one run of [Engine.Query]: what the query defines on top of the
// model, what its person may see, and what it remembers while it runs.
type query struct {
	e   *Engine
	ctx context.Context
	as  Identity
	now time.Time

	until time.Time // when its time is up

	defined   definitions
	tables    map[string]*table         // DEFINE TABLE
	columns   map[*table][]*modelColumn // DEFINE COLUMN
	measures  map[string]*measure       // of the query, and of the model once they are used
	functions map[string]*dax.Definition
	globals   *scope // DEFINE VAR
	values    []variable
	schemas   map[*table]*schema

	hidden        map[*table]bool // by object-level security
	hiddenColumns map[*modelColumn]bool
	allowed       map[*table]*column.Rows // by row-level security
	whole         map[*table]*column.Rows

	relations  relationState // the relationships as the model has them
	propagated map[propagation]*column.Rows
	remembered int
	compiled   int // expressions so far
	nested     int // expressions that are being compiled
	calls      int // measures that are running
	texts      int // bytes of the long texts so far
	cells      int // of the large tables so far

	// trial is set while a query is compiled for its mistakes alone: nothing is
	// evaluated, and what it defines is empty.
	trial bool

	items map[*itemDef]*calculationItem // that were used
}

// A measure is a measure in a query.
type measure struct {
	name   string
	table  *table
	def    *knowledge.Measure // nil for a measure of the query
	expr   dax.Expr
	err    error
	state  state
	scalar scalar
	slots  int

	of *dax.Definition // the table of the query that a measure of the query belongs to; table is set once it is compiled
}

func (e *Engine) newQuery(ctx context.Context, as Identity) *query {
	return &query{
		e: e, ctx: ctx, as: as, now: e.now(), until: time.Now().Add(maxTime),
		tables:     map[string]*table{},
		columns:    map[*table][]*modelColumn{},
		measures:   map[string]*measure{},
		functions:  map[string]*dax.Definition{},
		schemas:    map[*table]*schema{},
		whole:      map[*table]*column.Rows{},
		propagated: map[propagation]*column.Rows{},
		items:      map[*itemDef]*calculationItem{},
	}
}

// canceled is the panic of a query whose context has ended.
type canceled struct{ cause error }

// env is an environment without filters.
func (q *query) env(slots int) *env {
	return &env{q: q, filter: &filterContext{}, vars: make([]variable, slots)}
}

// visible is the rows of t that the person may see at all.
func (q *query) visible(t *table) *column.Rows {
	if rows := q.allowed[t]; rows != nil {
		return rows
	}
	rows := q.whole[t]
	if rows == nil || rows.Size() != t.size() {
		rows = column.All(t.size())
		q.whole[t] = rows
	}
	return rows
}

// valuesOf is the values of a column in any row that the person may see, and
// perhaps some that no row has.
func (q *query) valuesOf(c *modelColumn) []int32 {
	if q.allowed[c.table] != nil {
		return distinctIDs(c, q.visible(c.table))
	}
	ids := make([]int32, len(c.data.Values()))
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}

// find is the number of a value of a column, where a row that the person may see
// can have it.
func (q *query) find(c *modelColumn, v value.Value) (int32, bool) {
	id, ok := c.data.Find(v)
	if !ok || q.allowed[c.table] == nil {
		return id, ok
	}
	for _, row := range c.data.RowsOf(id) {
		if int(row) < c.table.size() && q.visible(c.table).Has(row) {
			return id, true
		}
	}
	return 0, false
}

// table is a table by name, nil where there is none.
func (q *query) table(name string) *table {
	folded := knowledge.Fold(name)
	if t := q.definedTable(folded); t != nil {
		return t
	}
	t := q.e.byName[folded]
	if t == nil || q.hidden[t] {
		return nil
	}
	return t
}

// column is a column of a table by name, nil where there is none.
func (q *query) column(t *table, name string) *modelColumn {
	folded := knowledge.Fold(name)
	if c := q.definedColumn(t, folded); c != nil {
		return c
	}
	if t.state != done {
		q.e.needTable(t)
	}
	c := t.column(folded)
	if c == nil || q.hiddenColumns[c] {
		return nil
	}
	return c
}

// schema is the columns of a table as the person sees them.
func (q *query) schema(t *table) *schema {
	if s := q.schemas[t]; s != nil {
		return s
	}
	s := &schema{base: t}
	for _, c := range append(slices.Clip(t.columns), q.columns[t]...) {
		if !q.hiddenColumns[c] {
			s.cols = append(s.cols, c.meta())
		}
	}
	if q.e.loading == nil {
		q.schemas[t] = s
	}
	return s
}

// measure is a measure by name, nil where there is none.
func (q *query) measure(name string) *measure {
	folded := knowledge.Fold(name)
	if m := q.measures[folded]; m != nil {
		return m
	}
	def := q.e.measures[folded]
	if def == nil || q.hidden[def.table] {
		return nil
	}
	m := &measure{name: def.def.Name, table: def.table, def: def.def, expr: def.expr, err: def.err}
	q.measures[folded] = m
	return m
}

// compile compiles the measure where that has not happened yet.
func (m *measure) compile(q *query) {
	switch m.state {
	case done:
		return
	case working:
		fail(Invalid, "A circular dependency was detected: the measure [%s] depends on itself.", m.name)
	}
	err := m.err
	if err == nil {
		m.state = working
		err = q.e.try(func() {
			c := &compiler{q: q, home: m.table}
			scope := q.globals
			if m.of != nil {
				m.table = q.table(m.of.Name)
				c.home = m.table
			}
			if m.def != nil {
				scope = nil // the model knows nothing of the query's variables
			}
			m.scalar = c.scalarOf(scope, m.expr)
			m.slots = c.slots
		})
	}
	if err == nil {
		m.state = done
		return
	}
	m.state = pending
	e, ok := err.(*Error) // try gives nothing else but a canceled context
	if !ok {
		syntax := *syntaxError(err).(*Error)
		e = &syntax
	}
	if m.def == nil {
		panic(e)
	}
	panic(&Error{Kind: e.Kind, Function: e.Function, Message: "Calculation error in measure '" + m.table.name + "'[" + m.name + "]: " + e.Message})
}

// measureRef is the use of a measure: its expression under a filter context that
// the row contexts have been turned into.
func (c *compiler) measureRef(at dax.Node, m *measure) node {
	c.outsideConditions(at, "PLACEHOLDER") // what Power BI calls a measure there
	c.at(at, func() { m.compile(c.q) })
	return node{scalar: func(e *env) value.Value {
		return m.compute(e, e.transition())
	}}
}

// at gives errors without a place that of the node.
func (c *compiler) at(at dax.Node, f func()) {
	defer func() {
		r := recover()
		if err, ok := r.(*Error); ok && err.Line == 0 && at != nil {
			err.Line, err.Column = at.Pos().Line, at.Pos().Column
		}
		if r != nil {
			panic(r)
		}
	}()
	f()
}

func (m *measure) compute(e *env, f *filterContext) value.Value {
	for _, g := range e.q.e.calculationGroups {
		if f.covers(g.column) {
			if item := g.item(e.q, f); item != nil {
				return item.apply(e.q, m, f.without(func(c *modelColumn) bool { return c == g.column }))
			}
		}
	}
	inner := env{q: e.q, filter: f}
	if m.slots > 0 {
		inner.vars = make([]variable, m.slots)
	}
	e.q.enter(m)
	v := m.scalar(&inner)
	e.q.calls--
	return v
}

// rehearsal is a query that sees what q sees, and only compiles: a mistake in the
// last EVALUATE is told before the first definition is computed.
func (q *query) rehearsal() *query {
	trial := q.e.newQuery(q.ctx, q.as)
	trial.trial = true
	trial.allowed, trial.hidden, trial.hiddenColumns = q.allowed, q.hidden, q.hiddenColumns
	return trial
}

// run evaluates a whole query.
func (q *query) run(x *dax.Query) *Result {
	c := &compiler{q: q}
	env := q.env(0)
	q.define(c, env, x.Definitions)
	result := &Result{}
	var evaluate []func() ResultTable
	for _, ev := range x.Evaluates {
		evaluate = append(evaluate, q.evaluate(c, env, ev))
	}
	if q.trial {
		return nil
	}
	for _, f := range evaluate {
		result.Tables = append(result.Tables, f())
	}
	return result
}

// evaluate compiles one EVALUATE.
func (q *query) evaluate(c *compiler, e *env, x *dax.Evaluate) func() ResultTable {
	run, sc := c.tableOf(q.globals, x.Table)
	inner := q.globals.row(sc)
	var keys []scalar
	for _, term := range x.OrderBy {
		keys = append(keys, c.scalarOf(inner, term.Expr))
	}
	var start []scalar
	for _, v := range x.StartAt {
		start = append(start, c.scalarOf(q.globals, v))
	}
	if len(start) > len(keys) {
		c.fail(x, Invalid, "START AT has more values than ORDER BY has terms.")
	}
	return func() ResultTable {
		e.grow(c.slots)
		rel := run(e)
		for i, m := range sc.cols {
			if m.lineage != nil && rel.cols[i].vals == nil {
				q.e.needColumn(m.lineage)
			}
		}
		if len(keys) > 0 {
			rel = q.order(e, rel, x.OrderBy, keys, start)
		}
		q.spendTable(rel.n, len(rel.cols))
		return output(rel)
	}
}

// order sorts the rows of a result and leaves out those before START AT.
func (q *query) order(e *env, rel *relation, terms []dax.OrderTerm, keys, start []scalar) *relation {
	sorted := make([][]value.Value, rel.n)
	q.spendTable(rel.n, len(keys))
	e.each(rel, func(i int) {
		row := make([]value.Value, len(keys))
		for k, key := range keys {
			row[k] = key(e)
		}
		sorted[i] = row
	})
	compare := func(a, b []value.Value) int {
		for k := range min(len(a), len(b)) {
			o := value.Order(a[k], b[k])
			if terms[k].Descending {
				o = -o
			}
			if o != 0 {
				return o
			}
		}
		return 0
	}
	places := make([]int, rel.n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return compare(sorted[a], sorted[b]) })
	if len(start) > 0 {
		first := make([]value.Value, len(start))
		for i, s := range start {
			first[i] = s(e)
		}
		from, _ := slices.BinarySearchFunc(places, first, func(p int, first []value.Value) int {
			return cmp.Or(compare(sorted[p], first), 0)
		})
		places = places[from:]
	}
	return rel.pick(places)
}

// output turns a relation into what callers get.
func output(rel *relation) ResultTable {
	t := ResultTable{Rows: make([][]any, rel.n)}
	cells := make([]any, rel.n*len(rel.cols))
	for i := range t.Rows {
		t.Rows[i] = cells[i*len(rel.cols) : (i+1)*len(rel.cols) : (i+1)*len(rel.cols)]
	}
	for c, m := range rel.schema.cols {
		t.Columns = append(t.Columns, ResultColumn{Name: m.key(), Type: dataType(kindOf(rel, c))})
		for i := range rel.n {
			t.Rows[i][c] = rel.at(c, i).Any()
		}
	}
	return t
}

func dataType(k value.Kind) knowledge.DataType {
	switch k {
	case value.Bool:
		return knowledge.Boolean
	case value.Int:
		return knowledge.Int64
	case value.Decimal:
		return knowledge.Decimal
	case value.Double:
		return knowledge.Double
	case value.Date:
		return knowledge.DateTime
	case value.Text:
		return knowledge.String
	}
	return knowledge.Variant
}
