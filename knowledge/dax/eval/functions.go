package eval

import (
	"maps"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A function is a built-in function.
type function struct {
	min, max int  // number of arguments; max is -1 where there is no limit
	table    bool // it gives a table
	compile  func(*compiler, *scope, *dax.Call) node
}

// functions is the table of built-in functions, by folded name. Each family is
// one file.
func functions() map[string]function {
	all := map[string]function{}
	for _, family := range []map[string]function{
		aggregateFunctions(), filterFunctions(), tableFunctions(), groupFunctions(), joinFunctions(),
		logicalFunctions(), informationFunctions(), textFunctions(), mathFunctions(), statisticFunctions(),
		dateFunctions(), timeFunctions(), windowFunctions(), pathFunctions(), modelFunctions(), insideFunctions(),
		financialFunctions(), distributionFunctions(), regressionFunctions(), writingFunctions(),
	} {
		maps.Copy(all, family)
	}
	return all
}

// arity checks the number of arguments.
func (c *compiler) arity(x *dax.Call, min, max int) {
	switch n := len(x.Args); {
	case n < min:
		c.fail(x, Invalid, "Too few arguments were passed to the %s function. The minimum argument count for the function is %d.", x.Func, min)
	case max >= 0 && n > max:
		c.fail(x, Invalid, "Too many arguments were passed to the %s function. The maximum argument count for the function is %d.", x.Func, max)
	}
}

// unsupported says that a function cannot be called, by this person or by anybody.
func unsupported(x *dax.Call) *Error {
	return &Error{
		Kind: Unsupported, Line: x.Pos().Line, Column: x.Pos().Column, Function: x.Func,
		Message: "The function '" + x.Func + "' is not supported here or does not exist.",
	}
}

// call compiles the call of a function of the query, of the model or built in.
func (c *compiler) call(s *scope, x *dax.Call) node {
	if d, globals := c.userFunction(x.Func); d != nil {
		return c.userCall(s, x, d, globals)
	}
	f, ok := c.q.e.functions[knowledge.Fold(x.Func)]
	if !ok {
		panic(unsupported(x))
	}
	c.arity(x, f.min, f.max)
	n := f.compile(c, s, x)
	n.pos = x.Pos()
	return n
}

// userFunction is a function of the query or of the model, nil where there is
// none, and the variables that its body sees: the model knows none of the query.
func (c *compiler) userFunction(name string) (*dax.Definition, *scope) {
	folded := knowledge.Fold(name)
	if d := c.q.functions[folded]; d != nil {
		return d, c.q.globals
	}
	return c.q.e.models[folded], nil
}

// maxInlined bounds how deep user-defined functions may call each other; they
// must not call themselves.
const maxInlined = 50

// userCall compiles a user-defined function where it is called: its body, with
// the parameters bound to the arguments.
func (c *compiler) userCall(s *scope, x *dax.Call, d *dax.Definition, globals *scope) node {
	c.inlined++
	defer func() { c.inlined-- }()
	if c.inlined > maxInlined {
		c.fail(x, Invalid, "The function '%s' calls itself.", d.Name)
	}
	if len(x.Args) > len(d.Params) {
		c.arity(x, 0, len(d.Params))
	}
	// The body sees the row contexts of the call, the query's variables and its
	// own parameters, not the variables around the call.
	defined := globals.within(s)
	body := defined
	type assignment struct {
		slot int
		b    *binding
		node node
	}
	var assigned []assignment
	for i, p := range d.Params {
		arg, at := p.Default, defined
		if i < len(x.Args) && x.Args[i] != nil {
			arg, at = x.Args[i], s
		} else if arg == nil {
			c.arity(x, i+1, len(d.Params))
		}
		c.reference(at, x, p, arg)
		if p.ByExpr || p.Type == "ANYREF" || p.Type == "COLUMNREF" || p.Type == "TABLEREF" || p.Type == "MEASUREREF" || p.Type == "CALENDARREF" {
			body = body.with(p.Name, &binding{expr: arg, scope: at})
			continue
		}
		n := c.any(at, arg)
		if p.Type == "SCALAR" && n.scalar == nil {
			n = c.scalarNode(at, arg)
		}
		if p.Type == "TABLE" && n.table == nil {
			c.fail(arg, Invalid, "The parameter '%s' of the function '%s' takes a table.", p.Name, d.Name)
		}
		if p.Subtype != "" && n.scalar != nil {
			n = c.converted(n, p.Subtype)
		}
		b, slot := c.variable(n)
		assigned = append(assigned, assignment{slot, b, n})
		body = body.with(p.Name, b)
	}
	result := c.any(body, d.Value)
	assign := func(e *env) {
		for _, a := range assigned {
			if a.b.uses > 0 {
				e.assign(a.slot, a.node)
			}
		}
	}
	if result.scalar != nil {
		return node{scalar: func(e *env) value.Value {
			assign(e)
			return result.scalar(e)
		}}
	}
	return node{schema: result.schema, table: func(e *env) *relation {
		assign(e)
		return result.table(e)
	}}
}

// reference refuses an argument that is not what a parameter refers to.
func (c *compiler) reference(s *scope, x *dax.Call, p dax.Param, arg dax.Expr) {
	ok := true
	what := ""
	switch p.Type {
	case "COLUMNREF":
		what, ok = "column", c.tryColumn(s, arg) != nil
	case "TABLEREF":
		what, ok = "table", c.tryTable(s, arg) != nil
	case "MEASUREREF":
		ref, isRef := arg.(*dax.Ref)
		if name, isName := arg.(*dax.Name); isName { // a parameter that is handed on
			if b := s.find(name.Value); b != nil {
				ref, isRef = b.expr.(*dax.Ref)
			}
		}
		what, ok = "measure", isRef && c.q.measure(ref.Name) != nil
	}
	if !ok {
		c.fail(arg, Invalid, "The parameter '%s' of the function '%s' takes a reference to a %s.", p.Name, x.Func, what)
	}
}

// typeKind is the kind that a data type word of DAX means.
func typeKind(word string) (value.Kind, bool) {
	switch knowledge.Fold(word) {
	case "integer", "int64":
		return value.Int, true
	case "double", "numeric":
		return value.Double, true
	case "string", "text":
		return value.Text, true
	case "boolean", "logical":
		return value.Bool, true
	case "currency", "decimal":
		return value.Decimal, true
	case "datetime":
		return value.Date, true
	case "variant":
		return value.Blank, true
	}
	return value.Blank, false
}

func (c *compiler) converted(n node, word string) node {
	kind, ok := typeKind(word)
	if !ok || kind == value.Blank {
		return n
	}
	if word == "NUMERIC" { // any number
		return node{steady: n.steady, scalar: func(e *env) value.Value { return must(value.Number(n.scalar(e))) }}
	}
	return node{steady: n.steady, scalar: func(e *env) value.Value { return must(value.Convert(n.scalar(e), kind)) }}
}

// The following make functions of what computes their values.

// plain is a function of a fixed number of scalars.
func plain(arity int, f func(args []value.Value) value.Value) function {
	return variadic(arity, arity, f)
}

// variadic is a function of scalars, of which the last ones may be missing.
func variadic(min, max int, f func(args []value.Value) value.Value) function {
	return function{min: min, max: max, compile: func(c *compiler, s *scope, x *dax.Call) node {
		args := make([]scalar, len(x.Args))
		steady := true
		for i, arg := range x.Args {
			n := c.scalarNode(s, arg)
			args[i], steady = n.scalar, steady && n.steady
		}
		return node{steady: steady, scalar: func(e *env) value.Value {
			var few [4]value.Value
			vals := few[:0]
			for _, arg := range args {
				vals = append(vals, arg(e))
			}
			return e.q.made(f(vals))
		}}
	}}
}

// contextual is a function of scalars and of where it is computed.
func contextual(min, max int, f func(e *env, args []value.Value) value.Value) function {
	return function{min: min, max: max, compile: func(c *compiler, s *scope, x *dax.Call) node {
		args := make([]scalar, len(x.Args))
		for i, arg := range x.Args {
			args[i] = c.scalarOf(s, arg)
		}
		return node{scalar: func(e *env) value.Value {
			vals := make([]value.Value, len(args))
			for i, arg := range args {
				vals[i] = arg(e)
			}
			return f(e, vals)
		}}
	}}
}

func scalarFunction(min, max int, compile func(*compiler, *scope, *dax.Call) node) function {
	return function{min: min, max: max, compile: compile}
}

func tableFunction(min, max int, compile func(*compiler, *scope, *dax.Call) node) function {
	return function{min: min, max: max, table: true, compile: compile}
}

// onlyIn is a word that is read by the function it stands in, and means nothing
// elsewhere.
func onlyIn(where string) function {
	return function{max: -1, compile: func(c *compiler, _ *scope, x *dax.Call) node {
		c.fail(x, Invalid, "The function %s can only be used in %s.", x.Func, where)
		return node{}
	}}
}

// insideFunctions are words that another function reads as its arguments.
func insideFunctions() map[string]function {
	return map[string]function{
		"rollup":              onlyIn("SUMMARIZE"),
		"issubtotal":          scalarFunction(1, 1, (*compiler).isSubtotal),
		"rollupgroup":         onlyIn("ROLLUP and ROLLUPADDISSUBTOTAL"),
		"rollupaddissubtotal": onlyIn("SUMMARIZECOLUMNS"),
		"ignore":              onlyIn("SUMMARIZECOLUMNS"),
		"nonvisual":           onlyIn("SUMMARIZECOLUMNS"),
		"orderby":             onlyIn("window functions"),
		"partitionby":         onlyIn("window functions"),
		"allcrossfiltered":    onlyIn("filter arguments of CALCULATE and CALCULATETABLE"),
	}
}
