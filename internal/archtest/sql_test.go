package archtest_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// ownSQL are the packages that may put SQL together, each with its reason.
var ownSQL = map[string]string{
	"knowledge/visibility": "a policy's condition becomes SQL there, with values as arguments",
	"knowledge/search":     "ranked searches are put together there, with values as arguments",
	"internal/postgres":    "migrations are files, and roles and databases have names of their own",
}

// completes are the functions whose first result is SQL when their first text is.
var completes = []string{"knowledge/visibility.View.Statement"}

// AUTHZ-25: what is run as SQL is a constant text. A function may pass on a text
// that it was given; then its callers must give it a constant one.
func TestSQLIsConstant(t *testing.T) {
	holds(t, "sql", func(t tree) []finding {
		s := &sqlCheck{tree: t, takes: map[taker]bool{}}
		// Functions that pass a text on are found from the database upwards.
		for known := -1; known != len(s.takes); {
			known = len(s.takes)
			s.found = nil
			for _, p := range t.packages {
				below, _ := t.below(p.PkgPath)
				if ownSQL[below] == "" && !strings.HasPrefix(below, "internal/postgres/") && !forTests(below) {
					inspect(p, func(n ast.Node, above []ast.Node) {
						if call, ok := n.(*ast.CallExpr); ok {
							s.call(p, call, above)
						}
					})
				}
			}
		}
		return s.found
	})
}

type sqlCheck struct {
	tree  tree
	takes map[taker]bool
	found []finding
}

// A taker is a function and which of its arguments is SQL.
type taker struct {
	function string
	argument int
}

func (s *sqlCheck) call(p *packages.Package, call *ast.CallExpr, above []ast.Node) {
	f := callee(p, call)
	if f == nil {
		return
	}
	for i, arg := range call.Args {
		at, database := sqlArgument(f)
		takes := database && at == i || i == 0 && slices.Contains(completes, s.name(f)) || s.takes[taker{s.name(f), i}]
		if takes && !s.constant(p, arg, above) {
			s.found = append(s.found, s.tree.find(p, arg.Pos(), "the SQL given to %s is put together", f.Name()))
		}
	}
}

// constant reports whether e is a constant text, one that a function was given
// and passes on, or one that a view completed.
func (s *sqlCheck) constant(p *packages.Package, e ast.Expr, above []ast.Node, through ...*types.Var) bool {
	if p.TypesInfo.Types[e].Value != nil {
		return true
	}
	name, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := p.TypesInfo.Uses[name].(*types.Var)
	if !ok || slices.Contains(through, v) {
		return false
	}
	for _, n := range slices.Backward(above) {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		i, values := parameter(p, f, v), assigned(p, f, v)
		for _, value := range values {
			call, isCall := value.(*ast.CallExpr)
			completed := isCall && callee(p, call) != nil && slices.Contains(completes, s.name(callee(p, call)))
			if !completed && !s.constant(p, value, above, append(through, v)...) {
				return false
			}
		}
		if i >= 0 {
			s.takes[taker{s.name(p.TypesInfo.Defs[f.Name].(*types.Func)), i}] = true
		}
		return i >= 0 || len(values) > 0
	}
	return false
}

// assigned has everything that f gives to v: a value, or the call that gives
// several; nil where it is changed in another way.
func assigned(p *packages.Package, f *ast.FuncDecl, v *types.Var) []ast.Expr {
	var values []ast.Expr
	is := func(e ast.Expr) bool {
		name, ok := ast.Unparen(e).(*ast.Ident)
		return ok && (p.TypesInfo.Defs[name] == v || p.TypesInfo.Uses[name] == v)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				switch {
				case !is(left):
				case len(n.Rhs) == len(n.Lhs) && (n.Tok.String() == "=" || n.Tok.String() == ":="):
					values = append(values, n.Rhs[i])
				case len(n.Rhs) == 1 && i == 0 && n.Tok.String() != "+=":
					values = append(values, n.Rhs[0])
				default:
					values = append(values, &ast.BadExpr{})
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if p.TypesInfo.Defs[name] == v && i < len(n.Values) {
					values = append(values, n.Values[i])
				}
			}
		case *ast.UnaryExpr:
			if n.Op.String() == "&" && is(n.X) {
				values = append(values, &ast.BadExpr{})
			}
		case *ast.RangeStmt:
			if n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value) {
				values = append(values, &ast.BadExpr{})
			}
		}
		return true
	})
	return values
}

// parameter is the place of v among the parameters of f, or -1.
func parameter(p *packages.Package, f *ast.FuncDecl, v *types.Var) int {
	signature := p.TypesInfo.Defs[f.Name].(*types.Func).Signature()
	for i := range signature.Params().Len() {
		if signature.Params().At(i) == v {
			return i
		}
	}
	return -1
}

// sqlArgument is which argument of a database's method is SQL: the first text
// after the context. Every type with such a method counts, since the interfaces
// over connections, pools and transactions are many.
func sqlArgument(f *types.Func) (int, bool) {
	if f.Signature().Recv() == nil || !slices.Contains([]string{"Query", "QueryRow", "QueryContext", "QueryRowContext", "Exec", "ExecContext", "ExecParams", "Prepare", "Queue"}, f.Name()) {
		return 0, false
	}
	params := f.Signature().Params()
	for i := range params.Len() {
		if i > 1 {
			break
		}
		if basic, ok := params.At(i).Type().(*types.Basic); ok && basic.Kind() == types.String {
			last := params.At(params.Len() - 1).Type()
			_, list := last.Underlying().(*types.Slice)
			return i, f.Signature().Variadic() || list || f.Name() == "Prepare"
		}
	}
	return 0, false
}

func callee(p *packages.Package, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return nil
	}
	f, _ := p.TypesInfo.Uses[name].(*types.Func)
	if f != nil {
		f = f.Origin()
	}
	return f
}

// name is a function's package below the root and its name, with its receiver's.
func (s *sqlCheck) name(f *types.Func) string {
	if f.Pkg() == nil {
		return f.Name()
	}
	path, inside := s.tree.below(f.Pkg().Path())
	if !inside {
		path = f.Pkg().Path()
	}
	if recv := f.Signature().Recv(); recv != nil {
		t := recv.Type()
		if pointer, ok := t.(*types.Pointer); ok {
			t = pointer.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			return path + "." + n.Obj().Name() + "." + f.Name()
		}
	}
	return path + "." + f.Name()
}
