package diff

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// An op says what a node is.
type op string

const (
	opNumber op = "number"
	opText   op = "text"
	opDate   op = "date"
	opBool   op = "bool"
	opBlank  op = "blank"

	opColumn  op = "column"
	opMeasure op = "measure"
	opTable   op = "table"
	opRef     op = "reference" // [x] or T[x] of which nobody knows what it is
	opName    op = "name"      // a bare name of which nobody knows what it is

	opNew       op = "new column" // one that the text makes
	opWord      op = "word"
	opParameter op = "parameter"
	opMissing   op = "missing" // an argument left out
	opVar       op = "variable"

	opCall  op = "call"
	opRows  op = "rows"
	opTuple op = "tuple"

	opAnd    op = "&&"
	opOr     op = "||"
	opNot    op = "NOT"
	opEqual  op = "="
	opStrict op = "=="
	opUnlike op = "<>"
	opLess   op = "<"
	opAtMost op = "<="
	opIn     op = "IN" // kids[0] is one of the others, which have no order
	opWithin op = "in" // kids[0] is in the table kids[1]
	opSum    op = "+"
	opTimes  op = "*"
	opMinus  op = "-"
	opOver   op = "/"
	opPower  op = "^"
	opConcat op = "&"
	opLeast  op = "MIN" // of two values
	opMost   op = "MAX"
	opNeg    op = "neg"
	opPos    op = "pos"

	opCalculate op = "CALCULATE" // kids[0] under the filters that are the others
	opWhere     op = "where"     // a condition as a filter of CALCULATE
	opAll       op = "ALL"       // as a filter of CALCULATE: no filters on kids[0], or none at all
	opJoin      op = "USERELATIONSHIP"
	opFilter    op = "FILTER" // the rows of kids[0] for which the others hold
)

// unordered tells from which kid on the order does not matter; ok is false where
// it does.
func (o op) unordered() (from int, ok bool) {
	switch o {
	case opAnd, opOr, opEqual, opStrict, opUnlike, opSum, opTimes, opLeast, opMost, opJoin:
		return 0, true
	case opIn, opCalculate, opFilter:
		return 1, true
	}
	return 0, false
}

func (o op) literal() bool {
	switch o {
	case opNumber, opText, opDate, opBool, opBlank:
		return true
	}
	return false
}

func (o op) reference() bool {
	switch o {
	case opColumn, opMeasure, opTable, opRef, opName:
		return true
	}
	return false
}

// truth tells whether a node of this kind is true or false and nothing else.
func (o op) truth() bool {
	switch o {
	case opBool, opAnd, opOr, opNot, opEqual, opStrict, opUnlike, opLess, opAtMost, opIn, opWithin:
		return true
	}
	return false
}

// A node is a part of a form. Nodes do not change; one may stand in several
// places, as a variable does.
type node struct {
	op   op
	name string // of a reference or function, folded; the value of a literal
	kids []*node

	src  dax.Node // where it stands in the text
	show string   // how people write it, where src does not say
	home string   // of a column, the table as the model spells it

	digest   [16]byte // equal for equal nodes
	shape    uint64   // equal where only the names of references differ
	bare     uint64   // equal where only they and literals differ
	volatile bool     // another value each time: RAND
	row      bool     // of a CALCULATE: it stands in a row context
	simple   bool     // columns, literals and scalar functions of them
}

// newNode makes a node. The kids that have no order are taken once where the same
// twice makes no difference.
func newNode(o op, name string, src dax.Node, kids ...*node) *node {
	n := &node{op: o, name: name, kids: kids, src: src, simple: o != opMeasure && o != opTable && o != opName && o != opRef && o != opCalculate && o != opFilter}
	from, unordered := o.unordered()
	if o == opAnd || o == opOr || o == opIn || o == opCalculate || o == opFilter {
		n.kids = append(kids[:from:from], once(kids[from:])...)
	}
	if o == opVar {
		// A variable has its value from outside, whatever it is made of.
		n.volatile = kids[0].volatile
		n.seal(false, 0)
		return n
	}
	for _, k := range n.kids {
		n.volatile = n.volatile || k.volatile
		n.simple = n.simple && k.simple
	}
	n.seal(unordered, from)
	return n
}

func once(kids []*node) []*node {
	seen := make(map[[16]byte]bool, len(kids))
	out := make([]*node, 0, len(kids))
	for _, k := range kids {
		if !seen[k.digest] || k.volatile {
			seen[k.digest] = true
			out = append(out, k)
		}
	}
	return out
}

// seal computes what nodes are compared by.
func (n *node) seal(unordered bool, from int) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %s", n.op, len(n.name), n.name)
	order := n.kids
	if unordered {
		order = slices.Clone(n.kids)
		slices.SortFunc(order[from:], func(a, b *node) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	}
	for _, k := range order {
		h.Write(k.digest[:])
	}
	copy(n.digest[:], h.Sum(nil))

	n.shape = n.look(unordered, from, func(k *node) uint64 { return k.shape }, n.op.reference())
	n.bare = n.look(unordered, from, func(k *node) uint64 { return k.bare }, n.op.reference() || n.op.literal())
}

func (n *node) look(unordered bool, from int, of func(*node) uint64, nameless bool) uint64 {
	h := fnv.New64a()
	h.Write([]byte(n.op))
	if !nameless {
		h.Write([]byte{0})
		h.Write([]byte(n.name))
	}
	order := make([]uint64, len(n.kids))
	for i, k := range n.kids {
		order[i] = of(k)
	}
	if unordered {
		slices.Sort(order[from:])
	}
	var b [8]byte
	for _, k := range order {
		binary.LittleEndian.PutUint64(b[:], k)
		h.Write(b[:])
	}
	return h.Sum64()
}

// is tells whether n is a call of a function of the language.
func (n *node) is(function string) bool { return n.op == opCall && n.name == function }

// refKey tells references apart.
type refKey struct {
	op   op
	name string
}

func (n *node) ref() refKey { return refKey{n.op, n.name} }

// references adds the references in n to a set.
func (n *node) references(set map[refKey]bool, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if n.op.reference() {
		set[n.ref()] = true
	}
	for _, k := range n.kids {
		k.references(set, seen)
	}
}
