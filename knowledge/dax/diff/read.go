package diff

import (
	"strconv"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A reader makes the form of one expression.
type reader struct {
	form *Form
	res  *dax.Resolution       // nil without a model
	vars map[string][]variable // in scope, the innermost last, by folded name

	drawn int // variables so far whose value is another one each time
}

// A context is where an expression is evaluated. Each change of the filter context
// or the row context makes the level one more, so that two places with one way
// between them are in the same context exactly where their levels are equal.
type context struct {
	level int
	row   bool // there may be a row context
}

func (c context) inner() context { return context{level: c.level + 1, row: true} }

// A variable has a value that was computed at a level.
type variable struct {
	value *node
	level int
	drawn int // which it is of those whose value is another one each time; 0 for others
}

func (r *reader) expr(x dax.Expr, c context) *node {
	switch x := x.(type) {
	case nil:
		return newNode(opMissing, "", nil)
	case *dax.Number:
		return newNode(opNumber, plainNumber(x.Text), x)
	case *dax.Text:
		return newNode(opText, x.Value, x)
	case *dax.Date:
		return newNode(opDate, x.Value, x)
	case *dax.Bool:
		return newNode(opBool, strconv.FormatBool(x.Value), x)
	case *dax.Name:
		return r.name(x, c)
	case *dax.Ref:
		return r.ref(x)
	case *dax.Call:
		return r.call(x, c)
	case *dax.Unary:
		return r.unary(x, c)
	case *dax.Binary:
		return r.binary(x, c)
	case *dax.Paren:
		return r.expr(x.X, c)
	case *dax.Tuple:
		return newNode(opTuple, "", x, r.exprs(x.Items, c)...)
	case *dax.TableConstructor:
		return newNode(opRows, "", x, r.exprs(x.Rows, c)...)
	case *dax.Vars:
		return r.variables(x, c)
	case *dax.Parameter:
		return newNode(opParameter, knowledge.Fold(x.Name), x)
	}
	return newNode(opMissing, "", nil)
}

func (r *reader) exprs(list []dax.Expr, c context) []*node {
	out := make([]*node, len(list))
	for i, x := range list {
		out[i] = r.expr(x, c)
	}
	return out
}

// plainNumber writes a number in one way. 1 and 1.0 stay apart, as they are of
// different types.
func plainNumber(text string) string {
	text = strings.ToUpper(text)
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if whole, part, ok := strings.Cut(text, "."); ok && !strings.Contains(part, "E") {
		if part = strings.TrimRight(part, "0"); part == "" {
			part = "0"
		}
		text = whole + "." + part
	}
	return text
}

// variables reads VAR … RETURN …, of which nothing is left: where the value of a
// variable is used in the context in which it was computed it stands itself, and
// elsewhere a node that says how far outside it was computed.
func (r *reader) variables(x *dax.Vars, c context) *node {
	for _, v := range x.Vars {
		key := knowledge.Fold(v.Name)
		value := r.expr(v.Value, c)
		of := variable{value: value, level: c.level}
		if value.volatile {
			r.drawn++
			of.drawn = r.drawn
		}
		list := r.vars[key]
		r.vars[key] = append(list[:len(list):len(list)], of)
	}
	n := r.expr(x.Return, c)
	for _, v := range x.Vars {
		key := knowledge.Fold(v.Name)
		r.vars[key] = r.vars[key][:len(r.vars[key])-1]
	}
	return n
}

// variable is the innermost variable that a bare name can stand for.
func (r *reader) variable(x *dax.Name) (variable, bool) {
	if x.Quoted {
		return variable{}, false
	}
	if r.res != nil && r.res.Names[x].Kind != dax.BoundVariable {
		return variable{}, false
	}
	list := r.vars[knowledge.Fold(x.Value)]
	if len(list) == 0 {
		return variable{}, false
	}
	return list[len(list)-1], true
}

func (r *reader) name(x *dax.Name, c context) *node {
	if v, ok := r.variable(x); ok {
		if v.value.op.literal() || v.level == c.level && !v.value.volatile {
			return v.value
		}
		name := strconv.Itoa(c.level - v.level)
		if v.drawn > 0 {
			name += ", draw " + strconv.Itoa(v.drawn) // RAND () in two variables is two numbers
		}
		return newNode(opVar, name, x, v.value)
	}
	if r.res != nil {
		switch b := r.res.Names[x]; b.Kind {
		case dax.BoundTable:
			n := newNode(opTable, knowledge.Fold(b.Table), x)
			n.home = b.Table
			return n
		case dax.BoundWord:
			return newNode(opWord, knowledge.Fold(b.Name), x)
		}
	}
	return newNode(opName, knowledge.Fold(x.Value), x)
}

// columnName is the name of a column node.
func columnName(table, name string) string {
	return knowledge.Fold(table) + "\x00" + knowledge.Fold(name)
}

func (r *reader) ref(x *dax.Ref) *node {
	variation := ""
	if x.Variation != "" {
		variation = "\x00" + knowledge.Fold(x.Variation)
	}
	if r.res != nil {
		if bindings := r.res.Refs[x]; len(bindings) > 0 {
			switch b := bindings[0]; b.Kind {
			case dax.BoundColumn:
				n := newNode(opColumn, columnName(b.Table, b.Name)+variation, x)
				n.home = b.Table
				n.show = tableText(b.Table) + dax.QuoteBracket(b.Name)
				if x.Variation != "" {
					n.show += "." + dax.QuoteBracket(x.Variation)
				}
				return n
			case dax.BoundMeasure:
				n := newNode(opMeasure, knowledge.Fold(b.Name), x)
				n.show = dax.QuoteBracket(b.Name)
				return n
			}
			return newNode(opNew, knowledge.Fold(x.Name)+variation, x)
		}
	} else if x.HasTable && !x.Quoted && len(r.vars[knowledge.Fold(x.Table)]) > 0 {
		return newNode(opNew, knowledge.Fold(x.Name)+variation, x) // of a table in a variable
	}
	return newNode(opRef, columnName(x.Table, x.Name)+variation, x)
}

func (r *reader) unary(x *dax.Unary, c context) *node {
	switch k := r.expr(x.X, c); x.Op {
	case "NOT":
		return not(k, x)
	case "-":
		if k.op == opNumber && !strings.HasPrefix(k.name, "-") {
			return newNode(opNumber, "-"+k.name, x)
		}
		return newNode(opNeg, "", x, k)
	default:
		return newNode(opPos, "", x, k)
	}
}

// not is NOT k. = and <> are each other's contrary, blanks included; the contrary
// of < is left as it is, as there are numbers that compare with nothing.
func not(k *node, src dax.Node) *node {
	switch {
	case k.op == opEqual:
		return newNode(opUnlike, "", src, k.kids...)
	case k.op == opUnlike:
		return newNode(opEqual, "", src, k.kids...)
	case k.op == opNot && k.kids[0].op.truth():
		return k.kids[0]
	}
	return newNode(opNot, "", src, k)
}

// maxFlat is how many operands of one operator are put side by side.
const maxFlat = 1000

// flat puts the operands of an operator that may be grouped in any way side by
// side.
func flat(o op, kids ...*node) []*node {
	var out []*node
	for _, k := range kids {
		if k.op == o && len(out)+len(k.kids) < maxFlat {
			out = append(out, k.kids...)
		} else {
			out = append(out, k)
		}
	}
	return out
}

func (r *reader) binary(x *dax.Binary, c context) *node {
	// A long chain goes down at its left, one level for each operator.
	var chain []*dax.Binary
	var left dax.Expr = x
	for {
		b, ok := left.(*dax.Binary)
		if !ok {
			break
		}
		chain = append(chain, b)
		left = b.X
	}
	n := r.expr(left, c)
	for i := 0; i < len(chain); {
		// What one operator puts side by side is made at once, so that a long
		// chain costs no more than its length.
		b := chain[len(chain)-1-i]
		operands := []*node{n}
		for ; i < len(chain) && chain[len(chain)-1-i].Op == b.Op && len(operands) < maxFlat; i++ {
			b = chain[len(chain)-1-i]
			operands = append(operands, r.expr(b.Y, c))
			if o := operatorOf(b.Op); o != opAnd && o != opOr && o != opSum && o != opConcat {
				i++
				break
			}
		}
		n = operator(b.Op, b, operands)
	}
	return n
}

func operatorOf(text string) op { return op(text) }

// operator is operands joined by an operator of the language.
func operator(text string, src dax.Node, k []*node) *node {
	switch text {
	case "&&":
		return newNode(opAnd, "", src, flat(opAnd, k...)...)
	case "||":
		return either(src, k...)
	case "+":
		return newNode(opSum, "", src, flat(opSum, k...)...)
	case "&":
		return newNode(opConcat, "", src, flat(opConcat, k...)...)
	case "=":
		return equal(src, k[0], k[1])
	case "==":
		return strict(src, k[0], k[1])
	case "<>":
		return newNode(opUnlike, "", src, k...)
	case ">":
		return newNode(opLess, "", src, k[1], k[0])
	case ">=":
		return newNode(opAtMost, "", src, k[1], k[0])
	case "IN":
		return in(src, k[0], k[1])
	}
	return newNode(op(text), "", src, k...)
}

// certain tells whether a literal is unlike blank, so that = and == with it are
// one thing.
func certain(n *node) bool {
	switch n.op {
	case opNumber:
		return strings.ContainsAny(strings.SplitN(n.name, "E", 2)[0], "123456789")
	case opText:
		return n.name != ""
	case opBool:
		return n.name == "true"
	}
	return false
}

func equal(src dax.Node, a, b *node) *node { return newNode(opEqual, "", src, a, b) }

// strict is a == b.
func strict(src dax.Node, a, b *node) *node {
	switch {
	case certain(a) || certain(b):
		return equal(src, a, b)
	case b.op == opBlank:
		return newNode(opCall, "ISBLANK", src, a)
	case a.op == opBlank:
		return newNode(opCall, "ISBLANK", src, b)
	}
	return newNode(opStrict, "", src, a, b)
}

// in is x IN table. A list of rows has no order, and IN compares as == does.
func in(src dax.Node, x, table *node) *node {
	if table.op != opRows {
		return newNode(opWithin, "", src, x, table)
	}
	n := newNode(opIn, "", src, append([]*node{x}, table.kids...)...)
	if len(n.kids) == 2 && x.op != opTuple {
		return strict(src, x, n.kids[1])
	}
	return n
}

// memberOf reads what says that something is one of several literals.
func memberOf(n *node) (x *node, of []*node, ok bool) {
	switch n.op {
	case opEqual, opStrict:
		for i, k := range n.kids {
			if k.op.literal() && (n.op == opStrict || certain(k)) {
				return n.kids[1-i], []*node{k}, true
			}
		}
	case opIn:
		for _, k := range n.kids[1:] {
			if !k.op.literal() {
				return nil, nil, false
			}
		}
		return n.kids[0], n.kids[1:], true
	}
	return nil, nil, false
}

// either is a || b || …. Values of one thing are put together: x = 1 || x = 2 is
// x IN { 1, 2 }.
func either(src dax.Node, kids ...*node) *node {
	var out []*node
	at := map[[16]byte]int{}
	for _, k := range flat(opOr, kids...) {
		x, of, ok := memberOf(k)
		if !ok || x.volatile {
			out = append(out, k)
			continue
		}
		i, known := at[x.digest]
		if !known {
			at[x.digest] = len(out)
			out = append(out, k)
			continue
		}
		_, before, _ := memberOf(out[i])
		out[i] = newNode(opIn, "", src, append([]*node{x}, append(before[:len(before):len(before)], of...)...)...)
		if len(out[i].kids) == 2 {
			out[i] = strict(src, x, out[i].kids[1])
		}
	}
	if out = once(out); len(out) == 1 {
		return out[0]
	}
	return newNode(opOr, "", src, out...)
}
