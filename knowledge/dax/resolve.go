package dax

import (
	"strconv"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A BindingKind says what a name stands for.
type BindingKind string

const (
	BoundColumn       BindingKind = "column"        // of the model
	BoundMeasure      BindingKind = "measure"       // of the model
	BoundTable        BindingKind = "table"         // of the model
	BoundQueryColumn  BindingKind = "query column"  // DEFINE COLUMN
	BoundQueryMeasure BindingKind = "query measure" // DEFINE MEASURE
	BoundQueryTable   BindingKind = "query table"   // DEFINE TABLE
	BoundVariable     BindingKind = "variable"
	BoundParam        BindingKind = "parameter"  // of a function
	BoundNewColumn    BindingKind = "new column" // that a function such as ADDCOLUMNS adds
	BoundOpen         BindingKind = "open"       // a column of a table whose columns are not all known
	BoundWord         BindingKind = "word"       // an enumeration word such as ASC
)

// A Binding is one thing that a name can stand for. Names are spelled as the
// model spells them, and as the text does where the text defines them.
type Binding struct {
	Kind        BindingKind
	Table, Name string
}

// A CallBinding is the function that a call calls. More than one is set where a
// function of the query has the name of another.
type CallBinding struct {
	Builtin *Function
	Query   *Definition
	Model   *knowledge.Function
}

// A Resolution says what the names of a query or expression stand for.
//
// It errs on the side of more: where a name can stand for several things, it has
// all of them, the one that the engine would try first in front. A name without
// bindings is unknown and is among the errors.
type Resolution struct {
	Refs   map[*Ref][]Binding
	Names  map[*Name]Binding
	Calls  map[*Call]CallBinding
	Tables []TableUse // every use of a whole table of the model

	// Mentioned are the tables of the model that the text names in any way: as a
	// whole, before a column, or as the home of a definition.
	Mentioned []string

	Results []Result // of each EVALUATE, or of the one expression

	index *Index
}

// A TableUse is a place where a text uses a whole table of the model.
type TableUse struct {
	Table string
	Node  Node
}

// A Result is what an EVALUATE or an expression gives.
type Result struct {
	Table   bool
	Columns []ResultColumn // of a table
	Open    bool           // there may be columns beyond these
	From    []Source       // all columns and measures whose values may be in it
	Unknown bool           // there may be sources beyond these
}

// A ResultColumn is a column of a result.
type ResultColumn struct {
	Key     string // as an answer names it: Table[Column], or [Name]
	Table   string
	Name    string
	From    []Source
	Unknown bool // its values may come from elsewhere too
}

// Resolve finds out what the names of a query stand for in a model. The
// resolution is complete even where the error is not nil: the error, an
// *[Errors], has the names that are not known, with the nearest that are.
func Resolve(q *Query, m *knowledge.Model) (*Resolution, error) {
	return NewIndex(m).Resolve(q)
}

// Resolve is [Resolve] with an index that is made already.
func (ix *Index) Resolve(q *Query) (*Resolution, error) {
	r := ix.resolver(q)
	r.define(q)
	for _, e := range q.Evaluates {
		v := r.eval(e.Table, env{})
		inner := env{rows: &rowScope{row: v.tableOr()}}
		for _, term := range e.OrderBy {
			r.eval(term.Expr, inner)
		}
		for _, x := range e.StartAt {
			r.eval(x, inner)
		}
		r.res.Results = append(r.res.Results, ix.result(v))
	}
	return r.finish()
}

// ResolveExpr finds out what the names of an expression of the model stand for.
// The table is the one that it belongs to, if any: the home of a measure, or the
// table of a calculated column or row filter, which have a row context of it.
func (ix *Index) ResolveExpr(x Expr, table string, row bool) (*Resolution, error) {
	r := ix.resolver(x)
	e := env{}
	if t := ix.tables[knowledge.Fold(table)]; t != nil {
		r.mentionTable(table)
		e.home = t
		if row {
			e.rows = &rowScope{row: t.row}
		}
	}
	r.res.Results = []Result{ix.result(r.eval(x, e))}
	return r.finish()
}

// ResolveFunction does the same for a function of the model.
func (ix *Index) ResolveFunction(d *Definition) (*Resolution, error) {
	r := ix.resolver(d)
	r.res.Results = []Result{ix.result(r.body(d))}
	return r.finish()
}

// env is what an expression sees around it.
type env struct {
	rows *rowScope
	home *indexTable // of a measure
}

// A rowScope is a row context and those around it.
type rowScope struct {
	parent *rowScope
	row    *RowType
}

func (e env) in(row *RowType) env {
	if row == nil {
		row = openRow(origins{})
	}
	e.rows = &rowScope{parent: e.rows, row: row}
	return e
}

// A value is what is known of an expression: its columns if it is a table, and
// where its values come from.
type value struct {
	row  *RowType
	from origins
}

// scalar is where the values come from when the expression stands for a scalar.
func (v value) scalar() origins {
	if v.row != nil {
		return v.from.with(v.row.all())
	}
	return v.from
}

// tableOr is the row type, an open one for what does not look like a table.
func (v value) tableOr() *RowType {
	if v.row != nil {
		return v.row
	}
	return openRow(v.from)
}

func tableOf(row *RowType) value { return value{row: row} }

// local is a variable or a parameter in scope.
type local struct {
	kind BindingKind
	name string
	v    value
}

// A queryDef is a definition of the query, evaluated when it is first needed:
// definitions may refer to later ones.
type queryDef struct {
	*Definition
	state int // 0 new, 1 being evaluated, 2 done
	v     value
}

type resolver struct {
	ix    *Index
	res   *Resolution
	probs *problems

	locals    map[string][]local
	global    map[string]local // the variables of DEFINE so far
	tables    map[string]*queryDef
	measures  map[string]*queryDef
	columns   map[string]map[string]*queryDef // by table and name
	functions map[string]*queryDef
	bodies    map[string]*modelBody // of the functions of the model that are called
	groups    []*RowType            // what CURRENTGROUP gives
	mentioned map[string]bool
	plain     map[plainRef]*plainColumn
}

// A plainRef is a Table[Column] as it is written.
type plainRef struct{ table, name string }

// A plainColumn is what such a reference stands for where nothing of the text has
// the name of the table: a column of the model, worked out once.
type plainColumn struct {
	table string // folded
	bound []Binding
	from  origins
}

// resolver is ready for the text of n: it has seen which tables that names.
func (ix *Index) resolver(n Node) *resolver {
	r := &resolver{
		ix:     ix,
		probs:  &problems{},
		res:    &Resolution{index: ix},
		locals: map[string][]local{}, global: map[string]local{},
		tables: map[string]*queryDef{}, measures: map[string]*queryDef{},
		columns: map[string]map[string]*queryDef{}, functions: map[string]*queryDef{},
		bodies:    map[string]*modelBody{},
		mentioned: map[string]bool{},
		plain:     map[plainRef]*plainColumn{},
	}
	refs, names, calls := 0, 0, 0
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Name:
			names++
			r.mentionTable(n.Value)
		case *Ref:
			refs++
			if n.HasTable {
				r.mentionTable(n.Table)
			}
		case *Call:
			calls++
		case *Definition:
			if n.Table != "" {
				r.mentionTable(n.Table)
			}
		}
		return true
	})
	r.res.Refs = make(map[*Ref][]Binding, refs)
	r.res.Names = make(map[*Name]Binding, names)
	r.res.Calls = make(map[*Call]CallBinding, calls)
	return r
}

