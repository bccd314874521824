package diff

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// sugar has the aggregations of a column that are the same function over the rows
// of its table.
var sugar = map[string]string{"SUMX": "SUM", "MINX": "MIN", "MAXX": "MAX", "AVERAGEX": "AVERAGE"}

// toDate has the functions that are CALCULATE over the dates so far.
var toDate = map[string]string{"TOTALYTD": "DATESYTD", "TOTALQTD": "DATESQTD", "TOTALMTD": "DATESMTD"}

// blankAtEnd has the functions that give a blank where their last argument is left
// out, with how many arguments they have with it; 0 for an even number.
var blankAtEnd = map[string]int{"IF": 3, "DIVIDE": 3, "SELECTEDVALUE": 2, "SWITCH": 0}

func (r *reader) call(x *dax.Call, c context) *node {
	name := knowledge.Fold(x.Func)
	f, ok := dax.LookupFunction(name)
	if b := r.res; b != nil && b.Calls[x].Model != nil {
		f, ok = nil, false
	}
	if !ok {
		// Nobody knows in which context it evaluates its arguments.
		kids := make([]*node, len(x.Args))
		for i, a := range x.Args {
			kids[i] = r.expr(a, c.inner())
		}
		return newNode(opCall, "user "+name, x, kids...)
	}
	switch f.Name {
	case "TRUE", "FALSE":
		if len(x.Args) == 0 {
			return newNode(opBool, strings.ToLower(f.Name), x)
		}
	case "BLANK":
		if len(x.Args) == 0 {
			return newNode(opBlank, "", x)
		}
	case "AND", "OR":
		if len(x.Args) == 2 {
			return operator(map[string]string{"AND": "&&", "OR": "||"}[f.Name], x, r.exprs(x.Args, c))
		}
	case "NOT":
		if len(x.Args) == 1 {
			return not(r.expr(x.Args[0], c), x)
		}
	case "CONTAINSROW":
		if len(x.Args) == 2 {
			return in(x, r.expr(x.Args[1], c), r.expr(x.Args[0], c))
		}
	case "CALCULATE", "CALCULATETABLE":
		if len(x.Args) > 0 {
			return r.calculate(f.Name, x, c)
		}
	case "TOTALYTD", "TOTALQTD", "TOTALMTD":
		if len(x.Args) == 2 {
			dates := newNode(opCall, toDate[f.Name], x.Args[1], r.expr(x.Args[1], c.inner()))
			dates.show = oneLine(dax.Fn(toDate[f.Name], x.Args[1]))
			return newNode(opCalculate, "CALCULATE", x, r.expr(x.Args[0], c.inner()), dates)
		}
	case "FILTER":
		if len(x.Args) == 2 {
			return filter(x, r.expr(x.Args[0], c), r.expr(x.Args[1], c.inner()))
		}
	}

	kids := make([]*node, len(x.Args))
	for i, a := range x.Args {
		kids[i] = r.expr(a, r.argument(f, i, c))
	}
	if n, ok := blankAtEnd[f.Name]; ok && len(kids) > 0 && kids[len(kids)-1].op == opBlank &&
		(len(kids) == n || n == 0 && len(kids) > 2 && len(kids)%2 == 0) {
		kids = kids[:len(kids)-1]
	}
	if plain, ok := sugar[f.Name]; ok && len(kids) == 2 && kids[0].op == opTable && kids[1].op == opColumn &&
		knowledge.Fold(kids[1].home) == kids[0].name {
		return newNode(opCall, plain, x, kids[1])
	}
	if (f.Name == "MIN" || f.Name == "MAX" || f.Name == "USERELATIONSHIP") && len(kids) == 2 {
		return newNode(op(f.Name), "", x, kids...)
	}
	n := newNode(opCall, f.Name, x, kids...)
	switch {
	case f.Name == "RAND" || f.Name == "RANDBETWEEN":
		n.volatile = true
	case f.Kind != dax.ScalarFunction || strings.ContainsAny(f.Letters(), "ctfrxomCTRX") || f.Reads != dax.ReadsArguments:
		n.simple = false
	}
	return n
}

// argument is the context that argument i of a function is evaluated in: the
// context of the call where that is known to be so, and another one elsewhere.
func (r *reader) argument(f *dax.Function, i int, c context) context {
	switch f.Kind {
	case dax.ScalarFunction, dax.TableFunction, dax.EitherFunction:
		if f.Name == "RELATEDTABLE" || f.Name == "ALLCROSSFILTERED" || strings.Contains(f.Letters(), "f") {
			break
		}
		switch f.Arg(i) | 0x20 {
		case 's', 't':
			return c
		}
	}
	return c.inner()
}

// filter is FILTER ( table, condition ). Conditions one after the other are one
// set of them.
func filter(src dax.Node, table, condition *node) *node {
	kids := []*node{table}
	if table.op == opFilter {
		kids = table.kids
	}
	return newNode(opFilter, "", src, append(kids[:len(kids):len(kids)], flat(opAnd, conditions(condition)...)...)...)
}

// conditions are the parts of a condition that must all hold.
func conditions(n *node) []*node {
	if n.op == opAnd {
		return n.kids
	}
	return []*node{n}
}

