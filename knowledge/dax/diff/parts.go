package diff

import (
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// calculate compares two nodes of which at least one is a CALCULATE.
func (c *comparer) calculate(a, b *node) {
	if a.op == b.op && a.name != b.name {
		c.differ(a, b)
		return
	}
	innerA, filtersA := calculated(a)
	innerB, filtersB := calculated(b)
	c.filters(filtersA, filtersB)
	if transits(a, innerA, innerB) || transits(b, innerB, innerA) {
		name := c.nameA
		if a.op != opCalculate {
			name = c.nameB
		}
		c.add(Different, a, b, "Only %s turns the current row into a filter, by the CALCULATE around it.", name)
	}
	c.walk(innerA, innerB)
}

func calculated(n *node) (inner *node, filters []*node) {
	if n.op == opCalculate {
		return n.kids[0], n.kids[1:]
	}
	return n, nil
}

// transits tells whether a CALCULATE that one side alone has turns the row context
// into filters: a measure does so anyway.
func transits(n, inner, other *node) bool {
	return n.op == opCalculate && n.row && other.op != opCalculate && other.op != opMeasure && inner.op != opMeasure
}

// filters compares the filters of two CALCULATE, or the conditions of two FILTER.
func (c *comparer) filters(as, bs []*node) {
	as, bs = rest(as, bs)
	as, bs = c.match(as, bs, func(a, b *node) bool { return a.shape == b.shape && c.renames(a, b) })
	// What filters the same columns is one filter that was changed.
	as, bs = pairUp(as, bs, sameColumns, func(a, b *node) {
		c.add(Filters, a, b, "The filter is %s in %s and %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
	})
	for _, a := range as {
		c.only(Filters, a, nil, filters(a))
	}
	for _, b := range bs {
		c.only(Filters, nil, b, filters(b))
	}
}

// filters says what a filter does.
func filters(n *node) string {
	switch {
	case n.op == opAll && len(n.kids) == 0:
		return "clears all filters"
	case n.op == opAll:
		return "clears the filters on " + n.kids[0].text()
	case n.op == opJoin:
		return "follows another relationship: " + n.text()
	case n.is("CROSSFILTER"):
		return "changes how a relationship filters: " + n.text()
	case n.op == opWhere || n.op == opFilter || n.op.truth():
		return "filters on " + n.text()
	}
	return "filters by " + n.text()
}

// sameColumns tells whether two filters of one sort are on the same columns.
func sameColumns(a, b *node) bool {
	if (a.op == opAll) != (b.op == opAll) || (a.op == opJoin) != (b.op == opJoin) {
		return false
	}
	inA, inB := map[refKey]bool{}, map[refKey]bool{}
	a.references(inA, map[*node]bool{})
	b.references(inB, map[*node]bool{})
	for _, in := range []map[refKey]bool{inA, inB} {
		for ref := range in {
			if ref.op == opTable {
				delete(in, ref) // FILTER ( T, T[c] = 1 ) is on the column of T[c] = 1
			}
		}
	}
	if len(inA) != len(inB) || len(inA) == 0 {
		return false
	}
	for ref := range inA {
		if !inB[ref] {
			return false
		}
	}
	return true
}

// filter compares two tables of which at least one is a FILTER.
func (c *comparer) filter(a, b *node) {
	tableA, conditionsA := filtered(a)
	tableB, conditionsB := filtered(b)
	c.filters(conditionsA, conditionsB)
	c.walk(tableA, tableB)
}

func filtered(n *node) (table *node, conditions []*node) {
	if n.op == opFilter {
		return n.kids[0], n.kids[1:]
	}
	return n, nil
}

// aggregations have the plain form of each aggregation and the one over an
// expression, where there is one.
var aggregations = func() map[string]string {
	of := map[string]string{}
	for _, name := range strings.Fields("SUM AVERAGE MIN MAX COUNT COUNTA MEDIAN PRODUCT GEOMEAN") {
		of[name], of[name+"X"] = name, name
	}
	of["COUNTAX"] = "COUNTA"
	for _, name := range strings.Fields("STDEV.P STDEV.S VAR.P VAR.S PERCENTILE.EXC PERCENTILE.INC") {
		of[name] = name
		before, after, _ := strings.Cut(name, ".")
		of[before+"X."+after] = name
	}
	for _, name := range strings.Fields("COUNTROWS COUNTBLANK DISTINCTCOUNT DISTINCTCOUNTNOBLANK APPROXIMATEDISTINCTCOUNT AVERAGEA MAXA MINA") {
		of[name] = name
	}
	return of
}()

// aggregate reads an aggregation: what it does, over which rows, and of what. A
// column is an expression over the rows of its table.
func aggregate(n *node) (does string, rows, of *node, more []*node, ok bool) {
	if n.op != opCall {
		return "", nil, nil, nil, false
	}
	does, ok = aggregations[n.name]
	switch {
	case !ok || len(n.kids) == 0:
		return "", nil, nil, nil, false
	case n.name == "COUNTROWS":
		return does, n.kids[0], nil, nil, true
	case n.name != does && len(n.kids) >= 2:
		return does, n.kids[0], n.kids[1], n.kids[2:], true
	case n.kids[0].op == opColumn:
		column := n.kids[0]
		table := newNode(opTable, strings.SplitN(column.name, "\x00", 2)[0], column.src)
		table.home = column.home
		return does, table, column, n.kids[1:], true
	}
	return does, nil, n.kids[0], n.kids[1:], true
}

// aggregation compares two aggregations of something alike.
func (c *comparer) aggregation(a, b *node) bool {
	doesA, rowsA, ofA, moreA, okA := aggregate(a)
	doesB, rowsB, ofB, moreB, okB := aggregate(b)
	if !okA || !okB || len(moreA) != len(moreB) || (rowsA == nil) != (rowsB == nil) {
		return false
	}
	sameOf := (ofA == nil) == (ofB == nil)
	if a.name == b.name && (ofA != nil && ofA.op == opColumn && ofB.op == opColumn) {
		return false // their columns say it all
	}
	if doesA != doesB {
		// Over another table it is another thing altogether.
		if rowsA != nil && !sameOf && rowsA.digest != rowsB.digest {
			return false
		}
		c.add(Aggregation, a, b, "The aggregation is %s in %s and %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
	}
	if sameOf && ofA != nil {
		c.walk(ofA, ofB)
	}
	// The tables of two columns show in the columns.
	if rowsA != nil && !(sameOf && ofA != nil && ofA.op == opColumn && ofB.op == opColumn && rowsA.op == opTable && rowsB.op == opTable) {
		c.walk(rowsA, rowsB)
	}
	for i := range moreA {
		c.walk(moreA[i], moreB[i])
	}
	return true
}

// division compares DIVIDE with /, which differ where the denominator is zero.
func (c *comparer) division(a, b *node) bool {
	safeA, safeB := a.is("DIVIDE") && len(a.kids) >= 2, b.is("DIVIDE") && len(b.kids) >= 2
	if !(safeA && b.op == opOver || safeB && a.op == opOver) {
		return false
	}
	safe, plain, call := c.nameA, c.nameB, a
	if safeB {
		safe, plain, call = c.nameB, c.nameA, b
	}
	gives := "blank"
	if len(call.kids) > 2 {
		gives = call.kids[2].text()
	}
	c.add(Wrapper, a, b, "For a denominator of zero DIVIDE in %s gives %s, while / in %s gives infinity or no number.", safe, gives, plain)
	c.walk(a.kids[0], b.kids[0])
	c.walk(a.kids[1], b.kids[1])
	return true
}

// operators compares two operators over the same operands.
func (c *comparer) operators(a, b *node) bool {
	if !twoSided(a) || !twoSided(b) {
		return false
	}
	straight := a.kids[0].digest == b.kids[0].digest && a.kids[1].digest == b.kids[1].digest
	crossed := a.kids[0].digest == b.kids[1].digest && a.kids[1].digest == b.kids[0].digest
	switch {
	case !straight && !crossed:
		return false
	case a.op == b.op && !comparison(a):
		c.add(Different, a, b, "It is %s in %s and the other way round in %s.", a.text(), c.nameA, c.nameB)
	case a.op == opEqual && b.op == opStrict || a.op == opStrict && b.op == opEqual:
		c.add(Different, a, b, "It compares with %s in %s and with %s in %s: = takes a blank for zero and for an empty text, == and IN do not.",
			sign(a), c.nameA, sign(b), c.nameB)
	case comparison(a) && comparison(b):
		c.add(Different, a, b, "The comparison is %s in %s and %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
	default:
		c.differ(a, b)
	}
	return true
}

func twoSided(n *node) bool {
	switch n.op {
	case opAnd, opOr, opEqual, opStrict, opUnlike, opLess, opAtMost, opSum, opTimes, opMinus, opOver, opPower:
		return len(n.kids) == 2
	}
	return false
}

func comparison(n *node) bool {
	switch n.op {
	case opEqual, opStrict, opUnlike, opLess, opAtMost:
		return true
	}
	return false
}

// sign is the operator as it is written.
func sign(n *node) string {
	if x, ok := n.src.(*dax.Binary); ok {
		return x.Op
	}
	return string(n.op)
}

// wrapper compares something with the same inside a function or an operator.
func (c *comparer) wrapper(a, b *node) bool {
	if i := c.holds(a, b, true); i >= 0 {
		c.wrapped(a, nil, i, c.nameA)
		c.walk(a.kids[i], b)
		return true
	}
	if i := c.holds(b, a, false); i >= 0 {
		c.wrapped(nil, b, i, c.nameB)
		c.walk(a, b.kids[i])
		return true
	}
	return false
}

// holds gives the part of outer that is inner or is like it; -1 where there is
// none. The outer one is of the first side, or else of the second.
func (c *comparer) holds(outer, inner *node, first bool) int {
	switch outer.op {
	case opCall, opNot, opNeg, opPos, opAnd, opOr, opSum, opTimes, opMinus, opOver, opPower, opConcat:
	default:
		return -1
	}
	if outer.op == inner.op && outer.name == inner.name {
		return -1
	}
	exact := func(k *node) bool { return first && c.same(k, inner) || !first && c.same(inner, k) }
	if i := slices.IndexFunc(outer.kids, exact); i >= 0 {
		return i
	}
	if inner.op.reference() || inner.op.literal() {
		return -1
	}
	return slices.IndexFunc(outer.kids, func(k *node) bool { return k.shape == inner.shape })
}

// wrapped says what is around part i of a node that one side alone has.
func (c *comparer) wrapped(a, b *node, i int, name string) {
	n := a
	if n == nil {
		n = b
	}
	if _, unordered := n.op.unordered(); unordered {
		others := slices.Delete(slices.Clone(n.kids), i, i+1)
		if n == a {
			c.leftover(n, others, nil)
		} else {
			c.leftover(n, nil, others)
		}
		return
	}
	inner := n.kids[i].text()
	switch n.op {
	case opCall:
		if n.name == "IF" && i > 0 {
			c.add(Wrapper, a, b, "Only %s gives %s under the condition %s.", name, inner, n.kids[0].text())
			return
		}
		c.add(Wrapper, a, b, "Only %s puts %s into %s: %s.", name, inner, n.function(), n.text())
	case opNot, opNeg, opPos:
		c.add(Wrapper, a, b, "Only %s turns %s round: %s.", name, inner, n.text())
	case opMinus, opOver:
		if i == 0 {
			c.add(Different, a, b, "Only %s %s %s.", name, map[op]string{opMinus: "subtracts", opOver: "divides by"}[n.op], n.kids[1].text())
			return
		}
		fallthrough
	default:
		c.add(Different, a, b, "Only %s makes of %s: %s.", name, inner, n.text())
	}
}
