package archtest_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A reach is everything of the project that some code can come to: each function
// that it names, calls or hands on, with all that these name in turn.
//
// It finds too much rather than too little. To name a function is to reach it. A
// method of an interface is that method of every type of the project that has the
// interface. A variable, field or parameter that can hold a function is every
// value that is put into it anywhere. A type that is used has every method that a
// library could call through an interface of its own, or by reflection of its
// fields. Not followed is what reflection calls by name, which is reported.
type reach struct {
	tree
	info     map[*types.Package]*packages.Package
	decls    map[*types.Func]*ast.FuncDecl
	put      map[types.Object][]placed // what is put into a variable, field or parameter
	handed   map[string][]placed       // arguments of methods and of dynamic calls, by method or type, and place
	speaks   map[*types.Package]bool   // packages that ask a database themselves
	concrete []*types.Named            // every type of the project with methods
	foreign  map[string][]*types.Interface
	lambdas  map[types.Object]string // a function literal's parameter: the key of handed

	cut    func(*types.Var) bool // fields that are not followed
	seen   map[types.Object]link
	writes map[types.Object]link // functions with a statement of SQL that writes, or a call that may send one
	found  []finding             // what cannot be followed
	todo   []func()
}

// placed is an expression and where it stands.
type placed struct {
	expr ast.Expr
	in   *packages.Package
}

// A link is how something was come to.
type link struct {
	from types.Object // nil at a root
	in   *packages.Package
	pos  token.Pos

	// captured says that it stands in an expression that was put somewhere, so that
	// nobody is known to call the function around it, and its parameters may be
	// whatever anybody gave. In a function that is called, they are what the callers
	// name, who are followed themselves.
	captured bool
}

func newReach(t tree, cut func(*types.Var) bool) *reach {
	r := &reach{
		tree: t, cut: cut, info: map[*types.Package]*packages.Package{}, decls: map[*types.Func]*ast.FuncDecl{},
		put: map[types.Object][]placed{}, handed: map[string][]placed{}, foreign: map[string][]*types.Interface{},
		speaks: map[*types.Package]bool{}, lambdas: map[types.Object]string{}, seen: map[types.Object]link{}, writes: map[types.Object]link{},
	}
	outside := map[*types.Package]bool{}
	for _, p := range t.packages {
		if forTests(p.PkgPath) {
			continue
		}
		r.info[p.Types] = p
		r.index(p)
	}
	for _, p := range t.packages {
		for _, imported := range p.Types.Imports() {
			r.interfacesOf(imported, outside)
		}
	}
	return r
}

// interfacesOf keeps the interfaces of the libraries below p by each method's name.
func (r *reach) interfacesOf(p *types.Package, done map[*types.Package]bool) {
	if done[p] || r.info[p] != nil {
		return
	}
	done[p] = true
	for _, name := range p.Scope().Names() {
		if i, ok := p.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
			for m := range i.Methods() {
				r.foreign[m.Name()] = append(r.foreign[m.Name()], i)
			}
		}
	}
	for _, imported := range p.Imports() {
		r.interfacesOf(imported, done)
	}
}

