package archtest_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// ownConnections are the packages that may reach out by themselves, each with its
// reason. Libraries that are given an address (pgx, the Cerbos client) dial in
// their own code, which this test does not look at.
var ownConnections = map[string]string{
	"internal/fetch":      "it is the guarded fetcher",
	"server/cli/account":  "the command line calls its own deployment",
	"server/demo/control": "it reaches the Unix socket of a demo on this machine",
}

// FETCH-01
func TestRequestsLeaveThroughFetch(t *testing.T) {
	holds(t, "http", func(t tree) []finding {
		var out []finding
		for _, p := range t.packages {
			below, _ := t.below(p.PkgPath)
			if ownConnections[below] != "" || forTests(below) {
				continue
			}
			inspect(p, func(n ast.Node, _ []ast.Node) {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if o := p.TypesInfo.Uses[n.Sel]; o != nil && o.Pkg() != nil && reachesOut(o) {
						out = append(out, t.find(p, n.Pos(), "%s.%s reaches out past internal/fetch", o.Pkg().Path(), o.Name()))
					}
				case *ast.CompositeLit:
					if name, is := client(p.TypesInfo.TypeOf(n)); is {
						out = append(out, t.find(p, n.Pos(), "an %s is made here, past internal/fetch", name))
					}
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 {
						if name, is := client(p.TypesInfo.TypeOf(n.Args[0])); is {
							out = append(out, t.find(p, n.Pos(), "an %s is made here, past internal/fetch", name))
						}
					}
				case *ast.ValueSpec:
					if name, is := client(p.TypesInfo.TypeOf(n.Type)); n.Type != nil && is {
						out = append(out, t.find(p, n.Pos(), "an %s is made here, past internal/fetch", name))
					}
				case *ast.Field:
					if name, is := client(p.TypesInfo.TypeOf(n.Type)); is {
						out = append(out, t.find(p, n.Pos(), "an %s is made here, past internal/fetch", name))
					}
				}
			})
		}
		return out
	})
}

// client reports whether a value of type t is an HTTP client, and not a pointer
// to one that was made elsewhere.
func client(t types.Type) (string, bool) {
	if t == nil {
		return "", false
	}
	if _, pointer := types.Unalias(t).(*types.Pointer); pointer {
		return "", false
	}
	for _, c := range [][2]string{{"net/http", "Client"}, {"net/http", "Transport"}, {"net", "Dialer"}, {"crypto/tls", "Dialer"}} {
		if named(t, c[0], c[1]) {
			return c[0] + "." + c[1], true
		}
	}
	return "", false
}

func reachesOut(o types.Object) bool {
	if o.Parent() != o.Pkg().Scope() {
		return false // a field or method: of a client that somebody made, where it is found
	}
	switch o.Pkg().Path() {
	case "net/http":
		return slices.Contains([]string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}, o.Name())
	case "net":
		return strings.HasPrefix(o.Name(), "Dial") && o.Name() != "Dialer"
	case "crypto/tls":
		return strings.HasPrefix(o.Name(), "Dial") && o.Name() != "Dialer"
	}
	return false
}
