package dax

// Walk calls f for n and everything in it, from the outside in and in the order
// of the text. Where f returns false, what is inside that node is left out.
// Definitions, parameters and variables are visited as *[Definition], *[Param]
// and *[VarDef].
func Walk(n Node, f func(Node) bool) {
	if n == nil {
		return
	}
	if b, ok := n.(*Binary); ok {
		walkChain(b, f)
		return
	}
	if !f(n) {
		return
	}
	switch n := n.(type) {
	case *Query:
		for i := range n.Definitions {
			Walk(&n.Definitions[i], f)
		}
		for _, e := range n.Evaluates {
			Walk(e, f)
		}
	case *Evaluate:
		walkExpr(n.Table, f)
		walkTerms(n.OrderBy, f)
		walkExprs(n.StartAt, f)
	case *Definition:
		for i := range n.Params {
			Walk(&n.Params[i], f)
		}
		walkExpr(n.Value, f)
		if n.Shape != nil {
			Walk(n.Shape, f)
		}
	case *Param:
		walkExpr(n.Default, f)
	case *VisualShape:
		for _, a := range n.Axes {
			for _, g := range a.Groups {
				walkExprs(g.Columns, f)
				walkExpr(g.Total, f)
			}
			walkTerms(a.OrderBy, f)
		}
	case *Call:
		walkExprs(n.Args, f)
	case *Unary:
		walkExpr(n.X, f)
	case *Paren:
		walkExpr(n.X, f)
	case *Tuple:
		walkExprs(n.Items, f)
	case *TableConstructor:
		walkExprs(n.Rows, f)
	case *Vars:
		for i := range n.Vars {
			Walk(&n.Vars[i], f)
		}
		walkExpr(n.Return, f)
	case *VarDef:
		walkExpr(n.Value, f)
	}
}

// walkChain goes down the left side of a chain of operators without recursion: a
// sum may have tens of thousands of terms.
func walkChain(b *Binary, f func(Node) bool) {
	var chain []*Binary
	var left Expr = b
	for {
		next, ok := left.(*Binary)
		if !ok {
			walkExpr(left, f)
			break
		}
		if !f(next) {
			break
		}
		chain = append(chain, next)
		left = next.X
	}
	for i := len(chain) - 1; i >= 0; i-- {
		walkExpr(chain[i].Y, f)
	}
}

// walkExpr walks x unless it is left out.
func walkExpr(x Expr, f func(Node) bool) {
	if x != nil {
		Walk(x, f)
	}
}

func walkExprs(list []Expr, f func(Node) bool) {
	for _, x := range list {
		walkExpr(x, f)
	}
}

func walkTerms(list []OrderTerm, f func(Node) bool) {
	for _, t := range list {
		walkExpr(t.Expr, f)
	}
}
