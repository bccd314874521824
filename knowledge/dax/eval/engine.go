package eval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
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
