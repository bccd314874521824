package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// An Engine is a model with its rows. It does not change after [New], and
// answers queries from several goroutines at once.
type Engine struct {
	model         *knowledge.Model
	now           func() time.Time
	functions     map[string]function
	tables        []*table
	byName        map[string]*table // by folded name
	relationships []*relationship
	measures      map[string]*measureDef     // by folded name
	models        map[string]*dax.Definition // the model's own functions, by folded name
	unsupported   []string
	maxCells      int // of one query

	calculationGroups []*calculationGroup

	// loading is set while New computes, which is when asking for a column may
	// compute it.
	loading *query
}

// A measureDef is a measure of the model.
type measureDef struct {
	table *table
	def   *knowledge.Measure
	expr  dax.Expr
	err   error // why there is no expr
}

// New takes a model and the rows of its tables, and computes what the model
// computes: calculated tables, calculated columns, relationships. Tables without
// rows are empty. What it cannot compute is in [Engine.Unsupported], and fails
// the queries that use it; an error means that the rows do not fit the model.
func New(model *knowledge.Model, rows []*Rows, now func() time.Time) (*Engine, error) {
	e := &Engine{
		model: model, now: now, functions: functions(), maxCells: maxCells,
		byName:   map[string]*table{},
		measures: map[string]*measureDef{},
		models:   map[string]*dax.Definition{},
	}
	loaded := map[string]*Rows{}
	for _, r := range rows {
		loaded[knowledge.Fold(r.Table)] = r
	}
	for i := range model.Tables {
		def := &model.Tables[i]
		folded := knowledge.Fold(def.Name)
		t, err := e.newTable(def, loaded[folded])
		if err != nil {
			return nil, err
		}
		delete(loaded, folded)
		e.tables = append(e.tables, t)
		e.byName[folded] = t
	}
	for _, r := range loaded {
		return nil, fmt.Errorf("the rows of %s belong to no table of the model %s", r.Table, model.Name)
	}
	for i := range model.Functions {
		f := &model.Functions[i]
		def, err := dax.ParseFunction(f.Name, f.Expression)
		if err != nil {
			e.cannot("function %s: %s", f.Name, err)
			continue
		}
		e.models[knowledge.Fold(f.Name)] = def
	}
	e.compute()
	return e, nil
}

// cannot records what the engine cannot do.
func (e *Engine) cannot(format string, args ...any) {
	e.unsupported = append(e.unsupported, fmt.Sprintf(format, args...))
}

func (e *Engine) newTable(def *knowledge.Table, rows *Rows) (*table, error) {
	t := &table{engine: e, name: def.Name, def: def, state: done}
	if def.Expression != "" && rows == nil {
		t.state = pending
		t.expr, t.err = dax.ParseExpr(def.Expression)
	}
	given := map[string]*column.Column{}
	if rows != nil {
		for _, c := range rows.columns {
			given[knowledge.Fold(c.Name)] = c
		}
		var err error
		if t.n, err = rows.seal(); err != nil {
			return nil, err
		}
	}
	for i := range def.Columns {
		c := &def.Columns[i]
		mc := &modelColumn{table: t, name: c.Name, folded: knowledge.Fold(c.Name), def: c}
		t.columns = append(t.columns, mc)
		data := given[mc.folded]
		delete(given, mc.folded)
		switch {
		case data != nil:
			mc.data, mc.state = data, done
		case c.Expression != "":
			mc.expr, mc.err = dax.ParseExpr(c.Expression)
		case t.state == done:
			mc.data, mc.state = blankColumn(c, t.n), done
		}
	}
	for _, c := range given {
		return nil, fmt.Errorf("the rows of %s have a column %s, which the table has not", def.Name, c.Name)
	}
	if len(def.Items) > 0 {
		e.addItems(t, rows == nil)
	}
	for i := range def.Measures {
		m := &def.Measures[i]
		md := &measureDef{table: t, def: m}
		md.expr, md.err = dax.ParseExpr(m.Expression)
		e.measures[knowledge.Fold(m.Name)] = md
	}
	if t.state == done {
		t.seal()
	}
	return t, nil
}

