package eval

import (
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// logicalFunctions are the ones that decide.
func logicalFunctions() map[string]function {
	return map[string]function{
		"if":       scalarFunction(2, 3, (*compiler).ifElse),
		"if.eager": scalarFunction(2, 3, (*compiler).ifElse),
		"switch":   scalarFunction(2, -1, (*compiler).switchCase),
		"and":      scalarFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.binary(s, asBinary(x, "&&")) }),
		"or":       scalarFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.binary(s, asBinary(x, "||")) }),
		"not":      plain(1, func(a []value.Value) value.Value { return value.OfBool(!must(value.Truth(a[0]))) }),
		"true":     plain(0, func([]value.Value) value.Value { return value.True }),
		"false":    plain(0, func([]value.Value) value.Value { return value.False }),
		"coalesce": scalarFunction(2, -1, (*compiler).coalesce),
		"iferror":  scalarFunction(2, 2, (*compiler).ifError),
		"iserror":  scalarFunction(1, 1, (*compiler).isError),
		"error": plain(1, func(a []value.Value) value.Value {
			fail(Evaluation, "The query ended with the error '%s'.", a[0])
			return value.Value{}
		}),
		"bitand":    plain(2, func(a []value.Value) value.Value { return value.OfInt(whole(a[0]) & whole(a[1])) }),
		"bitor":     plain(2, func(a []value.Value) value.Value { return value.OfInt(whole(a[0]) | whole(a[1])) }),
		"bitxor":    plain(2, func(a []value.Value) value.Value { return value.OfInt(whole(a[0]) ^ whole(a[1])) }),
		"bitlshift": plain(2, func(a []value.Value) value.Value { return value.OfInt(shiftLeft(whole(a[0]), whole(a[1]))) }),
		"bitrshift": plain(2, func(a []value.Value) value.Value { return value.OfInt(shiftLeft(whole(a[0]), -whole(a[1]))) }),
	}
}

// shiftLeft moves the bits of n to the left, or to the right by a negative number.
// What falls off is lost.
func shiftLeft(n, by int64) int64 {
	if by < 0 {
		return n >> min(-by, 63)
	}
	return n << by
}

func asBinary(x *dax.Call, op string) *dax.Binary {
	return &dax.Binary{Span: x.Span, Op: op, X: x.Args[0], Y: x.Args[1]}
}

func (c *compiler) ifElse(s *scope, x *dax.Call) node {
	cond, then := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	var other dax.Expr
	if len(x.Args) > 2 {
		other = x.Args[2]
	}
	otherwise := c.scalarOf(s, other)
	return node{scalar: func(e *env) value.Value {
		if must(value.Truth(cond(e))) {
			return then(e)
		}
		return otherwise(e)
	}}
}

// switchCase is SWITCH ( x, value, result, …, otherwise ).
func (c *compiler) switchCase(s *scope, x *dax.Call) node {
	on := c.scalarOf(s, x.Args[0])
	type branch struct{ when, then scalar }
	var branches []branch
	args := x.Args[1:]
	for len(args) >= 2 {
		branches = append(branches, branch{c.scalarOf(s, args[0]), c.scalarOf(s, args[1])})
		args = args[2:]
	}
	var last dax.Expr
	if len(args) == 1 {
		last = args[0]
	}
	otherwise := c.scalarOf(s, last)
	return node{scalar: func(e *env) value.Value {
		v := on(e)
		for _, b := range branches {
			if must(value.Compare(v, b.when(e))) == 0 {
				return b.then(e)
			}
		}
		return otherwise(e)
	}}
}

func (c *compiler) coalesce(s *scope, x *dax.Call) node {
	of := make([]scalar, len(x.Args))
	for i, arg := range x.Args {
		of[i] = c.scalarOf(s, arg)
	}
	return node{scalar: func(e *env) value.Value {
		for _, f := range of {
			if v := f(e); !v.IsBlank() {
				return v
			}
		}
		return value.Value{}
	}}
}

// attempt computes f, and says whether it failed for its values. The row
// contexts that a failure leaves open belong to a copy of the environment.
func attempt(e *env, f scalar) (v value.Value, ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			if r.Kind != Evaluation {
				panic(r)
			}
			v, ok = value.Value{}, false
		default:
			panic(r)
		}
	}()
	inner := *e
	calls := e.q.calls
	defer func() { e.q.calls = calls }()
	v = f(&inner)
	f64 := v.Float()
	return v, f64 == f64 && f64-f64 == 0 // neither infinite nor no number
}

func (c *compiler) ifError(s *scope, x *dax.Call) node {
	f, otherwise := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	return node{scalar: func(e *env) value.Value {
		if v, ok := attempt(e, f); ok {
			return v
		}
		return otherwise(e)
	}}
}

func (c *compiler) isError(s *scope, x *dax.Call) node {
	f := c.scalarOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value {
		_, ok := attempt(e, f)
		return value.OfBool(!ok)
	}}
}

