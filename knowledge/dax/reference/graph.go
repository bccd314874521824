package reference

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pbmb/pbmb/knowledge"
)

// A Graph says what each element of a model depends on and what depends on it. It
// does not change, so that any number of goroutines may use it.
//
// An expression depends on what it refers to, a column of a calculated table on
// that table, and a role on the tables and columns that it restricts. A table does
// not depend on its columns: COUNTROWS ( Sales ) stays what it is when a
// calculated column of Sales changes. Whatever reads a column of a table depends
// on the table too.
type Graph struct {
	nodes []node
	ids   map[Element]int32 // by Element.key
	cycle []int32           // of each node, which cycle it is in; -1 for none
	first []int32           // of each cycle, its first node, sorted
}

type node struct {
	element Element // the zero value for what stands for many columns at once
	refs    *References
	out, in []int32 // what it depends on, and what depends on it
	columns [2]int32
}

// A Dependency is an element that another one depends on, or the other way round.
type Dependency struct {
	Element  Element
	Distance int // 1 where the expression itself refers to it
}

// NewGraph reads every expression of a model, in time that grows with their
// length.
func NewGraph(m *knowledge.Model) *Graph {
	b := builder{g: &Graph{ids: map[Element]int32{}}, finder: NewFinder(m)}
	b.addModel(m)
	b.read()
	b.connect(m)
	b.g.findCycles()
	return b.g
}

// References are what the expression of an element refers to; nil for an element
// without an expression, or one that is not in the model.
func (g *Graph) References(e Element) *References {
	if id, ok := g.ids[e.key()]; ok {
		return g.nodes[id].refs
	}
	return nil
}

// Invalid lists the elements whose expressions do not parse.
func (g *Graph) Invalid() []Element {
	var list []Element
	for _, n := range g.nodes {
		if n.refs != nil && n.refs.Invalid != nil {
			list = append(list, n.element)
		}
	}
	return list
}

// Dependencies are all elements that e depends on, by itself or through others:
// the nearest first, and in the order of the model where they are equally near. An
// element that depends on itself is not listed; [Graph.Cycle] tells.
func (g *Graph) Dependencies(e Element) []Dependency {
	id, ok := g.ids[e.key()]
	if !ok {
		return nil
	}
	return g.reach([]int32{id}, func(n *node) []int32 { return n.out })
}

// Dependants are all elements that depend on e, in the order of
// [Graph.Dependencies]. What depends on a column depends on its table.
func (g *Graph) Dependants(e Element) []Dependency {
	id, ok := g.ids[e.key()]
	if !ok {
		return nil
	}
	from := []int32{id}
	for c := g.nodes[id].columns[0]; c < g.nodes[id].columns[1]; c++ {
		from = append(from, c)
	}
	return g.reach(from, func(n *node) []int32 { return n.in })
}

// reach goes from the nodes given, breadth first. The time grows with what is
// reached.
func (g *Graph) reach(from []int32, next func(*node) []int32) []Dependency {
	seen := make(map[int32]bool, len(from))
	for _, id := range from {
		seen[id] = true
	}
	var list []Dependency
	for distance := 1; len(from) > 0; distance++ {
		var found []int32
		for i := 0; i < len(from); i++ {
			for _, to := range next(&g.nodes[from[i]]) {
				switch {
				case seen[to]:
				case g.nodes[to].element == (Element{}):
					from = append(from, to) // what lies behind it is as near as it is
				default:
					found = append(found, to)
				}
				seen[to] = true
			}
		}
		slices.Sort(found)
		for _, id := range found {
			list = append(list, Dependency{g.nodes[id].element, distance})
		}
		from = found
	}
	return list
}

// A builder makes a graph.
type builder struct {
	g      *Graph
	finder *Finder
	tasks  []task
}

// A task is an expression to be read.
type task struct {
	node     int32
	text     string
	table    string
	row      bool
	function bool
}

func (b *builder) add(e Element) int32 {
	id := int32(len(b.g.nodes))
	b.g.nodes = append(b.g.nodes, node{element: e})
	if e != (Element{}) {
		if _, twice := b.g.ids[e.key()]; !twice {
			b.g.ids[e.key()] = id
		}
	}
	return id
}

func (b *builder) expression(e Element, text, table string, row bool) {
	id := b.add(e)
	if text != "" {
		b.tasks = append(b.tasks, task{node: id, text: text, table: table, row: row})
	}
}

