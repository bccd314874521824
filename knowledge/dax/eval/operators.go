package eval

import (
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

func (c *compiler) unary(s *scope, x *dax.Unary) node {
	n := c.scalarNode(s, x.X)
	operand := n.scalar
	switch x.Op {
	case "-":
		return node{steady: n.steady, scalar: func(e *env) value.Value { return must(value.Neg(operand(e))) }}
	case "NOT":
		return node{steady: n.steady, scalar: func(e *env) value.Value {
			return value.OfBool(!must(value.Truth(operand(e))))
		}}
	}
	return n
}

func (c *compiler) binary(s *scope, x *dax.Binary) node {
	if x.Op == "IN" {
		return c.in(s, x)
	}
	left, right := c.scalarNode(s, x.X), c.scalarNode(s, x.Y)
	a, b := left.scalar, right.scalar
	n := node{steady: left.steady && right.steady}
	operate := func(f func(a, b value.Value) (value.Value, error)) scalar {
		return func(e *env) value.Value { return must(f(a(e), b(e))) }
	}
	compare := func(f func(c int) bool) scalar {
		return func(e *env) value.Value { return value.OfBool(f(must(value.Compare(a(e), b(e))))) }
	}
	switch x.Op {
	case "+":
		n.scalar = operate(value.Add)
	case "-":
		n.scalar = operate(value.Sub)
	case "*":
		n.scalar = operate(value.Mul)
	case "/":
		n.scalar = operate(value.Div)
	case "^":
		n.scalar = operate(value.Pow)
	case "&":
		n.scalar = func(e *env) value.Value { return e.q.made(value.Concat(a(e), b(e))) }
	case "=":
		n.scalar = compare(func(c int) bool { return c == 0 })
	case "<>":
		n.scalar = compare(func(c int) bool { return c != 0 })
	case "<":
		n.scalar = compare(func(c int) bool { return c < 0 })
	case ">":
		n.scalar = compare(func(c int) bool { return c > 0 })
	case "<=":
		n.scalar = compare(func(c int) bool { return c <= 0 })
	case ">=":
		n.scalar = compare(func(c int) bool { return c >= 0 })
	case "==":
		n.scalar = func(e *env) value.Value { return value.OfBool(must(value.Same(a(e), b(e)))) }
	case "&&":
		n.scalar = func(e *env) value.Value {
			return value.OfBool(must(value.Truth(a(e))) && must(value.Truth(b(e))))
		}
	case "||":
		n.scalar = func(e *env) value.Value {
			return value.OfBool(must(value.Truth(a(e))) || must(value.Truth(b(e))))
		}
	default:
		c.fail(x, Unsupported, "The operator '%s' is not supported.", x.Op)
	}
	return n
}

// in is x IN table and ( x, y ) IN table. It compares like ==.
func (c *compiler) in(s *scope, x *dax.Binary) node {
	items := []dax.Expr{x.X}
	if t, ok := x.X.(*dax.Tuple); ok {
		items = t.Items
	}
	var values []scalar
	steady := true
	for _, item := range items {
		n := c.scalarNode(s, item)
		values = append(values, n.scalar)
		steady = steady && n.steady
	}
	table, sc := c.tableOf(s, x.Y)
	if len(sc.cols) != len(values) {
		c.fail(x, Invalid, "The table after IN must have as many columns as there are values before it.")
	}
	literal, list := x.Y.(*dax.TableConstructor)
	fixed := list && steadyRows(literal)
	var set map[string]struct{} // of the rows of last, which a variable gives again and again
	var last *relation
	return node{steady: steady && fixed, scalar: func(e *env) value.Value {
		if set == nil || !fixed {
			if rel := table(e); rel != last {
				last, set = rel, rel.keys()
			}
		}
		var buf [64]byte
		key := buf[:0]
		for _, v := range values {
			key = v(e).AppendKey(key)
		}
		_, ok := set[string(key)]
		return value.OfBool(ok)
	}}
}

// steadyRows says whether a table constructor holds only literals.
func steadyRows(x *dax.TableConstructor) bool {
	for _, row := range x.Rows {
		items := []dax.Expr{row}
		if t, ok := row.(*dax.Tuple); ok {
			items = t.Items
		}
		for _, item := range items {
			switch item.(type) {
			case *dax.Number, *dax.Text, *dax.Date, *dax.Bool:
			default:
				return false
			}
		}
	}
	return true
}