// index notes what is declared in p and what is put where.
func (r *reach) index(p *packages.Package) {
	inspect(p, func(n ast.Node, _ []ast.Node) {
		switch n := n.(type) {
		case *ast.Ident:
			if f, ok := p.TypesInfo.Uses[n].(*types.Func); ok && (sends(f) || reads(f)) {
				r.speaks[p.Types] = true
			}
		case *ast.FuncDecl:
			if f, ok := p.TypesInfo.Defs[n.Name].(*types.Func); ok {
				r.decls[f] = n
			}
		case *ast.FuncLit:
			i := 0
			for _, field := range n.Type.Params.List {
				for _, name := range field.Names {
					if o := p.TypesInfo.Defs[name]; o != nil {
						r.lambdas[o] = dynamicKey(p.TypesInfo.TypeOf(n.Type), i)
					}
					i++
				}
				if len(field.Names) == 0 {
					i++
				}
			}
		case *ast.TypeSpec:
			if o := p.TypesInfo.Defs[n.Name]; o != nil {
				if named, ok := o.Type().(*types.Named); ok && !types.IsInterface(named) {
					r.concrete = append(r.concrete, named)
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				r.place(p, root(p, left), n.Rhs[min(i, len(n.Rhs)-1)])
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Values) > 0 {
					r.place(p, p.TypesInfo.Defs[name], n.Values[min(i, len(n.Values)-1)])
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if left != nil {
					r.place(p, root(p, left), n.X)
				}
			}
		case *ast.SendStmt:
			r.place(p, root(p, n.Chan), n.Value)
		case *ast.CompositeLit:
			r.indexLiteral(p, n)
		case *ast.CallExpr:
			r.indexCall(p, n)
		}
	})
}

func (r *reach) indexLiteral(p *packages.Package, n *ast.CompositeLit) {
	t := p.TypesInfo.TypeOf(n)
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return // the elements are named in the expression itself
	}
	for i, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				r.place(p, p.TypesInfo.Uses[key], pair.Value)
			}
		} else {
			r.place(p, s.Field(i), element)
		}
	}
}

func (r *reach) indexCall(p *packages.Package, n *ast.CallExpr) {
	called := p.TypesInfo.TypeOf(n.Fun)
	if called == nil {
		return
	}
	signature, ok := called.Underlying().(*types.Signature)
	if !ok || p.TypesInfo.Types[n.Fun].IsType() {
		return
	}
	f := staticCallee(p, n.Fun)
	for i, arg := range n.Args {
		at := min(i, signature.Params().Len()-1)
		if at < 0 {
			continue
		}
		switch {
		case f == nil:
			key := dynamicKey(called, at)
			r.handed[key] = append(r.handed[key], placed{arg, p})
		case f.Signature().Recv() != nil:
			key := methodKey(f.Name(), at)
			r.handed[key] = append(r.handed[key], placed{arg, p})
		default:
			r.place(p, f.Signature().Params().At(at), arg)
		}
	}
}

func methodKey(name string, at int) string { return name + "#" + string(rune('0'+at)) }

func dynamicKey(t types.Type, at int) string {
	s, ok := t.Underlying().(*types.Signature)
	if !ok || at >= s.Params().Len() {
		return ""
	}
	return "func " + s.Params().At(at).Type().String()
}

// place notes that e is put into o.
func (r *reach) place(p *packages.Package, o types.Object, e ast.Expr) {
	if v, ok := o.(*types.Var); ok {
		r.put[v.Origin()] = append(r.put[v.Origin()], placed{e, p})
	}
}

// staticCallee is the function that an expression names, or nil for a value that holds one.
func staticCallee(p *packages.Package, fun ast.Expr) *types.Func {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		f, _ := p.TypesInfo.Uses[fun].(*types.Func)
		return origin(f)
	case *ast.SelectorExpr:
		f, _ := p.TypesInfo.Uses[fun.Sel].(*types.Func)
		return origin(f)
	case *ast.IndexExpr:
		return staticCallee(p, fun.X)
	case *ast.IndexListExpr:
		return staticCallee(p, fun.X)
	}
	return nil
}

func origin(f *types.Func) *types.Func {
	if f == nil {
		return nil
	}
	return f.Origin()
}

// root is the variable or field that an assignable expression is or is part of.
func root(p *packages.Package, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o := p.TypesInfo.Defs[e]; o != nil {
			return o
		}
		return p.TypesInfo.Uses[e]
	case *ast.SelectorExpr:
		return p.TypesInfo.Uses[e.Sel]
	case *ast.IndexExpr:
		return root(p, e.X)
	case *ast.StarExpr:
		return root(p, e.X)
	}
	return nil
}