// blankColumn has no value in any row.
func blankColumn(def *knowledge.Column, n int) *column.Column {
	c := column.New(def.Name, column.KindOf(def.DataType))
	for range n + 1 {
		c.AppendBlank()
	}
	return c
}

// seal sets what follows from the columns that are there.
func (t *table) seal() {
	t.twins = sync.OnceValue(t.findTwins)
	for _, c := range t.columns {
		if c.data != nil && t.n > 0 && len(c.data.Values())-1 == t.n {
			t.unique = c
			break
		}
	}
}

// compute computes everything that New computes. One thing may need another, so
// each is computed when it is first asked for; here all are asked for.
func (e *Engine) compute() {
	q := e.newQuery(context.Background(), Identity{Unrestricted: true})
	e.loading = q
	defer func() { e.loading = nil }()

	e.buildRelationships()
	e.spreadBlankRows()
	for _, t := range e.tables {
		if err := e.try(func() { e.needTable(t) }); err != nil {
			e.cannot("table %s: %s", t.name, reason(err))
			continue
		}
		for _, c := range t.columns {
			if err := e.try(func() { e.needColumn(c) }); err != nil {
				e.cannot("column %s: %s", c, reason(err))
			}
		}
	}
	for _, t := range e.tables {
		t.seal()
		t.reach = t.expanded()
	}
	for _, m := range e.measures {
		if err := e.try(func() { q.measure(m.def.Name).compile(q) }); err != nil {
			e.cannot("measure %s[%s]: %s", m.table.name, m.def.Name, reason(err))
		}
	}
	for _, g := range e.calculationGroups {
		for _, item := range g.items {
			if err := e.try(func() { q.item(item) }); err != nil {
				e.cannot("calculation item %s of %s: %s", item.name, g.table.name, reason(err))
			}
		}
	}
	slices.Sort(e.unsupported)
}

// buildRelationships builds the relationships: those over columns that are loaded
// first, then those over computed ones, whose expressions may use the first
// ones, and so on for as long as one more can be built.
func (e *Engine) buildRelationships() {
	var open []*relationship
	for i := range e.model.Relationships {
		def := &e.model.Relationships[i]
		open = append(open, &relationship{def: def, many: def.ToMany})
	}
	slices.SortStableFunc(open, func(a, b *relationship) int { return e.computed(a) - e.computed(b) })
	for progress := true; progress; {
		progress = false
		var failed []*relationship
		for _, r := range open {
			r.err = e.try(func() {
				r.from = e.end(r.def.FromTable, r.def.FromColumn)
				r.to = e.end(r.def.ToTable, r.def.ToColumn)
			})
			if r.err != nil {
				e.forget()
				failed = append(failed, r)
				continue
			}
			if r.build(); r.err != nil {
				e.cannot("relationship %s: %s", r.def.Name, reason(r.err))
			}
			r.from.table.out = append(r.from.table.out, r)
			r.to.table.in = append(r.to.table.in, r)
			e.relationships = append(e.relationships, r)
			progress = true
		}
		open = failed
	}
	for _, r := range open {
		e.cannot("relationship %s: %s", r.def.Name, reason(r.err))
	}
}

// end is the column at one end of a relationship, computed where it must be.
func (e *Engine) end(table, column string) *modelColumn {
	t := e.byName[knowledge.Fold(table)]
	if t == nil {
		fail(UnknownName, "Cannot find table '%s'.", table)
	}
	e.needTable(t)
	c := t.column(knowledge.Fold(column))
	if c == nil {
		fail(UnknownName, "The column '%s' in table '%s' cannot be found.", column, table)
	}
	e.needColumn(c)
	return c
}

