package archtest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/pbmb/pbmb"

// A tree is what a check looks at: the project, or a fixture that is laid out
// like it.
type tree struct {
	root     string // import path of the top folder
	packages []*packages.Package
}

// project is loaded once for all checks.
var project = sync.OnceValues(func() (tree, error) { return load(module, "./...", "../..") })

func load(root, pattern, dir string) (tree, error) {
	found, err := packages.Load(&packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedImports | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
	}, pattern)
	if err != nil {
		return tree{}, err
	}
	if len(found) == 0 {
		return tree{}, fmt.Errorf("no packages in %s", pattern)
	}
	for _, p := range found {
		for _, e := range p.Errors {
			return tree{}, fmt.Errorf("loading %s: %w", p.PkgPath, e)
		}
	}
	return tree{root: root, packages: found}, nil
}

// below is the path of a package below the tree's root, and whether it is there.
func (t tree) below(path string) (string, bool) {
	if path == t.root {
		return ".", true
	}
	return strings.CutPrefix(path, t.root+"/")
}

// A finding is a place that breaks a rule.
type finding struct {
	at   token.Position
	what string
}

func (t tree) find(p *packages.Package, pos token.Pos, format string, args ...any) finding {
	return finding{p.Fset.Position(pos), fmt.Sprintf(format, args...)}
}

// A check returns what breaks a rule.
type check func(tree) []finding

// holds runs c over the project, which must keep the rule, and over its fixtures
// in testdata: ok keeps it, and in broken every line that breaks it says so in a
// comment: // want "part of the finding".
func holds(t *testing.T, fixture string, c check) {
	t.Helper()
	t.Run("project", func(t *testing.T) {
		whole, err := project()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c(whole) {
			t.Errorf("%s: %s", f.at, f.what)
		}
	})
	for _, kind := range []string{"ok", "broken"} {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join("testdata", fixture, kind)
			part, err := load(module+"/internal/archtest/"+filepath.ToSlash(dir), "./...", dir)
			if err != nil {
				t.Fatal(err)
			}
			wanted := wants(t, part)
			if kind == "broken" && len(wanted) == 0 {
				t.Fatal("the fixture breaks nothing")
			}
			for _, f := range c(part) {
				place := fmt.Sprintf("%s:%d", f.at.Filename, f.at.Line)
				i := slices.IndexFunc(wanted[place], func(want string) bool { return strings.Contains(f.what, want) })
				if i < 0 {
					t.Errorf("%s: unexpected: %s", f.at, f.what)
					continue
				}
				wanted[place] = slices.Delete(wanted[place], i, i+1)
			}
			for place, rest := range wanted {
				for _, want := range rest {
					t.Errorf("%s: not found: %s", place, want)
				}
			}
		})
	}
}

var wantComment = regexp.MustCompile(`// want((?: "[^"]+")+)`)

func wants(t *testing.T, part tree) map[string][]string {
	t.Helper()
	wanted := map[string][]string{}
	for _, p := range part.packages {
		for _, file := range p.Syntax {
			for _, group := range file.Comments {
				for _, c := range group.List {
					m := wantComment.FindStringSubmatch(c.Text)
					if m == nil {
						continue
					}
					at := p.Fset.Position(c.Pos())
					place := fmt.Sprintf("%s:%d", at.Filename, at.Line)
					for part := range strings.SplitSeq(strings.TrimSpace(m[1]), `" "`) {
						wanted[place] = append(wanted[place], strings.Trim(part, `"`))
					}
				}
			}
		}
	}
	return wanted
}

// inspect walks every file of p with the stack of nodes above each.
func inspect(p *packages.Package, visit func(n ast.Node, above []ast.Node)) {
	for _, file := range p.Syntax {
		var above []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			visit(n, above)
			above = append(above, n)
			return true
		})
	}
}

// enclosing is the function declaration around a node, as "Name" or "Type.Name".
func enclosing(above []ast.Node) string {
	for _, n := range above {
		if f, ok := n.(*ast.FuncDecl); ok {
			if f.Recv == nil {
				return f.Name.Name
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			switch generic := of.(type) {
			case *ast.IndexExpr:
				of = generic.X
			case *ast.IndexListExpr:
				of = generic.X
			}
			if name, ok := of.(*ast.Ident); ok {
				return name.Name + "." + f.Name.Name
			}
		}
	}
	return ""
}

// named reports whether t, or what it points to, is path.name.
func named(t types.Type, path, name string) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path && n.Obj().Name() == name
}

// forTests reports whether a package exists for tests alone: its name ends with
// test. TestHelpersStayInTests sees to it that nothing else imports one.
func forTests(path string) bool { return strings.HasSuffix(path, "test") }
