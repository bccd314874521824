package dax

import (
	"strconv"
	"strings"
)

// outline writes what a tree means, without places and parentheses: two trees
// with one outline are the same query or expression.
func outline(n Node) string {
	var o outliner
	o.node(n)
	return o.b.String()
}

type outliner struct{ b strings.Builder }

// open starts a node with its kind and texts; every text is in quotes, so that
// none can look like another node.
func (o *outliner) open(kind string, texts ...string) {
	o.b.WriteByte('(')
	o.b.WriteString(kind)
	for _, t := range texts {
		o.b.WriteByte(' ')
		o.b.WriteString(strconv.Quote(t))
	}
}

func (o *outliner) close() { o.b.WriteByte(')') }

func (o *outliner) all(list []Expr) {
	for _, x := range list {
		o.node(x)
	}
}

func (o *outliner) terms(list []OrderTerm) {
	for _, t := range list {
		o.open("term", strconv.FormatBool(t.Descending))
		o.node(t.Expr)
		o.close()
	}
}

func (o *outliner) node(n Node) {
	switch n := n.(type) {
	case *Paren:
		o.node(n.X)
		return
	case *Number:
		o.open("number", n.Text)
	case *Text:
		o.open("text", n.Value)
	case *Date:
		o.open("date", n.Value)
	case *Bool:
		o.open("bool", strconv.FormatBool(n.Value))
	case *Name:
		o.open("name", strconv.FormatBool(n.Quoted), n.Value)
	case *Ref:
		o.open("ref", strconv.FormatBool(n.HasTable), strconv.FormatBool(n.Quoted), n.Table, n.Name, n.Variation)
	case *Parameter:
		o.open("parameter", n.Name)
	case *Call:
		o.open("call", n.Func)
		o.all(n.Args)
	case *Unary:
		o.open("unary", n.Op)
		o.node(n.X)
	case *Binary:
		o.binary(n)
		return
	case *Tuple:
		o.open("tuple")
		o.all(n.Items)
	case *TableConstructor:
		o.open("table")
		o.all(n.Rows)
	case *Vars:
		o.open("vars")
		for i := range n.Vars {
			o.node(&n.Vars[i])
		}
		o.node(n.Return)
	case *VarDef:
		o.open("var", n.Name)
		o.node(n.Value)
	case *Query:
		o.open("query")
		for i := range n.Definitions {
			o.node(&n.Definitions[i])
		}
		for _, e := range n.Evaluates {
			o.node(e)
		}
	case *Evaluate:
		o.open("evaluate")
		o.node(n.Table)
		o.terms(n.OrderBy)
		o.all(n.StartAt)
	case *Definition:
		o.open("define", string(n.Kind), n.Table, n.Name)
		for i := range n.Params {
			o.node(&n.Params[i])
		}
		o.node(n.Value)
		if n.Shape != nil {
			o.node(n.Shape)
		}
	case *Param:
		o.open("param", n.Name, n.Type, n.Subtype, strconv.FormatBool(n.ByExpr))
		if n.Default != nil {
			o.node(n.Default)
		}
	case *VisualShape:
		o.open("shape", n.Densify)
		for _, a := range n.Axes {
			o.open("axis", a.Name)
			for _, g := range a.Groups {
				o.open("group")
				o.all(g.Columns)
				if g.Total != nil {
					o.open("total")
					o.node(g.Total)
					o.close()
				}
				o.close()
			}
			o.terms(a.OrderBy)
			o.close()
		}
	default:
		o.open("nothing") // an argument that is left out
	}
	o.close()
}

// binary writes a chain of operators without going deeper for each: from the
// left, an opening bracket for every operator and then their right sides.
func (o *outliner) binary(b *Binary) {
	var chain []*Binary
	var left Expr = b
	for {
		for {
			p, ok := left.(*Paren)
			if !ok {
				break
			}
			left = p.X
		}
		next, ok := left.(*Binary)
		if !ok {
			break
		}
		o.open("binary", next.Op)
		chain = append(chain, next)
		left = next.X
	}
	o.node(left)
	for i := len(chain) - 1; i >= 0; i-- {
		o.node(chain[i].Y)
		o.close()
	}
}