// informationFunctions tell something about values, names and the person.
func informationFunctions() map[string]function {
	kind := func(is func(value.Kind) bool) function {
		return plain(1, func(a []value.Value) value.Value { return value.OfBool(is(a[0].Kind())) })
	}
	number := kind(func(k value.Kind) bool {
		return k == value.Int || k == value.Double || k == value.Decimal || k == value.Date
	})
	return map[string]function{
		"isblank":     kind(func(k value.Kind) bool { return k == value.Blank }),
		"istext":      kind(func(k value.Kind) bool { return k == value.Text }),
		"isstring":    kind(func(k value.Kind) bool { return k == value.Text }),
		"isnontext":   kind(func(k value.Kind) bool { return k != value.Text }),
		"isnumber":    number,
		"isnumeric":   number,
		"isint64":     kind(func(k value.Kind) bool { return k == value.Int }),
		"isinteger":   kind(func(k value.Kind) bool { return k == value.Int }),
		"isdouble":    kind(func(k value.Kind) bool { return k == value.Double }),
		"isdecimal":   kind(func(k value.Kind) bool { return k == value.Decimal }),
		"iscurrency":  kind(func(k value.Kind) bool { return k == value.Decimal }),
		"isdatetime":  kind(func(k value.Kind) bool { return k == value.Date }),
		"islogical":   kind(func(k value.Kind) bool { return k == value.Bool }),
		"isboolean":   kind(func(k value.Kind) bool { return k == value.Bool }),
		"iseven":      plain(1, func(a []value.Value) value.Value { return value.OfBool(whole(a[0])%2 == 0) }),
		"isodd":       plain(1, func(a []value.Value) value.Value { return value.OfBool(whole(a[0])%2 != 0) }),
		"blank":       plain(0, func([]value.Value) value.Value { return value.Value{} }),
		"isafter":     scalarFunction(2, -1, func(c *compiler, s *scope, x *dax.Call) node { return c.isOnOrAfter(s, x, false) }),
		"isonorafter": scalarFunction(2, -1, func(c *compiler, s *scope, x *dax.Call) node { return c.isOnOrAfter(s, x, true) }),
		"isempty": scalarFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node {
			table, _ := c.tableOf(s, x.Args[0])
			return node{scalar: func(e *env) value.Value { return value.OfBool(table(e).n == 0) }}
		}),
		"contains":    scalarFunction(3, -1, (*compiler).contains),
		"containsrow": scalarFunction(2, -1, (*compiler).containsRow),
		"nameof":      scalarFunction(1, 3, (*compiler).nameOf),
		"tableof":     tableFunction(1, 1, (*compiler).tableOfReference),
		"userprincipalname": contextual(0, 0, func(e *env, _ []value.Value) value.Value {
			return value.OfText(e.q.as.UPN)
		}),
		"username":     contextual(0, 0, func(e *env, _ []value.Value) value.Value { return value.OfText(e.q.as.UPN) }),
		"userobjectid": contextual(0, 0, func(e *env, _ []value.Value) value.Value { return value.OfText(e.q.as.ObjectID) }),
		"customdata":   contextual(0, 0, func(e *env, _ []value.Value) value.Value { return cell(e.q.as.CustomData) }),
		"userculture":  plain(0, func([]value.Value) value.Value { return value.OfText("en-US") }),
	}
}

// isOnOrAfter is ISONORAFTER ( value, start, order, … ): whether a row with these
// values comes at or after the start in that order.
func (c *compiler) isOnOrAfter(s *scope, x *dax.Call, on bool) node {
	type key struct {
		of, start  scalar
		descending bool
	}
	var keys []key
	for args := x.Args; len(args) > 0; {
		if len(args) < 2 {
			c.fail(x, Invalid, "%s expects a value and a start for each key.", x.Func)
		}
		k := key{of: c.scalarOf(s, args[0]), start: c.scalarOf(s, args[1])}
		args = args[2:]
		if len(args) > 0 {
			if d, ok := direction(c.word(args[0]), nil); ok {
				k.descending = d
				args = args[1:]
			}
		}
		keys = append(keys, k)
	}
	return node{scalar: func(e *env) value.Value {
		for _, k := range keys {
			o := value.Order(k.of(e), k.start(e))
			if k.descending {
				o = -o
			}
			if o != 0 {
				return value.OfBool(o > 0)
			}
		}
		return value.OfBool(on)
	}}
}