// computed is 0 where both ends of a relationship are loaded, and 1 otherwise.
func (e *Engine) computed(r *relationship) int {
	for _, at := range [][2]string{{r.def.FromTable, r.def.FromColumn}, {r.def.ToTable, r.def.ToColumn}} {
		t := e.byName[knowledge.Fold(at[0])]
		if t == nil {
			return 1
		}
		if c := t.column(knowledge.Fold(at[1])); c == nil || c.data == nil {
			return 1
		}
	}
	return 0
}

// forget lets what failed be tried again.
func (e *Engine) forget() {
	for _, t := range e.tables {
		if t.state == failed && t.expr != nil {
			t.state, t.err = pending, nil
		}
		for _, c := range t.columns {
			if c.state == failed && c.expr != nil {
				c.state, c.err = pending, nil
			}
		}
	}
}

// spreadBlankRows gives the tables beyond a blank row one too: what lands on the
// one lands on the other.
func (e *Engine) spreadBlankRows() {
	for changed := true; changed; {
		changed = false
		for _, r := range e.relationships {
			if !r.many && r.from.table.blankRow && !r.to.table.blankRow && int(r.toRow[r.from.table.n]) == r.to.table.n {
				r.to.table.blankRow = true
				changed = true
			}
		}
	}
}

// try runs f and gives what it failed with.
func (e *Engine) try(f func()) (err error) {
	defer recovering(&err)
	f()
	return nil
}

// recovering turns a failed evaluation into an error.
func recovering(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	case canceled:
		*err = r.cause
	default:
		panic(r)
	}
}

// reason is what went wrong, without the place: that is one in the expression of
// the model, not in a query.
func reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// needTable computes a calculated table.
func (e *Engine) needTable(t *table) {
	switch t.state {
	case done:
		return
	case working:
		fail(Invalid, "A circular dependency was detected: '%s' depends on itself.", t.name)
	case failed:
		fail(Unsupported, "The calculated table '%s' could not be computed: %s", t.name, reason(t.err))
	}
	t.state = working
	err := t.err
	if err == nil {
		err = e.try(func() { e.computeTable(t) })
	}
	if err != nil {
		t.state, t.err = failed, err
		fail(Unsupported, "%s", reason(err))
	}
	t.state = done
	t.seal()
}

func (e *Engine) computeTable(t *table) {
	q := e.loading
	c := &compiler{q: q}
	run, sc := c.tableOf(nil, t.expr)
	rel := run(q.env(c.slots))
	t.n = rel.n
	columns := t.columns
	t.columns = nil
	used := map[*modelColumn]bool{}
	for i, m := range sc.cols {
		mc := (*modelColumn)(nil)
		for _, candidate := range columns {
			if candidate.expr == nil && !used[candidate] && (candidate.folded == knowledge.Fold(m.name) || sourceNames(candidate, m)) {
				mc = candidate
				break
			}
		}
		if mc == nil {
			mc = &modelColumn{table: t, name: m.name, folded: knowledge.Fold(m.name)}
		}
		used[mc] = true
		kind := kindOf(rel, i)
		if mc.def != nil && mc.def.DataType != "" && mc.def.DataType != knowledge.String {
			kind = column.KindOf(mc.def.DataType)
		}
		mc.data = column.New(mc.name, kind)
		for row := range rel.n {
			v := rel.at(i, row)
			if converted, err := value.Convert(v, kind); kind != value.Blank && err == nil {
				v = converted
			}
			mc.data.Append(v)
		}
		mc.data.AppendBlank()
		mc.state = done
		t.columns = append(t.columns, mc)
	}
	for _, mc := range columns {
		if !used[mc] {
			if mc.expr == nil && mc.err == nil {
				mc.data, mc.state = blankColumn(mc.def, t.n), done
			}
			t.columns = append(t.columns, mc)
		}
	}
}

// sourceNames says whether a column of a calculated table is made from m: its
// source is written [Name] or Table[Name].
func sourceNames(c *modelColumn, m colMeta) bool {
	if c.def == nil || c.def.SourceColumn == "" {
		return false
	}
	source := knowledge.Fold(c.def.SourceColumn)
	return source == knowledge.Fold(m.key()) || source == "["+knowledge.Fold(m.name)+"]" || source == knowledge.Fold(m.name)
}