// from follows everything below a node that stands in p.
func (r *reach) from(p *packages.Package, n ast.Node) {
	r.walk(p, n, link{in: p})
	for len(r.todo) > 0 {
		next := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		next()
	}
}

func (r *reach) walk(p *packages.Package, n ast.Node, l link) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if o := p.TypesInfo.Uses[id]; o != nil {
				l.pos = id.Pos()
				r.use(o, l)
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String && writing.MatchString(constant.StringVal(v)) {
				l.pos = e.Pos()
				r.writes[l.from] = l
			}
			if asserted, ok := e.(*ast.TypeAssertExpr); ok && asserted.Type != nil && holdsFunction(p.TypesInfo.TypeOf(asserted.Type), nil) {
				r.found = append(r.found, r.find(p, e.Pos(), "a function out of an interface: nobody can tell which"))
			}
			if t := p.TypesInfo.TypeOf(e); t != nil && !p.TypesInfo.Types[e].IsType() {
				l.pos = e.Pos()
				r.useType(t, l)
			}
		}
		return true
	})
}

// writing is how a statement that changes something looks.
var writing = regexp.MustCompile(`(?is)\b(insert\s+into|delete\s+from|merge\s+into|truncate\s+\w+|update\s+[\w.]+\s+(as\s+)?\w*\s*set\b|alter\s+table|create\s+table|drop\s+\w+)`)

// use follows one thing that was named.
func (r *reach) use(o types.Object, l link) {
	if f, ok := o.(*types.Func); ok && sends(f) && l.from != nil {
		r.writes[l.from] = l
	}
	switch v := o.(type) {
	case *types.Func:
		o = v.Origin()
	case *types.Var:
		o = v.Origin()
	case *types.Const:
	default:
		return
	}
	if _, done := r.seen[o]; done {
		return
	}
	if v, ok := o.(*types.Var); ok && v.Kind() == types.ParamVar && !l.captured {
		return
	}
	r.seen[o] = l
	switch o := o.(type) {
	case *types.Func:
		if o.Pkg() != nil && o.Pkg().Path() == "reflect" && slices.Contains([]string{"Call", "CallSlice", "Method", "MethodByName", "MakeFunc"}, o.Name()) {
			r.found = append(r.found, r.find(l.in, l.pos, "reflection calls what nobody can tell"))
		}
		if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			r.implementations(o, recv.Type(), l)
		}
		if decl := r.decls[o]; decl != nil && decl.Body != nil {
			r.todo = append(r.todo, func() { r.walk(r.info[o.Pkg()], decl.Body, link{from: o, in: r.info[o.Pkg()]}) })
		}
	case *types.Var:
		if r.cut(o) || !o.IsField() && o.Parent() != nil && o.Pkg() != nil && o.Parent() != o.Pkg().Scope() && !holdsFunction(o.Type(), nil) ||
			o.IsField() && !holdsFunction(o.Type(), nil) {
			return
		}
		for _, e := range append(slices.Clone(r.put[o]), r.handed[r.lambdas[o]]...) {
			r.todo = append(r.todo, func() { r.walk(e.in, e.expr, link{from: o, in: e.in, captured: true}) })
		}
		if f, at := r.parameterOf(o); f != nil && f.Signature().Recv() != nil {
			for _, e := range r.handed[methodKey(f.Name(), at)] {
				r.todo = append(r.todo, func() { r.walk(e.in, e.expr, link{from: o, in: e.in, captured: true}) })
			}
		}
	}
}

// parameterOf is the declared function that o is a parameter of.
func (r *reach) parameterOf(o *types.Var) (*types.Func, int) {
	for f := range r.decls {
		if f.Pkg() != o.Pkg() || f.Scope() == nil || f.Scope() != o.Parent() {
			continue
		}
		for i := range f.Signature().Params().Len() {
			if f.Signature().Params().At(i) == o {
				return f, i
			}
		}
	}
	return nil, 0
}

