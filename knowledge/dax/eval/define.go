package eval

import (
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// definitions are the tables and columns of DEFINE. Each is computed when it is
// first asked for, as one may use another that comes after it.
type definitions struct {
	c       *compiler
	env     *env
	tables  map[string]*definition            // by folded name
	columns map[string]map[string]*definition // by folded name of the table and of the column
}

// A definition of a table or a column.
type definition struct {
	*dax.Definition
	state state
}

// begin says that the definition is being computed; false where it is already.
func (d *definition) begin(c *compiler) bool {
	switch d.state {
	case working:
		c.fail(d.Definition, Invalid, "A circular dependency was detected: '%s' of the query depends on itself.", d.Name)
	case done:
		return false
	}
	d.state = working
	return true
}

// define makes the definitions of a query known. Functions and measures are only
// compiled where they are used, and last of all for their mistakes.
func (q *query) define(c *compiler, e *env, all []dax.Definition) {
	q.defined = definitions{c: c, env: e, tables: map[string]*definition{}, columns: map[string]map[string]*definition{}}
	for i := range all {
		d := &all[i]
		name := knowledge.Fold(d.Name)
		switch d.Kind {
		case dax.DefineFunction:
			q.functions[name] = d
		case dax.DefineTable:
			if d.Shape != nil {
				c.fail(d, Unsupported, "WITH VISUAL SHAPE is not supported.")
			}
			q.defined.tables[name] = &definition{Definition: d}
		case dax.DefineColumn:
			table := knowledge.Fold(d.Table)
			if q.defined.columns[table] == nil {
				q.defined.columns[table] = map[string]*definition{}
			}
			q.defined.columns[table][name] = &definition{Definition: d}
		case dax.DefineMParameter:
			err := &Error{Kind: Unsupported, Line: d.Pos().Line, Column: d.Pos().Column, Function: "MPARAMETER"}
			err.Message = "MPARAMETER is not supported here: no query loads data."
			panic(err)
		}
	}
	for i := range all {
		if d := &all[i]; d.Kind == dax.DefineMeasure {
			table := q.defined.tables[knowledge.Fold(d.Table)]
			if table != nil { // known by name, so that the table may use the measure
				q.measures[knowledge.Fold(d.Name)] = &measure{name: d.Name, expr: d.Value, of: table.Definition}
				continue
			}
			q.measures[knowledge.Fold(d.Name)] = &measure{name: d.Name, table: c.tableNamed(d, d.Table), expr: d.Value}
		}
	}
	for i := range all {
		switch d := &all[i]; d.Kind {
		case dax.DefineTable:
			q.table(d.Name)
		case dax.DefineColumn:
			q.column(c.tableNamed(d, d.Table), d.Name)
		case dax.DefineVar:
			q.defineVar(c, e, d)
		}
	}
	for i := range all {
		if d := &all[i]; d.Kind == dax.DefineMeasure {
			c.at(d, func() { q.measure(d.Name).compile(q) })
		}
	}
}

func (q *query) defineVar(c *compiler, e *env, d *dax.Definition) {
	n := c.any(q.globals, d.Value)
	slot := len(q.values)
	q.values = append(q.values, variable{})
	b := &binding{node: node{schema: n.schema}}
	if n.scalar != nil {
		b.node.scalar = func(*env) value.Value { return q.values[slot].value() }
	} else {
		b.node.table = func(*env) *relation { return q.values[slot].rows() }
	}
	if !q.trial {
		e.grow(c.slots)
		q.values[slot].assign(e, n)
	}
	q.globals = q.globals.with(d.Name, b)
}

func (e *env) grow(slots int) {
	for len(e.vars) < slots {
		e.vars = append(e.vars, variable{})
	}
}

// definedTable is a table of the query, computed where it has not been; nil where
// the query defines none of that name.
func (q *query) definedTable(folded string) *table {
	d := q.defined.tables[folded]
	if d != nil && d.begin(q.defined.c) {
		q.tables[folded] = q.computeDefined(q.defined.c, q.defined.env, d.Definition)
		d.state = done
	}
	return q.tables[folded]
}

// definedColumn is a column that the query adds to a table, likewise.
func (q *query) definedColumn(t *table, folded string) *modelColumn {
	d := q.defined.columns[knowledge.Fold(t.name)][folded]
	if d != nil && d.begin(q.defined.c) {
		// Columns of the same table that it names must be there before its rows are.
		dax.Walk(d.Value, func(n dax.Node) bool {
			ref, ok := n.(*dax.Ref)
			if ok && (!ref.HasTable || knowledge.Fold(ref.Table) == knowledge.Fold(t.name)) {
				q.definedColumn(t, knowledge.Fold(ref.Name))
			}
			return true
		})
		col := &modelColumn{table: t, name: d.Name, folded: folded, expr: d.Value, state: done}
		col.data = q.computeColumn(col, q.globals)
		q.columns[t] = append(q.columns[t], col)
		delete(q.schemas, t)
		d.state = done
	}
	for _, c := range q.columns[t] {
		if c.folded == folded {
			return c
		}
	}
	return nil
}

// computeDefined computes a table of the query. Its columns are new ones: filters
// on the columns that they come from do not reach them.
func (q *query) computeDefined(c *compiler, e *env, d *dax.Definition) *table {
	run, sc := c.tableOf(q.globals, d.Value)
	rel := newRelation(sc)
	if !q.trial {
		e.grow(c.slots)
		rel = run(e)
		q.spendTable(rel.n, len(rel.cols))
	}
	t := &table{engine: q.e, name: d.Name, def: &knowledge.Table{Name: d.Name}, n: rel.n, state: done}
	for i, m := range sc.cols {
		data := column.New(m.name, kindOf(rel, i))
		for row := range rel.n {
			data.Append(rel.at(i, row))
		}
		data.AppendBlank()
		t.columns = append(t.columns, &modelColumn{table: t, name: m.name, folded: knowledge.Fold(m.name), data: data, state: done})
	}
	t.seal()
	return t
}
