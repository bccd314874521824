package dax

import (
	"strconv"

	"github.com/pbmb/pbmb/knowledge"
)

func unparen(x Expr) Expr {
	for {
		p, ok := x.(*Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// call binds the function of a call and says what the call gives: a function of
// the query, of the model, or of the language.
func (r *resolver) call(c *Call, e env) value {
	key := knowledge.Fold(c.Func)
	f, builtin := functionTable[key]
	query, model := r.functions[key], r.ix.functions[key]
	// A function of the text cannot hide one of the language or of the model from
	// analysis: all that may be meant are bound.
	if query != nil || model != nil {
		b := CallBinding{Model: model}
		if builtin {
			b.Builtin = f
		}
		o := r.arguments(c, e)
		var callable []callable
		if query != nil {
			b.Query = query.Definition
			o = o.with(r.def(query).scalar())
			callable = append(callable, query.Definition)
		}
		if model != nil {
			if r.ix.twice[key] {
				r.ambiguous(c, model.Name)
			}
			body := r.modelFunction(key, model)
			o = o.with(body.from)
			if body.def != nil {
				callable = append(callable, body.def)
			}
		}
		if builtin {
			callable = append(callable, f)
		}
		r.count(c, callable)
		o.unknown = o.unknown || builtin
		r.res.Calls[c] = b
		return tableOf(openRow(o))
	}
	if !builtin || f.Kind == StatementWord {
		r.unknown(c, "the function "+shorten(c.Func)+" is not known", r.nearestFunction(c.Func))
		v := r.arguments(c, e)
		v.unknown = true
		return tableOf(openRow(v))
	}
	r.res.Calls[c] = CallBinding{Builtin: f}
	r.count(c, []callable{f})
	if f.Name == "COUNTROWS" && len(c.Args) == 0 && e.home != nil {
		r.useTable(c, e.home)
	}
	if v, ok := r.tableCall(f, c, e); ok {
		return v
	}
	return r.generic(f, c, e)
}

// A callable is what a call may mean: a built-in function or one that DAX defines.
type callable interface {
	takes(arguments int) bool
	signature() string
}

// count reports a call with a number of arguments that nothing it may mean takes.
func (r *resolver) count(c *Call, candidates []callable) {
	for _, f := range candidates {
		if f.takes(len(c.Args)) {
			return
		}
	}
	if len(candidates) == 0 {
		return
	}
	given := strconv.Itoa(len(c.Args)) + " arguments"
	switch len(c.Args) {
	case 0:
		given = "no arguments"
	case 1:
		given = "one argument"
	}
	r.probs.add(c.From, c.From.Offset+len(c.Func), "the function "+shorten(c.Func)+" cannot be called with "+given, "write "+candidates[0].signature())
}

// A modelBody is what is known of a function of the model.
type modelBody struct {
	def  *Definition // nil where its text is no DAX
	from origins     // of the values it gives
}

// modelFunction reads a function of the model once.
func (r *resolver) modelFunction(key string, f *knowledge.Function) *modelBody {
	if r.ix.namesOnly {
		return r.ix.bodies[key]
	}
	if body := r.bodies[key]; body != nil {
		return body
	}
	body := &modelBody{from: origins{unknown: true}} // what a recursive call sees
	r.bodies[key] = body
	d, err := ParseFunction(f.Name, f.Expression)
	if err != nil {
		return body
	}
	body.def = d
	inner := r.ix.resolver(d)
	inner.bodies = r.bodies
	o := inner.body(d).scalar()
	o.unknown = o.unknown || len(inner.probs.list) > 0
	body.from = o
	return body
}

// arguments evaluates the arguments of a user-defined function. Its body may
// evaluate them where it likes, so columns may come from anywhere.
func (r *resolver) arguments(c *Call, e env) origins {
	var o origins
	e = e.in(openRow(origins{}))
	for _, a := range c.Args {
		if a != nil {
			o = o.with(r.eval(a, e).scalar())
		}
	}
	return o
}

// generic evaluates arguments by the letters of the function.
func (r *resolver) generic(f *Function, c *Call, e env) value {
	var from, all origins
	var row *RowType
	for i, a := range c.Args {
		letter := f.Arg(i)
		if a == nil {
			continue
		}
		v := r.arg(letter|0x20, a, e, row)
		switch letter | 0x20 {
		case 't', 'x', 'o':
			if v.row != nil {
				row = v.row
			}
		case 'c':
			row = &RowType{cols: r.columnsOf(nil, a, v)}
		}
		o := v.scalar()
		all = all.with(o)
		if letter >= 'A' && letter <= 'Z' || letter == 0 {
			from = from.with(o)
		}
	}
	switch f.Kind {
	case ScalarFunction:
		return value{from: from}
	case EitherFunction:
		if len(c.Args) > 0 && c.Args[0] != nil {
			return value{row: row, from: from}
		}
		return value{}
	}
	return tableOf(openRow(all))
}

// arg evaluates one argument by its letter.
func (r *resolver) arg(letter byte, a Expr, e env, row *RowType) value {
	switch letter {
	case 'r':
		return r.eval(a, e.in(row))
	case 'w', 'o':
		if n, ok := unparen(a).(*Name); ok && r.takesWord(n, letter) {
			r.res.Names[n] = Binding{Kind: BoundWord, Name: n.Value}
			return value{}
		}
	case 'n':
		if _, ok := unparen(a).(*Text); ok {
			return value{}
		}
	}
	return r.eval(a, e)
}

// takesWord tells whether n is an enumeration word here, where a word may stand
// (w) or a word or a table (o).
func (r *resolver) takesWord(n *Name, letter byte) bool {
	key := knowledge.Fold(n.Value)
	return isWord(n) && r.local(key) == nil && (letter == 'w' || r.tables[key] == nil && r.ix.tables[key] == nil)
}

// columnsOf adds the columns that an argument stands for: a reference is one
// column, a table all of its own.
func (r *resolver) columnsOf(to []RowColumn, a Expr, v value) []RowColumn {
	if ref, ok := unparen(a).(*Ref); ok {
		c := RowColumn{Table: ref.Table, Name: ref.Name, folded: r.ix.fold(ref.Name), from: v.scalar()}
		// The answer spells the name as the model does.
		if b := r.res.Refs[ref]; len(b) > 0 {
			c.Table, c.Name = b[0].Table, b[0].Name
			if b[0].Kind == BoundMeasure || b[0].Kind == BoundQueryMeasure {
				c.Table = ""
			}
		}
		return append(to, c)
	}
	if v.row != nil {
		cols, _ := v.row.list()
		return append(to, cols...)
	}
	return to
}

// tableCall says which columns the table functions give.
func (r *resolver) tableCall(f *Function, c *Call, e env) (value, bool) {
	arg := func(i int) Expr {
		if i < len(c.Args) {
			return c.Args[i]
		}
		return nil
	}
	eval := func(i int, e env) value {
		if a := arg(i); a != nil {
			return r.eval(a, e)
		}
		return value{}
	}
	// rest evaluates the arguments from i on by their letters.
	rest := func(i int, row *RowType) {
		for ; i < len(c.Args); i++ {
			if c.Args[i] != nil {
				r.arg(f.Arg(i)|0x20, c.Args[i], e, row)
			}
		}
	}

	switch f.Name {
	case "VALUES", "DISTINCT", "FILTERS", "ALL", "ALLNOBLANKROW", "ALLSELECTED",
		"DATESMTD", "DATESQTD", "DATESWTD", "DATESYTD", "DATEADD", "DATESBETWEEN", "DATESINPERIOD", "PARALLELPERIOD",
		"FIRSTDATE", "LASTDATE", "SAMEPERIODLASTYEAR", "ENDOFMONTH", "ENDOFQUARTER", "ENDOFWEEK", "ENDOFYEAR",
		"STARTOFMONTH", "STARTOFQUARTER", "STARTOFWEEK", "STARTOFYEAR", "NEXTDAY", "NEXTMONTH", "NEXTQUARTER",
		"NEXTWEEK", "NEXTYEAR", "PREVIOUSDAY", "PREVIOUSMONTH", "PREVIOUSQUARTER", "PREVIOUSWEEK", "PREVIOUSYEAR",
		"FIRSTNONBLANK", "LASTNONBLANK":
		if len(c.Args) == 0 {
			return tableOf(openRow(origins{})), true // ALL() as a filter
		}
		several := f.Name == "ALL" || f.Name == "ALLNOBLANKROW" || f.Name == "ALLSELECTED"
		t := &RowType{}
		for i := range c.Args {
			if i > 0 && !several {
				break
			}
			v := eval(i, e)
			if _, ref := unparen(arg(i)).(*Ref); !ref && v.row != nil && i == 0 {
				// What follows is added to a row type of its own: this one belongs
				// to a table or variable.
				t = &RowType{base: v.row}
				continue
			}
			t.cols = r.columnsOf(t.cols, arg(i), v)
		}
		if !several {
			rest(1, t)
		}
		return tableOf(t), true

	case "FILTER", "CALCULATETABLE", "RELATEDTABLE", "ALLCROSSFILTERED", "KEEPFILTERS", "NONVISUAL":
		v := eval(0, e)
		rest(1, v.tableOr())
		if v.row == nil && f.Kind != TableFunction {
			return v, true
		}
		return tableOf(v.tableOr()), true

	case "TOPN", "SAMPLE", "TOPNSKIP":
		at := 1
		if f.Name == "TOPNSKIP" {
			at = 2
		}
		for i := range at {
			eval(i, e)
		}
		t := eval(at, e).tableOr()
		rest(at+1, t)
		return tableOf(t), true

	case "EXCEPT", "INTERSECT":
		t := eval(0, e).tableOr()
		rest(1, t)
		return tableOf(t), true

	case "UNION":
		var rows []*RowType
		for i := range c.Args {
			rows = append(rows, eval(i, e).tableOr())
		}
		return tableOf(union(rows)), true

	case "CROSSJOIN", "NATURALINNERJOIN", "NATURALLEFTOUTERJOIN":
		var rows []*RowType
		for i := range c.Args {
			rows = append(rows, eval(i, e).tableOr())
		}
		return tableOf(join(rows...)), true

	case "GENERATE", "GENERATEALL":
		left := eval(0, e).tableOr()
		right := eval(1, e.in(left)).tableOr()
		return tableOf(join(left, right)), true

	case "ADDCOLUMNS":
		base := eval(0, e).tableOr()
		return tableOf(&RowType{base: base, cols: r.pairs(c.Args, 1, e.in(base), false)}), true

	case "SELECTCOLUMNS":
		base := eval(0, e).tableOr()
		return tableOf(&RowType{cols: r.pairs(c.Args, 1, e.in(base), true)}), true

	case "ROW":
		return tableOf(&RowType{cols: r.pairs(c.Args, 0, e, false)}), true

	case "SUMMARIZE", "GROUPBY":
		base := eval(0, e).tableOr()
		if f.Name == "GROUPBY" {
			r.groups = append(r.groups, base)
			defer func() { r.groups = r.groups[:len(r.groups)-1] }()
		}
		return tableOf(r.summary(c.Args, 1, e.in(base))), true

	case "SUMMARIZECOLUMNS":
		return tableOf(r.summary(c.Args, 0, e)), true

	case "ROLLUP", "ROLLUPGROUP", "ROLLUPADDISSUBTOTAL", "ROLLUPISSUBTOTAL":
		return tableOf(r.summary(c.Args, 0, e)), true

	case "CURRENTGROUP":
		if len(r.groups) > 0 {
			return tableOf(r.groups[len(r.groups)-1]), true
		}
		return tableOf(openRow(origins{unknown: true})), true

	case "TREATAS":
		v := eval(0, e)
		source, open := v.tableOr().list()
		t := &RowType{}
		for i := 1; i < len(c.Args); i++ {
			if c.Args[i] == nil {
				continue
			}
			for _, column := range r.columnsOf(nil, c.Args[i], r.eval(c.Args[i], e)) {
				// The label is the column's, the values are the table's.
				if open || i-1 >= len(source) {
					column.from = v.scalar()
				} else {
					column.from = source[i-1].from
				}
				t.cols = append(t.cols, column)
			}
		}
		return tableOf(t), true

	case "GENERATESERIES", "CALENDAR":
		var o origins
		for i := range c.Args {
			o = o.with(eval(i, e).scalar())
		}
		name := "Value"
		if f.Name == "CALENDAR" {
			name = "Date"
		}
		return tableOf(&RowType{cols: []RowColumn{newColumn(name, o)}}), true

	case "DATATABLE":
		t := &RowType{}
		for i, a := range c.Args {
			switch x := unparen(a).(type) {
			case *Text:
				t.cols = append(t.cols, newColumn(x.Value, origins{}))
			case nil:
			default:
				v := r.arg('w', a, e, nil)
				if _, data := x.(*TableConstructor); data && i == len(c.Args)-1 && v.row != nil {
					all := v.row.all()
					for j := range t.cols {
						t.cols[j].from = all
					}
				}
			}
		}
		return tableOf(t), true

	case "INDEX", "OFFSET", "WINDOW":
		var relation *RowType
		var all origins
		for i := range c.Args {
			a := arg(i)
			if a == nil {
				continue
			}
			inner := e
			if spec, ok := unparen(a).(*Call); ok {
				if g, known := functionTable[knowledge.Fold(spec.Func)]; known && g.Kind == WindowSpec {
					// Without a relation, the columns here make it.
					base := relation
					if base == nil {
						base = openRow(origins{})
					}
					inner = e.in(base)
					all = all.with(r.eval(a, inner).scalar())
					continue
				}
			}
			v := r.arg('o', a, inner, nil)
			all = all.with(v.scalar())
			if relation == nil && v.row != nil {
				relation = v.row
			}
		}
		if relation != nil {
			return tableOf(relation), true
		}
		return tableOf(openRow(all)), true
	}
	return value{}, false
}

// pairs reads name and expression pairs. Where the name may be left out, a column
// reference alone keeps its own.
func (r *resolver) pairs(args []Expr, i int, e env, nameless bool) []RowColumn {
	var cols []RowColumn
	for i < len(args) {
		name, ok := unparen(args[i]).(*Text)
		switch {
		case ok && i+1 < len(args):
			var o origins
			if args[i+1] != nil {
				o = r.eval(args[i+1], e).scalar()
			}
			cols = append(cols, newColumn(name.Value, o))
			i += 2
		case args[i] == nil:
			i++
		default:
			// A name that is not a text, or a column that keeps its name.
			v := r.eval(args[i], e)
			if nameless {
				cols = r.columnsOf(cols, args[i], v)
			}
			i++
		}
	}
	return cols
}

// summary reads the columns to group by, the rollups, filters, and name and
// expression pairs of SUMMARIZE, SUMMARIZECOLUMNS and GROUPBY.
func (r *resolver) summary(args []Expr, i int, e env) *RowType {
	t := &RowType{cols: make([]RowColumn, 0, len(args)-min(i, len(args)))}
	for ; i < len(args); i++ {
		switch a := unparen(args[i]).(type) {
		case nil:
		case *Text:
			var o origins
			if i+1 < len(args) {
				if next := unparen(args[i+1]); next != nil {
					if call, ok := next.(*Call); ok {
						o = r.eval(call, e).scalar()
						i++
					} else if _, text := next.(*Text); !text {
						o = r.eval(next, e).scalar()
						i++
					}
				}
			}
			t.cols = append(t.cols, newColumn(a.Value, o))
		case *Ref:
			t.cols = r.columnsOf(t.cols, a, r.eval(a, e))
		default:
			v := r.eval(a, e)
			if call, ok := a.(*Call); ok {
				if g, known := functionTable[knowledge.Fold(call.Func)]; known && g.Kind == GroupModifier && v.row != nil {
					cols, _ := v.row.list()
					t.cols = append(t.cols, cols...)
				}
			}
		}
	}
	return t
}

// union gives the columns of the first table with the values of all.
func union(rows []*RowType) *RowType {
	if len(rows) == 0 {
		return openRow(origins{})
	}
	first, open := rows[0].list()
	t := &RowType{cols: append([]RowColumn(nil), first...)}
	for _, row := range rows {
		cols, more := row.list()
		open = open || more || len(cols) != len(first)
		t.rest = t.rest.with(row.all())
		for i := range t.cols {
			if i < len(cols) {
				t.cols[i].from = t.cols[i].from.with(cols[i].from)
			}
		}
	}
	t.open = open
	if open {
		for i := range t.cols {
			t.cols[i].from = t.cols[i].from.with(t.rest)
		}
	} else {
		t.rest = origins{}
	}
	return t
}