// kindOf is the kind of the values of a column, blank where they vary.
func kindOf(rel *relation, c int) value.Kind {
	if col := rel.schema.cols[c].lineage; col != nil {
		return col.loaded().Kind
	}
	kind := value.Blank
	for _, v := range rel.values(c) {
		switch {
		case v.IsBlank() || v.Kind() == kind:
		case kind == value.Blank:
			kind = v.Kind()
		case v.IsNumber() && (kind == value.Int || kind == value.Decimal || kind == value.Double):
			kind = value.Double
		default:
			return value.Blank
		}
	}
	return kind
}

// needColumn computes a calculated column.
func (e *Engine) needColumn(c *modelColumn) {
	switch c.state {
	case done:
		return
	case working:
		fail(Invalid, "A circular dependency was detected: %s depends on itself.", c)
	case failed:
		fail(Unsupported, "The calculated column %s could not be computed: %s", c, reason(c.err))
	}
	if c.table.state != done {
		e.needTable(c.table)
		if c.state == done {
			return
		}
	}
	c.state = working
	err := c.err
	if err == nil {
		err = e.try(func() { c.data = e.loading.computeColumn(c, nil) })
	}
	if err != nil {
		c.state, c.err = failed, err
		fail(Unsupported, "%s", reason(err))
	}
	c.state = done
}

// computeColumn is the values of a calculated column, the blank row included. A
// column of a query can use the variables around it.
func (q *query) computeColumn(c *modelColumn, around *scope) *column.Column {
	comp := &compiler{q: q}
	sc := q.schema(c.table)
	run := comp.scalarOf(around.row(sc), c.expr)
	kind := value.Blank
	if c.def != nil && c.def.DataType != "" {
		kind = column.KindOf(c.def.DataType)
	}
	if q.trial {
		data := column.New(c.name, kind)
		data.AppendBlank()
		return data
	}
	q.spend(c.table.n)
	rows := make([]int32, c.table.n)
	for i := range rows {
		rows[i] = int32(i)
	}
	rel := baseRelation(sc, rows)
	vals := make([]value.Value, 0, len(rows))
	env := q.env(comp.slots)
	env.each(rel, func(int) {
		v := run(env)
		if kind != value.Blank && kind != value.Text {
			v = must(value.Convert(v, kind))
		}
		vals = append(vals, v)
	})
	if kind == value.Text || kind == value.Blank {
		// TMDL leaves the type of a calculated column out where it is text, and
		// models made by hand leave it out anyway: the values say.
		kind = kindOf(&relation{schema: &schema{cols: []colMeta{{}}}, n: len(vals), cols: []vector{{vals: vals}}}, 0)
	}
	data := column.New(c.name, kind)
	for _, v := range vals {
		data.Append(v)
	}
	data.AppendBlank()
	return data
}

// Unsupported lists what of the model the engine cannot compute, a sentence for
// each.
func (e *Engine) Unsupported() []string { return e.unsupported }

// Query answers a query for one person. What is wrong with the query is an
// [*Error].
func (e *Engine) Query(ctx context.Context, text string, as Identity) (result *Result, err error) {
	parsed, err := dax.ParseQuery(text)
	if err != nil {
		return nil, syntaxError(err)
	}
	defer recovering(&err)
	q := e.newQuery(ctx, as)
	q.secure()
	if len(parsed.Evaluates) > 1 || len(parsed.Definitions) > 0 {
		q.rehearsal().run(parsed)
	}
	return q.run(parsed), nil
}

// syntaxError is the first problem of a text.
func syntaxError(err error) error {
	problems, ok := errors.AsType[*dax.Errors](err)
	if !ok {
		return err
	}
	first := problems.List[0]
	return &Error{
		Kind: Syntax, Line: first.Pos.Line, Column: first.Pos.Column,
		Message: fmt.Sprintf("The syntax of the query is incorrect: %s.", first.Message),
	}
}
