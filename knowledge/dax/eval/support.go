package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// factTables gives tables such that, under filters on the columns, one of the
// expressions can only be other than blank where one of the tables has rows. All
// columns must be within reach of each. It gives nil where that is not certain,
// and then all combinations must be tried.
func (c *compiler) factTables(exprs []dax.Expr, cols []*modelColumn) []*table {
	var facts []*table
	for _, x := range exprs {
		t := c.support(x, cols, map[string]dax.Expr{}, 0)
		if t == nil {
			return nil
		}
		for _, col := range cols {
			if !t.reaches(col.table) {
				return nil
			}
		}
		if !slices.Contains(facts, t) {
			facts = append(facts, t)
		}
	}
	return facts
}

// maxSupport bounds how far measures are followed.
const maxSupport = 30

// support is the table without whose rows the expression is blank.
func (c *compiler) support(x dax.Expr, cols []*modelColumn, vars map[string]dax.Expr, depth int) *table {
	if depth > maxSupport {
		return nil
	}
	follow := func(x dax.Expr) *table { return c.support(x, cols, vars, depth+1) }
	switch x := x.(type) {
	case *dax.Paren:
		return follow(x.X)
	case *dax.Name:
		if v := vars[knowledge.Fold(x.Value)]; v != nil {
			return follow(v)
		}
	case *dax.Vars:
		inner := map[string]dax.Expr{}
		for name, v := range vars {
			inner[name] = v
		}
		for _, v := range x.Vars {
			inner[knowledge.Fold(v.Name)] = v.Value
		}
		return c.support(x.Return, cols, inner, depth+1)
	case *dax.Ref:
		if m := c.q.measure(x.Name); m != nil && m.expr != nil && len(c.q.e.calculationGroups) == 0 {
			return c.support(m.expr, cols, map[string]dax.Expr{}, depth+1)
		}
	case *dax.Unary:
		if x.Op != "NOT" {
			return follow(x.X)
		}
	case *dax.Binary:
		switch x.Op {
		case "*":
			if t := follow(x.X); t != nil {
				return t
			}
			return follow(x.Y)
		case "/":
			return follow(x.X)
		case "+", "-":
			if t := follow(x.X); t != nil && t == follow(x.Y) {
				return t
			}
		}
	case *dax.Call:
		return c.supportCall(x, cols, vars, depth)
	}
	return nil
}

func (c *compiler) supportCall(x *dax.Call, cols []*modelColumn, vars map[string]dax.Expr, depth int) *table {
	if d, _ := c.userFunction(x.Func); d != nil || len(x.Args) == 0 || x.Args[0] == nil {
		return nil
	}
	switch knowledge.Fold(x.Func) {
	case "sum", "average", "count", "counta", "distinctcount", "distinctcountnoblank", "product", "median", "countblank":
		return c.tableBehind(x.Args[0])
	case "min", "max":
		if len(x.Args) == 1 {
			return c.tableBehind(x.Args[0])
		}
	case "countrows", "sumx", "averagex", "minx", "maxx", "countx", "countax", "productx":
		return c.tableBehind(x.Args[0])
	case "divide":
		if len(x.Args) == 2 {
			return c.support(x.Args[0], cols, vars, depth+1)
		}
	case "round", "roundup", "rounddown":
		return c.support(x.Args[0], cols, vars, depth+1)
	case "if":
		if len(x.Args) == 2 {
			return c.support(x.Args[1], cols, vars, depth+1)
		}
	case "calculate":
		for _, arg := range x.Args[1:] {
			if !c.leavesGroups(arg, cols) {
				return nil
			}
		}
		return c.support(x.Args[0], cols, vars, depth+1)
	}
	return nil
}

// leavesGroups says whether a filter argument leaves the filters on the columns
// as they are.
func (c *compiler) leavesGroups(x dax.Expr, cols []*modelColumn) bool {
	switch x := x.(type) {
	case *dax.Paren:
		return c.leavesGroups(x.X, cols)
	case *dax.Call:
		return knowledge.Fold(x.Func) == "keepfilters"
	case *dax.Binary:
		leaves := true
		dax.Walk(x, func(n dax.Node) bool {
			switch n := n.(type) {
			case *dax.Call, *dax.Name:
				leaves = false
			case *dax.Ref:
				t := c.q.table(n.Table)
				if t == nil {
					leaves = false
					break
				}
				col := c.q.column(t, n.Name)
				leaves = leaves && col != nil && !slices.Contains(cols, col) && !col.isDateKey()
			}
			return leaves
		})
		return leaves
	}
	return false
}

// tableBehind is the table whose rows an argument is made of.
func (c *compiler) tableBehind(x dax.Expr) *table {
	switch x := x.(type) {
	case *dax.Paren:
		return c.tableBehind(x.X)
	case *dax.Name:
		return c.q.table(x.Value)
	case *dax.Ref:
		if x.HasTable {
			return c.q.table(x.Table)
		}
	case *dax.Call:
		switch knowledge.Fold(x.Func) {
		case "filter", "values", "distinct", "keepfilters", "addcolumns":
			if len(x.Args) > 0 {
				return c.tableBehind(x.Args[0])
			}
		}
	}
	return nil
}
