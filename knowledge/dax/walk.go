package dax

// Walk calls f for n and everything in it, from the outside in and in the order
// of the text. Where f returns false, what is inside that node is left out.
// Definitions, parameters and variables are visited as *[Definition], *[Param]
// and *[VarDef].
func Walk(n Node, f func(Node) bool) {
	if n == nil || !f(n) {
		return
	}
	exprs := func(list []Expr) {
		for _, x := range list {
			if x != nil {
				Walk(x, f)
			}
		}
	}
	one := func(x Expr) {
		if x != nil {
			Walk(x, f)
		}
	}
	terms := func(list []OrderTerm) {
		for _, t := range list {
			one(t.Expr)
		}
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
		one(n.Table)
		terms(n.OrderBy)
		exprs(n.StartAt)
	case *Definition:
		for i := range n.Params {
			Walk(&n.Params[i], f)
		}
		one(n.Value)
		if n.Shape != nil {
			Walk(n.Shape, f)
		}
	case *Param:
		one(n.Default)
	case *VisualShape:
		for _, a := range n.Axes {
			for _, g := range a.Groups {
				exprs(g.Columns)
				one(g.Total)
			}
			terms(a.OrderBy)
		}
	case *Call:
		exprs(n.Args)
	case *Unary:
		one(n.X)
	case *Binary:
		one(n.X)
		one(n.Y)
	case *Paren:
		one(n.X)
	case *Tuple:
		exprs(n.Items)
	case *TableConstructor:
		exprs(n.Rows)
	case *Vars:
		for i := range n.Vars {
			Walk(&n.Vars[i], f)
		}
		one(n.Return)
	case *VarDef:
		one(n.Value)
	}
}