func (r *resolver) finish() (*Resolution, error) { return r.res, r.probs.err() }

func (r *resolver) mentionTable(name string) {
	key := r.ix.fold(name)
	if t := r.ix.tables[key]; t != nil && !r.mentioned[key] {
		r.mentioned[key] = true
		r.res.Mentioned = append(r.res.Mentioned, t.name)
	}
}

// define evaluates the definitions of a query.
func (r *resolver) define(q *Query) {
	defs := make([]*queryDef, len(q.Definitions))
	for i := range q.Definitions {
		d := &queryDef{Definition: &q.Definitions[i]}
		defs[i] = d
		key := knowledge.Fold(d.Name)
		switch d.Kind {
		case DefineTable:
			r.tables[key] = d
		case DefineMeasure:
			r.measures[key] = d
		case DefineFunction:
			r.functions[key] = d
		case DefineColumn:
			table := knowledge.Fold(d.Table)
			if r.columns[table] == nil {
				r.columns[table] = map[string]*queryDef{}
			}
			r.columns[table][key] = d
		}
	}
	for _, d := range defs {
		v := r.def(d)
		if d.Kind == DefineVar {
			key := knowledge.Fold(d.Name)
			l := local{kind: BoundVariable, name: d.Name, v: v}
			r.global[key] = l
		}
	}
}

