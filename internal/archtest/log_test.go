package archtest_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// NET-41: what answers requests logs errors through internal/unexpected alone.
func TestErrorsAreLoggedInOnePlace(t *testing.T) {
	holds(t, "log", func(t tree) []finding {
		failure := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
		var out []finding
		for _, p := range t.packages {
			below, _ := t.below(p.PkgPath)
			if !slices.Contains([]string{"server", "tools", "oauth", "knowledge"}, folder(below)) || forTests(below) {
				continue
			}
			inspect(p, func(n ast.Node, _ []ast.Node) {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return
				}
				selector, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return
				}
				method, ok := p.TypesInfo.Uses[selector.Sel].(*types.Func)
				if !ok || method.Pkg() == nil || method.Pkg().Path() != "log/slog" {
					return
				}
				if strings.HasPrefix(method.Name(), "Error") && folder(below) != "knowledge" {
					out = append(out, t.find(p, call.Pos(), "slog's %s is called past internal/unexpected", method.Name()))
					return
				}
				for _, argument := range call.Args {
					if at := p.TypesInfo.TypeOf(argument); at != nil && types.Implements(at, failure) {
						out = append(out, t.find(p, argument.Pos(), "an error is logged past internal/unexpected"))
					}
				}
			})
		}
		return out
	})
}
