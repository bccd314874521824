package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// Compare says how two expressions differ. Compare ( b, a ) says the same with the
// sides the other way round. If only one of the two was read with an index, the
// other is taken without it too.
func Compare(a, b *Form) Comparison {
	if (a.side.Index == nil) != (b.side.Index == nil) {
		a, b = a.withoutIndex(), b.withoutIndex()
	}
	c := &comparer{
		a: a, b: b, nameA: a.sideName("the first"), nameB: b.sideName("the second"),
		seen: map[[2]*node]bool{}, budget: maxSteps,
	}
	c.walk(a.root, b.root)
	c.nameReferences()
	if c.budget <= 0 {
		c.out = nil
		c.differ(a.root, b.root)
	}
	return c.result()
}

func (f *Form) withoutIndex() *Form {
	if f.side.Index == nil {
		return f
	}
	side := f.side
	side.Index = nil
	bare, err := Read(side)
	if err != nil {
		return f // it was read before, so this does not happen
	}
	return bare
}

// Expressions that differ in more places, or take more steps to compare, are said
// to differ as a whole.
const (
	maxSteps       = 5000
	maxDifferences = 50
	maxMatch       = 4096 // pairs of operands of one operator that are tried
)

// A comparer walks over two forms together.
type comparer struct {
	a, b         *Form
	nameA, nameB string
	out          []Difference
	pairs        [][2]*node // references that stand in the same place
	seen         map[[2]*node]bool
	budget       int
}

func (c *comparer) add(kind Kind, a, b *node, format string, args ...any) {
	if len(c.out) > maxDifferences {
		c.budget = 0
		return
	}
	c.out = append(c.out, Difference{Kind: kind, Sentence: fmt.Sprintf(format, args...), A: part(a), B: part(b)})
}

// differ reports two parts that have nothing in common.
func (c *comparer) differ(a, b *node) {
	c.add(Different, a, b, "Where %s has %s, %s has %s.", c.nameA, a.text(), c.nameB, b.text())
}

// only reports a part that one side alone has; the other is nil.
func (c *comparer) only(kind Kind, a, b *node, does string) {
	name := c.nameA
	if a == nil {
		name = c.nameB
	}
	c.add(kind, a, b, "Only %s %s.", name, does)
}

// same tells whether two nodes are one thing, or one is the measure that the other
// side is the expression of.
func (c *comparer) same(a, b *node) bool {
	return a.digest == b.digest || c.a.side.Index == c.b.side.Index && (c.b.is(a, b) || c.a.is(b, a))
}

// is tells whether ref refers to the measure that n is the whole expression of.
func (f *Form) is(ref, n *node) bool {
	return n == f.root && f.side.Index != nil && f.side.Measure != "" && ref.op == opMeasure && ref.name == knowledge.Fold(f.side.Measure)
}

// walk compares two nodes that stand in the same place.
func (c *comparer) walk(a, b *node) {
	if c.same(a, b) || c.seen[[2]*node{a, b}] || c.budget <= 0 {
		return
	}
	c.seen[[2]*node{a, b}] = true
	c.budget--
	switch {
	case a.op.reference() && a.op == b.op:
		c.pairs = append(c.pairs, [2]*node{a, b})
	case a.op.literal() && b.op.literal():
		c.add(Constants, a, b, "The value is %s in %s and %s in %s.", a.text(), c.nameA, b.text(), c.nameB)
	case c.wrapper(a, b):
	case a.op == opCalculate || b.op == opCalculate:
		c.calculate(a, b)
	case a.op == opFilter || b.op == opFilter:
		c.filter(a, b)
	case a.op == opVar || b.op == opVar:
		c.variable(a, b)
	case c.aggregation(a, b):
	case c.division(a, b):
	case c.operators(a, b):
	case a.op == b.op && a.name == b.name:
		c.arguments(a, b)
	default:
		c.differ(a, b)
	}
}

// arguments compares the parts of two nodes of one kind, in their order where they
// have one.
func (c *comparer) arguments(a, b *node) {
	if from, ok := a.op.unordered(); ok {
		for i := range from {
			c.walk(a.kids[i], b.kids[i])
		}
		c.operands(a, a.kids[from:], b.kids[from:])
		return
	}
	for i := range max(len(a.kids), len(b.kids)) {
		switch {
		case i >= len(b.kids):
			c.add(Different, a.kids[i], nil, "Only %s gives %s one more argument: %s.", c.nameA, a.function(), a.kids[i].text())
		case i >= len(a.kids):
			c.add(Different, nil, b.kids[i], "Only %s gives %s one more argument: %s.", c.nameB, b.function(), b.kids[i].text())
		default:
			c.walk(a.kids[i], b.kids[i])
		}
	}
}

// function is what people call the function of a node.
func (n *node) function() string {
	switch n.op {
	case opCall, opCalculate:
		return strings.ToUpper(strings.TrimPrefix(n.name, "user "))
	case opRows:
		return "the list"
	case opTuple:
		return "the row"
	}
	return string(n.op)
}

