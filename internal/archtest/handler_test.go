package archtest_test

import (
	"go/ast"
	"go/types"
	"testing"
)

// handlers are the fields that hold an operation's handler, and where each may be
// read: a declaration loses its types in one place, and the guard runs it.
var handlers = map[[2]string][]string{
	{"Operation", "Handle"}: {"Operation.Def"},
	{"Def", "handle"}:       {"Operation.Def", "Guard.run"},
}

// TOOLS-02: a handler is run by the guard and by nobody else.
func TestOnlyTheGuardRunsHandlers(t *testing.T) {
	holds(t, "handler", func(t tree) []finding {
		operation := t.root + "/tools/operation"
		var out []finding
		seen := map[[2]string]bool{}
		for _, p := range t.packages {
			inspect(p, func(n ast.Node, above []ast.Node) {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return
				}
				field, ok := p.TypesInfo.Uses[selector.Sel].(*types.Var)
				if !ok || !field.IsField() || field.Pkg() == nil || field.Pkg().Path() != operation {
					return
				}
				for h, places := range handlers {
					if field.Name() != h[1] || !named(p.TypesInfo.TypeOf(selector.X), operation, h[0]) {
						continue
					}
					seen[h] = true
					in := enclosing(above)
					allowed := false
					for _, place := range places {
						allowed = allowed || p.PkgPath == operation && in == place
					}
					if !allowed {
						out = append(out, t.find(p, selector.Pos(), "%s.%s is a handler, and %s is not the guard", h[0], h[1], in))
					}
				}
			})
		}
		for h := range handlers {
			if !seen[h] {
				out = append(out, finding{what: h[0] + "." + h[1] + " is nowhere: this check looks at nothing"})
			}
		}
		return out
	})
}