// def is the value of a definition.
func (r *resolver) def(d *queryDef) value {
	switch d.state {
	case 1:
		return tableOf(openRow(origins{unknown: true}))
	case 2:
		return d.v
	}
	d.state = 1
	// A definition sees the variables of DEFINE, not those around the place that
	// happens to need it first.
	locals := r.locals
	r.locals = map[string][]local{}
	defer func() { r.locals = locals }()

	switch d.Kind {
	case DefineFunction:
		d.v = r.body(d.Definition)
	case DefineMeasure, DefineColumn:
		e := env{home: r.ix.tables[knowledge.Fold(d.Table)]}
		switch {
		case e.home != nil:
			if d.Kind == DefineColumn {
				e = e.in(e.home.row)
			}
		case r.tables[knowledge.Fold(d.Table)] != nil:
			if d.Kind == DefineColumn {
				e = e.in(r.def(r.tables[knowledge.Fold(d.Table)]).tableOr())
			}
		default:
			r.unknown(d, "the table "+shorten(d.Table)+" is not known", r.nearestTable(d.Table))
		}
		d.v = value{from: r.eval(d.Value, e).scalar()}
	default:
		d.v = r.eval(d.Value, env{})
		if d.Shape != nil {
			row := d.v.tableOr()
			inner := env{}.in(row)
			for _, a := range d.Shape.Axes {
				for _, g := range a.Groups {
					for _, x := range g.Columns {
						r.eval(x, inner)
					}
					if g.Total != nil {
						r.eval(g.Total, inner)
					}
				}
				for _, t := range a.OrderBy {
					r.eval(t.Expr, inner)
				}
			}
			// The shape adds columns of its own.
			d.v.row = &RowType{base: row, open: true, rest: row.all()}
		}
	}
	d.state = 2
	return d.v
}

// body evaluates a function with parameters that may be anything.
func (r *resolver) body(d *Definition) value {
	for i := range d.Params {
		p := &d.Params[i]
		v := value{}
		if p.Default != nil {
			v = r.eval(p.Default, env{})
		}
		r.push(BoundParam, p.Name, tableOf(openRow(v.scalar())))
	}
	v := r.eval(d.Value, env{})
	for i := range d.Params {
		r.pop(d.Params[i].Name)
	}
	return v
}

func (r *resolver) push(kind BindingKind, name string, v value) {
	key := knowledge.Fold(name)
	list := r.locals[key]
	r.locals[key] = append(list[:len(list):len(list)], local{kind: kind, name: name, v: v})
}

func (r *resolver) pop(name string) {
	key := knowledge.Fold(name)
	r.locals[key] = r.locals[key][:len(r.locals[key])-1]
}

func (r *resolver) local(folded string) *local {
	if list := r.locals[folded]; len(list) > 0 {
		return &list[len(list)-1]
	}
	if l, ok := r.global[folded]; ok {
		return &l
	}
	return nil
}

