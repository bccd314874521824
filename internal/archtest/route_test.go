package archtest_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// listeners are the packages that may make a router or serve one, each with its
// reason. What people, clients and programs reach is behind server/web's gate.
var listeners = map[string]string{
	"server/web":     "it is the gate",
	"server/restapi": "its router is served behind the gate",
	"server/wire":    "it serves what the gate returned",
	"server/demo":    "it serves the sample tenant",
	"sync/sample":    "it is the sample tenant",
}

// NET-02, SIGNIN-05: there is one gate, and nothing is served beside it.
func TestNothingIsServedBesideTheGate(t *testing.T) {
	holds(t, "route", func(t tree) []finding {
		var out []finding
		for _, p := range t.packages {
			below, _ := t.below(p.PkgPath)
			if listeners[below] != "" || forTests(below) {
				continue
			}
			inspect(p, func(n ast.Node, _ []ast.Node) {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					o := p.TypesInfo.Uses[n.Sel]
					if o == nil || o.Pkg() == nil || o.Pkg().Path() != "net/http" || o.Parent() != o.Pkg().Scope() {
						return
					}
					if slices.Contains([]string{"NewServeMux", "DefaultServeMux", "Handle", "HandleFunc"}, o.Name()) ||
						strings.HasPrefix(o.Name(), "ListenAndServe") || o.Name() == "Serve" || o.Name() == "ServeTLS" {
						out = append(out, t.find(p, n.Pos(), "http.%s serves past the gate", o.Name()))
					}
				case *ast.CompositeLit:
					for _, name := range []string{"Server", "ServeMux"} {
						if named(p.TypesInfo.TypeOf(n), "net/http", name) {
							out = append(out, t.find(p, n.Pos(), "an http.%s is made here, past the gate", name))
						}
					}
				}
			})
		}
		return out
	})
}