// contains is CONTAINS ( table, column, value, … ).
func (c *compiler) contains(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	inner := s.row(sc)
	type condition struct {
		read  func(e *env, rel *relation, row int) value.Value
		equal scalar
	}
	var conditions []condition
	args := x.Args[1:]
	if len(args)%2 != 0 {
		c.fail(x, Invalid, "CONTAINS expects a value for each column.")
	}
	for ; len(args) > 0; args = args[2:] {
		cond := condition{equal: c.scalarOf(s, args[1])}
		if i, ok := c.directColumn(inner, args[0]); ok {
			cond.read = func(_ *env, rel *relation, row int) value.Value { return rel.at(i, row) }
		} else {
			col := c.columnOf(s, args[0])
			if sc.base == nil || !sc.base.reaches(col.table) {
				c.fail(args[0], Invalid, "The column %s is not in the table.", col)
			}
			read := sc.base.reader(col)
			cond.read = func(_ *env, rel *relation, row int) value.Value { return col.data.Values()[read(rel.rows[row])] }
		}
		conditions = append(conditions, cond)
	}
	return node{scalar: func(e *env) value.Value {
		rel := table(e)
		wanted := make([]value.Key, len(conditions))
		for i, cond := range conditions {
			wanted[i] = cond.equal(e).Key()
		}
	rows:
		for row := range rel.n {
			for i, cond := range conditions {
				if cond.read(e, rel, row).Key() != wanted[i] {
					continue rows
				}
			}
			return value.True
		}
		return value.False
	}}
}

// containsRow is CONTAINSROW ( table, value, … ).
func (c *compiler) containsRow(s *scope, x *dax.Call) node {
	return c.in(s, &dax.Binary{Span: x.Span, Op: "IN", X: &dax.Tuple{Span: x.Span, Items: x.Args[1:]}, Y: x.Args[0]})
}

// modelFunctions read the model itself.
func modelFunctions() map[string]function {
	return map[string]function{
		"columnstatistics":            infoView(columnStatistics),
		"detailrows":                  tableFunction(1, 1, (*compiler).detailRows),
		"info.view.tables":            infoView(viewTables),
		"info.view.columns":           infoView(viewColumns),
		"info.view.measures":          infoView(viewMeasures),
		"info.view.relationships":     infoView(viewRelationships),
		"info.calculationgroups":      forEditors(infoView(calculationGroups)),
		"info.calculationitems":       forEditors(infoView(calculationItems)),
		"info.userdefinedfunctions":   forEditors(infoView(userDefinedFunctions)),
		"selectedmeasure":             scalarFunction(0, 0, (*compiler).selectedMeasure),
		"selectedmeasurename":         scalarFunction(0, 0, (*compiler).selectedMeasureName),
		"selectedmeasureformatstring": scalarFunction(0, 0, (*compiler).selectedMeasureFormat),
		"isselectedmeasure":           scalarFunction(1, -1, (*compiler).isSelectedMeasure),
	}
}

// detailRows is DETAILROWS ( [measure] ): the rows that the model shows behind a
// measure.
func (c *compiler) detailRows(_ *scope, x *dax.Call) node {
	ref, ok := x.Args[0].(*dax.Ref)
	if !ok {
		c.fail(x.Args[0], Invalid, "DETAILROWS expects a measure.")
	}
	m := c.q.measure(ref.Name)
	if m == nil {
		c.fail(ref, UnknownName, "The measure '%s' cannot be found.", ref.Name)
	}
	if m.def == nil || m.def.DetailRows == "" {
		return c.tableNode(m.table)
	}
	expr, err := dax.ParseExpr(m.def.DetailRows)
	if err != nil {
		c.fail(x, Syntax, "The detail rows of the measure '%s' cannot be read: %s", m.name, reason(err))
	}
	var n node
	c.at(x, func() { n.table, n.schema = c.tableOf(nil, expr) })
	table := n.table
	n.table = func(e *env) *relation { return table(e.within(e.transition())) }
	return n
}

func (c *compiler) selectedMeasure(*scope, *dax.Call) node {
	return node{scalar: func(e *env) value.Value {
		m := e.selected
		if m == nil {
			fail(Evaluation, "SELECTEDMEASURE can only be used in a calculation item.")
		}
		return m.compute(e, e.transition())
	}}
}

func (c *compiler) selectedMeasureName(*scope, *dax.Call) node {
	return node{scalar: func(e *env) value.Value {
		if e.selected == nil {
			fail(Evaluation, "SELECTEDMEASURENAME can only be used in a calculation item.")
		}
		return value.OfText(e.selected.name)
	}}
}

func (c *compiler) selectedMeasureFormat(*scope, *dax.Call) node {
	return node{scalar: func(e *env) value.Value {
		if e.selected == nil {
			fail(Evaluation, "SELECTEDMEASUREFORMATSTRING can only be used in a calculation item.")
		}
		if e.selected.def == nil {
			return value.Value{}
		}
		return value.OfText(e.selected.def.FormatString)
	}}
}

func (c *compiler) isSelectedMeasure(_ *scope, x *dax.Call) node {
	var names []string
	for _, arg := range x.Args {
		ref, ok := arg.(*dax.Ref)
		if !ok || c.q.measure(ref.Name) == nil {
			c.fail(arg, Invalid, "ISSELECTEDMEASURE expects measures.")
		}
		names = append(names, knowledge.Fold(ref.Name))
	}
	return node{scalar: func(e *env) value.Value {
		if e.selected == nil {
			fail(Evaluation, "ISSELECTEDMEASURE can only be used in a calculation item.")
		}
		for _, name := range names {
			if knowledge.Fold(e.selected.name) == name {
				return value.True
			}
		}
		return value.False
	}}
}