// eval binds the names in x and says what x gives.
func (r *resolver) eval(x Expr, e env) value {
	switch x := x.(type) {
	case *Name:
		return r.name(x, e)
	case *Ref:
		return r.ref(x, e)
	case *Call:
		return r.call(x, e)
	case *Paren:
		return r.eval(x.X, e)
	case *Unary:
		v := r.eval(x.X, e)
		if x.Op == "NOT" {
			return value{}
		}
		return value{from: v.scalar()}
	case *Binary:
		return r.binary(x, e)
	case *Tuple:
		var v value
		for _, item := range x.Items {
			v.from = v.from.with(r.eval(item, e).scalar())
		}
		return v
	case *TableConstructor:
		return r.constructor(x, e)
	case *Vars:
		for i := range x.Vars {
			r.push(BoundVariable, x.Vars[i].Name, r.eval(x.Vars[i].Value, e))
		}
		v := r.eval(x.Return, e)
		for i := range x.Vars {
			r.pop(x.Vars[i].Name)
		}
		return v
	}
	return value{} // literals, @parameters and arguments left out
}

// binary goes down the left side of a chain of operators without recursion.
func (r *resolver) binary(x *Binary, e env) value {
	var rights []*Binary
	var left Expr = x
	for {
		b, ok := left.(*Binary)
		if !ok {
			break
		}
		rights = append(rights, b)
		left = b.X
	}
	v := value{from: r.eval(left, e).scalar()}
	for i := len(rights) - 1; i >= 0; i-- {
		right := r.eval(rights[i].Y, e).scalar()
		switch rights[i].Op {
		case "&&", "||", "=", "==", "<>", "<", ">", "<=", ">=", "IN":
			v = value{} // true or false holds no value of its sides
		default:
			v.from = v.from.with(right)
		}
	}
	return v
}

func (r *resolver) constructor(x *TableConstructor, e env) value {
	var from []origins
	for _, row := range x.Rows {
		items := []Expr{row}
		switch row := row.(type) {
		case *Tuple:
			items = row.Items
		case *TableConstructor: // of DATATABLE
			items = row.Rows
		}
		for i, item := range items {
			o := r.eval(item, e).scalar()
			if i == len(from) {
				from = append(from, origins{})
			}
			from[i] = from[i].with(o)
		}
	}
	t := &RowType{}
	for i, o := range from {
		name := "Value"
		if len(from) > 1 {
			name += strconv.Itoa(i + 1)
		}
		t.cols = append(t.cols, newColumn(name, o))
	}
	return tableOf(t)
}

// newColumn is a column that the text adds. A name like Table[Column] makes it
// look like a column of that table.
func newColumn(name string, from origins) RowColumn {
	if strings.HasSuffix(name, "]") {
		if x, err := ParseExpr(name); err == nil {
			if ref, ok := x.(*Ref); ok && ref.Variation == "" {
				return RowColumn{Table: ref.Table, Name: ref.Name, folded: knowledge.Fold(ref.Name), from: from}
			}
		}
	}
	return RowColumn{Name: name, folded: knowledge.Fold(name), from: from}
}

func (r *resolver) unknown(n Node, message, remedy string) {
	r.probs.add(n.Pos(), n.End(), message, remedy)
}

// result describes a value for callers.
func (ix *Index) result(v value) Result {
	o := v.scalar()
	res := Result{Table: v.row != nil, From: ix.list(o), Unknown: o.unknown}
	if v.row == nil {
		return res
	}
	cols, open := v.row.list()
	res.Open = open
	if len(cols) == 0 {
		return res
	}
	// All keys are cut from one text.
	size := 0
	for i := range cols {
		size += len(cols[i].Table) + len(cols[i].Name) + len("[]")
	}
	var keys strings.Builder
	keys.Grow(size)
	res.Columns = make([]ResultColumn, len(cols))
	for i := range cols {
		c := &cols[i]
		start := keys.Len()
		keys.WriteString(c.Table)
		keys.WriteByte('[')
		keys.WriteString(c.Name)
		keys.WriteByte(']')
		res.Columns[i] = ResultColumn{Key: keys.String()[start:], Table: c.Table, Name: c.Name, From: ix.list(c.from), Unknown: c.from.unknown}
	}
	return res
}
