package eval

import (
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A variable holds the value of a VAR.
type variable struct {
	scalar value.Value
	table  *relation
	err    *Error // why there is neither; told to who asks
}

// assign computes a variable. What it fails with is kept: a variable that nobody
// reads in the end, because an IF went the other way, fails nothing.
func (v *variable) assign(e *env, n node) {
	calls := e.q.calls
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			if r.Kind != Evaluation {
				panic(r)
			}
			e.q.calls = calls
			*v = variable{err: r}
		default:
			panic(r)
		}
	}()
	inner := *e // a failure leaves its row contexts open
	if n.scalar != nil {
		*v = variable{scalar: n.scalar(&inner)}
	} else {
		*v = variable{table: n.table(&inner)}
	}
}

func (v *variable) value() value.Value {
	if v.err != nil {
		panic(v.err)
	}
	return v.scalar
}

func (v *variable) rows() *relation {
	if v.err != nil {
		panic(v.err)
	}
	return v.table
}

// vars is VAR … RETURN …. A variable is computed where it stands, once; one that
// nothing uses is not computed.
func (c *compiler) vars(s *scope, x *dax.Vars) node {
	type assignment struct {
		slot    int
		binding *binding
		value   node
	}
	var all []assignment
	for _, v := range x.Vars {
		value := c.any(s, v.Value)
		b, slot := c.variable(value)
		all = append(all, assignment{slot, b, value})
		s = s.with(v.Name, b)
	}
	result := c.any(s, x.Return)
	assign := func(e *env) {
		for _, a := range all {
			if a.binding.uses > 0 {
				e.assign(a.slot, a.value)
			}
		}
	}
	n := node{schema: result.schema}
	if result.scalar != nil {
		n.scalar = func(e *env) value.Value {
			assign(e)
			return result.scalar(e)
		}
	} else {
		n.table = func(e *env) *relation {
			assign(e)
			return result.table(e)
		}
	}
	return n
}

func (e *env) assign(slot int, n node) { e.vars[slot].assign(e, n) }

// variable makes a binding for a value that is kept in a slot.
func (c *compiler) variable(n node) (*binding, int) {
	slot := c.slots
	c.slots++
	b := &binding{node: node{schema: n.schema}}
	if n.scalar != nil {
		b.node.scalar = func(e *env) value.Value { return e.vars[slot].value() }
	} else {
		b.node.table = func(e *env) *relation { return e.vars[slot].rows() }
	}
	return b, slot
}
