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
		dateFunctions(), timeFunctions(), windowFunctions(), pathFunctions(), modelFunctions(),
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

// call compiles the call of a function of the query, of the model or built in.
func (c *compiler) call(s *scope, x *dax.Call) node {
	if d := c.userFunction(x.Func); d != nil {
		return c.userCall(s, x, d)
	}
	f, ok := c.q.e.functions[knowledge.Fold(x.Func)]
	if !ok {
		err := &Error{
			Kind: Unsupported, Line: x.Pos().Line, Column: x.Pos().Column, Function: x.Func,
			Message: "The function '" + x.Func + "' is not supported here or does not exist.",
		}
		panic(err)
	}
	c.arity(x, f.min, f.max)
	n := f.compile(c, s, x)
	n.pos = x.Pos()
	return n
}

func (c *compiler) userFunction(name string) *dax.Definition {
	folded := knowledge.Fold(name)
	if d := c.q.functions[folded]; d != nil {
		return d
	}
	return c.q.e.models[folded]
}

// maxInlined bounds how deep user-defined functions may call each other; they
// must not call themselves.
const maxInlined = 50

// userCall compiles a user-defined function where it is called: its body, with
// the parameters bound to the arguments.
func (c *compiler) userCall(s *scope, x *dax.Call, d *dax.Definition) node {
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
	body := c.q.globals.within(s)
	type assignment struct {
		slot int
		b    *binding
		node node
	}
	var assigned []assignment
	for i, p := range d.Params {
		arg := p.Default
		if i < len(x.Args) && x.Args[i] != nil {
			arg = x.Args[i]
		} else if arg == nil {
			c.arity(x, i+1, len(d.Params))
		}
		if p.ByExpr || p.Type == "ANYREF" || p.Type == "COLUMNREF" || p.Type == "TABLEREF" || p.Type == "MEASUREREF" || p.Type == "CALENDARREF" {
			body = body.with(p.Name, &binding{expr: arg, scope: s})
			continue
		}
		n := c.any(s, arg)
		if p.Type == "SCALAR" && n.scalar == nil {
			n = c.scalarNode(s, arg)
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