// implementations follows the method m of an interface to every type of the
// project that has all of it.
func (r *reach) implementations(m *types.Func, of types.Type, l link) {
	i, _ := of.Underlying().(*types.Interface)
	for _, t := range r.concrete {
		generic := t.TypeParams().Len() > 0
		if !generic && !types.Implements(types.NewPointer(t), i) {
			continue
		}
		if found, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, m.Pkg(), m.Name()); found != nil {
			r.use(found, l)
		}
	}
}

// useType follows the methods of a type by which a library may call it.
func (r *reach) useType(t types.Type, l link) {
	switch u := types.Unalias(t).(type) {
	case *types.Pointer:
		r.useType(u.Elem(), l)
	case *types.Slice:
		r.useType(u.Elem(), l)
	case *types.Array:
		r.useType(u.Elem(), l)
	case *types.Map:
		r.useType(u.Elem(), l)
	case *types.Named:
		named := u.Origin()
		o := named.Obj()
		if r.info[o.Pkg()] == nil {
			return
		}
		if _, done := r.seen[o]; done {
			return
		}
		r.seen[o] = l
		if types.IsInterface(named) {
			return
		}
		for m := range named.Methods() {
			if r.calledByLibraries(named, m) {
				r.use(m, l)
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				r.useType(f.Type(), l)
			}
		}
	}
}

// byReflection are methods that libraries ask for without a named interface.
var byReflection = []string{"Error", "Unwrap", "Is", "As", "String", "LogValue", "Temporary", "Timeout"}

func (r *reach) calledByLibraries(t *types.Named, m *types.Func) bool {
	if slices.Contains(byReflection, m.Name()) {
		return true
	}
	for _, i := range r.foreign[m.Name()] {
		if t.TypeParams().Len() > 0 || types.Implements(types.NewPointer(t), i) {
			return true
		}
	}
	return false
}

// holdsFunction reports whether a value of type t is a function or has one in it
// that is not a field of a struct, which is looked at by itself.
func holdsFunction(t types.Type, above []types.Type) bool {
	if slices.Contains(above, t) {
		return false
	}
	above = append(above, t)
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Pointer:
		return holdsFunction(u.Elem(), above)
	case *types.Slice:
		return holdsFunction(u.Elem(), above)
	case *types.Array:
		return holdsFunction(u.Elem(), above)
	case *types.Map:
		return holdsFunction(u.Elem(), above)
	case *types.Chan:
		return holdsFunction(u.Elem(), above)
	}
	return false
}

// sends reports whether f is a method of a database, by any interface, by which
// statements that give no rows are sent; reads, whether it is one that gives rows.
func sends(f *types.Func) bool {
	return f.Signature().Recv() != nil && slices.Contains([]string{"Exec", "SendBatch", "CopyFrom"}, f.Name()) && ofPostgres(f)
}

func reads(f *types.Func) bool {
	return f.Signature().Recv() != nil && slices.Contains([]string{"Query", "QueryRow", "Begin", "BeginTx"}, f.Name()) && ofPostgres(f)
}

func ofPostgres(f *types.Func) bool {
	for result := range f.Signature().Results().Variables() {
		if strings.Contains(result.Type().String(), "github.com/jackc/pgx/") {
			return true
		}
	}
	return f.Name() == "CopyFrom"
}

// how says by which steps o was come to, the nearest first.
func (r *reach) how(o types.Object) string {
	var steps []string
	for l := r.seen[o]; l.from != nil && len(steps) < 12; l = r.seen[l.from] {
		steps = append(steps, symbol(l.from))
	}
	return strings.Join(steps, " < ")
}

// symbol is how the lists call an object: "Type.Method" or "Name".
func symbol(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil {
			t := recv.Type()
			if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if named, ok := types.Unalias(t).(*types.Named); ok {
				return named.Obj().Name() + "." + f.Name()
			}
		}
	}
	return o.Name()
}