// operands compares the operands of an operator whose order does not matter.
func (c *comparer) operands(of *node, as, bs []*node) {
	as, bs = rest(as, bs)
	as, bs = c.match(as, bs, func(a, b *node) bool { return a.shape == b.shape })
	as, bs = c.match(as, bs, func(a, b *node) bool { return a.bare == b.bare })
	if len(as) == 1 && len(bs) == 1 && of.op != opIn {
		c.walk(as[0], bs[0])
		return
	}
	c.leftover(of, as, nil)
	c.leftover(of, nil, bs)
}

// leftover reports operands that one side alone has.
func (c *comparer) leftover(of *node, as, bs []*node) {
	list := append(as[:len(as):len(as)], bs...)
	if of.op == opIn && len(list) > maxListed {
		var some []string
		for _, n := range list[:maxListed] {
			some = append(some, n.text())
		}
		does := fmt.Sprintf("lists %d values more, among them %s", len(list), strings.Join(some, ", "))
		if as != nil {
			c.only(Constants, as[0], nil, does)
		} else {
			c.only(Constants, nil, bs[0], does)
		}
		return
	}
	kind, verb := Different, "has "+string(of.op)
	switch of.op {
	case opIn:
		kind, verb = Constants, "lists"
	case opAnd:
		verb = "also demands"
	case opOr:
		verb = "also takes"
	case opSum:
		verb = "adds"
	case opTimes:
		verb = "multiplies by"
	case opLeast, opMost:
		verb = "takes into " + string(of.op)
	}
	for _, n := range as {
		c.only(kind, n, nil, verb+" "+n.text())
	}
	for _, n := range bs {
		c.only(kind, nil, n, verb+" "+n.text())
	}
}

// maxListed is how many values of a list are named.
const maxListed = 5

// rest leaves out what both lists have.
func rest(as, bs []*node) (onlyA, onlyB []*node) {
	count := map[[16]byte]int{}
	for _, b := range bs {
		count[b.digest]++
	}
	for _, a := range as {
		if count[a.digest] > 0 {
			count[a.digest]--
		} else {
			onlyA = append(onlyA, a)
		}
	}
	count = map[[16]byte]int{}
	for _, a := range as {
		count[a.digest]++
	}
	for _, b := range bs {
		if count[b.digest] > 0 {
			count[b.digest]--
		} else {
			onlyB = append(onlyB, b)
		}
	}
	return onlyA, onlyB
}

// match walks over the pairs that fit and gives what is left of both lists.
func (c *comparer) match(as, bs []*node, fits func(a, b *node) bool) (restA, restB []*node) {
	return pairUp(as, bs, fits, c.walk)
}

// pairUp finds pairs that fit, those first that stand in like places, and gives
// what is left of both lists. Which pairs it finds does not depend on which list
// comes first.
func pairUp(as, bs []*node, fits func(a, b *node) bool, found func(a, b *node)) (restA, restB []*node) {
	if len(as)*len(bs) > maxMatch {
		return as, bs
	}
	doneA, doneB := make([]bool, len(as)), make([]bool, len(bs))
	for sum := 0; sum < len(as)+len(bs)-1; sum++ {
		for i := range as {
			j := sum - i
			if j < 0 || j >= len(bs) || doneA[i] || doneB[j] || !fits(as[i], bs[j]) {
				continue
			}
			doneA[i], doneB[j] = true, true
			found(as[i], bs[j])
		}
	}
	for i, a := range as {
		if !doneA[i] {
			restA = append(restA, a)
		}
	}
	for j, b := range bs {
		if !doneB[j] {
			restB = append(restB, b)
		}
	}
	return restA, restB
}

// variable compares what a variable has brought from outside with what stands in
// its place.
func (c *comparer) variable(a, b *node) {
	valueA, valueB := a, b
	if a.op == opVar {
		valueA = a.kids[0]
	}
	if b.op == opVar {
		valueB = b.kids[0]
	}
	switch {
	case a.op == b.op && a.volatile && b.volatile && a.name != b.name:
		c.differ(a, b)
	case a.op != b.op || a.name != b.name:
		c.add(Different, a, b, "%s is worked out %s in %s and %s in %s, so that other filters count.",
			valueA.text(), outside(a), c.nameA, outside(b), c.nameB)
	}
	c.walk(valueA, valueB)
}

// outside says where the value of a node is worked out.
func outside(n *node) string {
	if n.op == opVar && n.name != "0" {
		return "before, in a variable"
	}
	return "where it is used"
}

// result sorts what was found and says what it amounts to.
func (c *comparer) result() Comparison {
	slices.SortStableFunc(c.out, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(x.A.Pos.Offset, y.A.Pos.Offset), cmp.Compare(x.B.Pos.Offset, y.B.Pos.Offset),
			cmp.Compare(x.Sentence, y.Sentence))
	})
	c.out = slices.CompactFunc(c.out, func(x, y Difference) bool { return x == y })
	kind := Same
	for _, d := range c.out {
		switch {
		case kind == Same || kind == Renamed:
			kind = d.Kind
		case d.Kind != Renamed && d.Kind != kind:
			kind = Different
		}
	}
	return Comparison{Kind: kind, Differences: c.out}
}