func (b *builder) addModel(m *knowledge.Model) {
	for _, t := range m.Tables {
		table := int32(len(b.g.nodes))
		b.expression(Element{Kind: Table, Table: t.Name}, t.Expression, "", false)
		for _, c := range t.Columns {
			b.expression(Element{Column, t.Name, c.Name}, c.Expression, t.Name, true)
		}
		b.g.nodes[table].columns = [2]int32{table + 1, int32(len(b.g.nodes))}
		for _, measure := range t.Measures {
			b.expression(Element{Measure, t.Name, measure.Name}, measure.Expression, t.Name, false)
			if measure.DetailRows != "" {
				b.expression(Element{Details, t.Name, measure.Name}, measure.DetailRows, t.Name, false)
			}
		}
		for _, item := range t.Items {
			b.expression(Element{Item, t.Name, item.Name}, item.Expression, t.Name, false)
		}
	}
	for _, f := range m.Functions {
		id := b.add(Element{Kind: Function, Name: f.Name})
		b.tasks = append(b.tasks, task{node: id, text: f.Expression, table: f.Name, function: true})
	}
	for _, r := range m.Roles {
		for _, p := range r.Tables {
			b.expression(Element{Role, p.Table, r.Name}, p.Filter, p.Table, true)
		}
	}
}

// read finds the references of all expressions, several at a time.
func (b *builder) read() {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(b.tasks) {
					return
				}
				t := b.tasks[i]
				if t.function {
					b.g.nodes[t.node].refs = b.finder.OfFunction(knowledge.Function{Name: t.table, Expression: t.text})
				} else {
					b.g.nodes[t.node].refs = b.finder.Of(t.text, t.table, t.row)
				}
			}
		})
	}
	wait.Wait()
}

// connect makes the edges.
func (b *builder) connect(m *knowledge.Model) {
	g := b.g
	for _, t := range b.tasks {
		n := &g.nodes[t.node]
		for _, e := range n.refs.Elements() {
			n.out = append(n.out, g.ids[e.key()])
		}
	}
	for _, t := range m.Tables {
		if t.Expression != "" {
			table := g.ids[Element{Kind: Table, Table: t.Name}.key()]
			for c := g.nodes[table].columns[0]; c < g.nodes[table].columns[1]; c++ {
				g.nodes[c].out = append(g.nodes[c].out, table)
			}
		}
	}
	for _, r := range m.Roles {
		for _, p := range r.Tables {
			role := &g.nodes[g.ids[Element{Role, p.Table, r.Name}.key()]]
			restricted := []Element{{Kind: Table, Table: p.Table}}
			for _, c := range p.HiddenColumns {
				restricted = append(restricted, Element{Column, p.Table, c})
			}
			for _, e := range restricted {
				if id, ok := g.ids[e.key()]; ok {
					role.out = append(role.out, id)
				}
			}
		}
	}
	b.connectWide(m)
	for id := range g.nodes {
		n := &g.nodes[id]
		slices.Sort(n.out)
		n.out = slices.Compact(n.out)
		for _, to := range n.out {
			g.nodes[to].in = append(g.nodes[to].in, int32(id))
		}
	}
}

// connectWide lets what reads all date columns, or all columns, depend on them
// through one node without a name, so that many such expressions cost no more.
func (b *builder) connectWide(m *knowledge.Model) {
	dates, all := int32(-1), int32(-1)
	for _, t := range b.tasks {
		refs := b.g.nodes[t.node].refs
		if refs.EveryDate {
			if dates < 0 {
				dates = b.add(Element{})
			}
			b.g.nodes[t.node].out = append(b.g.nodes[t.node].out, dates)
		}
		if refs.EveryColumn {
			if all < 0 {
				all = b.add(Element{})
			}
			b.g.nodes[t.node].out = append(b.g.nodes[t.node].out, all)
		}
	}
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			id := b.g.ids[Element{Column, t.Name, c.Name}.key()]
			// CALENDARAUTO leaves out what is calculated.
			if dates >= 0 && c.DataType == knowledge.DateTime && c.Expression == "" && t.Expression == "" {
				b.g.nodes[dates].out = append(b.g.nodes[dates].out, id)
			}
			if all >= 0 {
				b.g.nodes[all].out = append(b.g.nodes[all].out, id)
			}
		}
	}
}
