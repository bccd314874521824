package pii

import (
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A RoleColumn is a column that a role of the model compares with who asks: its
// values are people's account names.
type RoleColumn struct {
	Table, Name string
	Role        string
}

// RoleColumns returns the columns of a model that its roles compare with
// USERNAME, USERPRINCIPALNAME or the like, each once. A filter that cannot be read
// adds none.
func RoleColumns(m *knowledge.Model) []RoleColumn {
	index := dax.NewNameIndex(m)
	var out []RoleColumn
	seen := map[columnKey]bool{}
	for _, role := range m.Roles {
		for _, t := range role.Tables {
			x, err := dax.ParseExpr(t.Filter)
			if err != nil {
				continue
			}
			res, err := index.ResolveExpr(x, t.Table, true)
			if err != nil && res == nil {
				continue
			}
			s := askerSearch{res: res, variables: map[string]bool{}}
			s.visit(x)
			for _, ref := range s.compared {
				for _, b := range res.Refs[ref] {
					key := columnKey{knowledge.Fold(b.Table), knowledge.Fold(b.Name)}
					if b.Kind == dax.BoundColumn && !seen[key] {
						seen[key] = true
						out = append(out, RoleColumn{b.Table, b.Name, role.Name})
					}
				}
			}
		}
	}
	return out
}

// askerSearch finds what an expression compares with who asks.
type askerSearch struct {
	res       *dax.Resolution
	variables map[string]bool // whose values are who asks, by folded name
	compared  []*dax.Ref
}

// visit tells whether the value of x is who asks, or a text made of it.
func (s *askerSearch) visit(x dax.Expr) bool {
	switch x := x.(type) {
	case *dax.Name:
		return s.variables[knowledge.Fold(x.Value)]
	case *dax.Paren:
		return s.visit(x.X)
	case *dax.Unary:
		s.visit(x.X)
	case *dax.Binary:
		left, right := s.visit(x.X), s.visit(x.Y)
		if x.Op == "&" {
			return left || right
		}
		if left {
			s.take(x.Y)
		}
		if right {
			s.take(x.X)
		}
	case *dax.Tuple:
		return s.all(x.Items)
	case *dax.TableConstructor:
		return s.all(x.Rows)
	case *dax.Vars:
		for i := range x.Vars {
			if s.visit(x.Vars[i].Value) {
				s.variables[knowledge.Fold(x.Vars[i].Name)] = true
			}
		}
		return s.visit(x.Return)
	case *dax.Call:
		return s.call(x)
	}
	return false
}

func (s *askerSearch) all(list []dax.Expr) bool {
	found := false
	for _, x := range list {
		found = s.visit(x) || found
	}
	return found
}

func (s *askerSearch) call(n *dax.Call) bool {
	b := s.res.Calls[n].Builtin
	if b == nil {
		s.all(n.Args)
		return false
	}
	if b.Reads == dax.ReadsIdentity {
		return true
	}
	asker := make([]bool, len(n.Args))
	for i, arg := range n.Args {
		if arg != nil {
			asker[i] = s.visit(arg)
		}
	}
	switch b.Name {
	case "LOOKUPVALUE", "CONTAINS", "CONTAINSROW":
		// A column, and after it the value that is sought in it.
		for i := 1; i < len(asker); i++ {
			if asker[i] && n.Args[i-1] != nil {
				s.take(n.Args[i-1])
			}
		}
	case "CONTAINSSTRING", "CONTAINSSTRINGEXACT", "SEARCH", "FIND", "PATHCONTAINS", "EXACT", "TREATAS":
		for i := range asker {
			if asker[i] {
				for j, arg := range n.Args {
					if j != i && arg != nil {
						s.take(arg)
					}
				}
			}
		}
	case "LOWER", "UPPER", "TRIM", "LEFT", "RIGHT", "MID", "SUBSTITUTE", "REPLACE", "CONCATENATE", "COALESCE", "IF", "PATHITEM":
		for _, is := range asker {
			if is {
				return true
			}
		}
	}
	return false
}

// take notes the columns that an operand is made of.
func (s *askerSearch) take(x dax.Expr) {
	dax.Walk(x, func(n dax.Node) bool {
		if ref, ok := n.(*dax.Ref); ok {
			s.compared = append(s.compared, ref)
		}
		return true
	})
}