// calculate reads CALCULATE ( x, filters ).
func (r *reader) calculate(name string, x *dax.Call, c context) *node {
	if len(x.Args) == 1 && name == "CALCULATE" && !c.row {
		return r.expr(x.Args[0], c) // there is no row to turn into a filter
	}
	inner := r.expr(x.Args[0], c.inner())
	if len(x.Args) == 1 && name == "CALCULATE" && inner.op == opMeasure {
		return inner // a measure has a CALCULATE around it anyway
	}
	kids := []*node{inner}
	for _, a := range x.Args[1:] {
		kids = append(kids, r.filterArgument(a, c)...)
	}
	n := newNode(opCalculate, name, x, kids...)
	n.row = c.row
	return n
}

// asFilter has the functions whose tables filter the same, whether they stand in
// CALCULATE or come in a variable. Others, as ALL, mean something else there.
var asFilter = map[string]bool{
	"VALUES": true, "DISTINCT": true, "TREATAS": true, "DATEADD": true, "DATESBETWEEN": true, "DATESINPERIOD": true,
	"DATESMTD": true, "DATESQTD": true, "DATESYTD": true, "PARALLELPERIOD": true, "SAMEPERIODLASTYEAR": true,
	"PREVIOUSDAY": true, "PREVIOUSMONTH": true, "PREVIOUSQUARTER": true, "PREVIOUSYEAR": true,
	"NEXTDAY": true, "NEXTMONTH": true, "NEXTQUARTER": true, "NEXTYEAR": true, "TOPN": true,
}

// filterArgument reads a filter of CALCULATE, which can be several in one.
func (r *reader) filterArgument(a dax.Expr, c context) []*node {
	for {
		p, ok := a.(*dax.Paren)
		if !ok {
			break
		}
		a = p.X
	}
	switch x := a.(type) {
	case *dax.Name:
		v, ok := r.variable(x)
		if !ok {
			return []*node{r.expr(x, c)}
		}
		n := r.name(x, c)
		if n != v.value || n.op == opCall && asFilter[n.name] {
			return []*node{n}
		}
		if n.op == opFilter {
			return asWhere(n)
		}
		return []*node{newNode(opVar, "0", x, v.value)}
	case *dax.Call:
		f, ok := dax.LookupFunction(x.Func)
		if !ok || r.res != nil && r.res.Calls[x].Model != nil {
			return []*node{r.expr(x, c)}
		}
		switch f.Name {
		case "ALL", "REMOVEFILTERS":
			if len(x.Args) == 0 {
				return []*node{newNode(opAll, "", x)}
			}
			var out []*node
			for _, a := range x.Args {
				n := newNode(opAll, "", x, r.expr(a, c.inner()))
				n.show = oneLine(dax.Fn("ALL", a))
				out = append(out, n)
			}
			return out
		case "KEEPFILTERS":
			if len(x.Args) == 1 && short(x.Args[0]) {
				var out []*node
				for _, n := range r.filterArgument(x.Args[0], c) {
					k := newNode(opCall, "KEEPFILTERS", x, n)
					k.show = "KEEPFILTERS( " + n.text() + " )"
					out = append(out, k)
				}
				return out
			}
		case "FILTER":
			if n := r.expr(x, c); n.op == opFilter {
				return asWhere(n)
			}
		case "AND", "OR", "NOT", "TRUE", "FALSE":
			return where(r.expr(x, c.inner()))
		}
		if f.Kind == dax.ScalarFunction {
			return where(r.expr(x, c.inner()))
		}
		return []*node{r.expr(x, c)}
	case *dax.Unary, *dax.Binary, *dax.Bool:
		return where(r.expr(x, c.inner()))
	}
	return []*node{r.expr(a, c)}
}

// short tells whether a filter can be a condition or its long form. In KEEPFILTERS
// another one is a table, ALL too.
func short(a dax.Expr) bool {
	switch x := a.(type) {
	case *dax.Paren:
		return short(x.X)
	case *dax.Unary, *dax.Binary:
		return true
	case *dax.Call:
		f, ok := dax.LookupFunction(x.Func)
		return ok && (f.Kind == dax.ScalarFunction || f.Name == "FILTER")
	}
	return false
}

// asWhere turns FILTER ( ALL ( T[c] ), T[c] = 1 ) into the condition T[c] = 1,
// which is its short form.
func asWhere(n *node) []*node {
	all := n.kids[0]
	if !all.is("ALL") || len(all.kids) == 0 {
		return []*node{n}
	}
	columns := map[refKey]bool{}
	for _, k := range all.kids {
		if k.op != opColumn {
			return []*node{n}
		}
		columns[k.ref()] = true
	}
	used := map[refKey]bool{}
	for _, k := range n.kids[1:] {
		if !k.simple {
			return []*node{n}
		}
		k.references(used, map[*node]bool{})
	}
	if len(used) != len(columns) {
		return []*node{n}
	}
	for ref := range columns {
		if !used[ref] {
			return []*node{n}
		}
	}
	condition := n.kids[1]
	if len(n.kids) > 2 {
		condition = newNode(opAnd, "", n.src, n.kids[1:]...)
	}
	return where(condition)
}

// where is a condition as a filter of CALCULATE. Conditions on one column are a
// filter each; of several columns together they are not, as a filter keeps the
// combinations that exist.
func where(condition *node) []*node {
	parts := conditions(condition)
	columns := map[refKey]bool{}
	split := true
	for _, k := range parts {
		split = split && k.simple
		k.references(columns, map[*node]bool{})
	}
	if !split || len(columns) != 1 {
		parts = []*node{condition}
	}
	var out []*node
	for _, k := range parts {
		out = append(out, newNode(opWhere, "", k.src, k))
	}
	return out
}
