package reference

import "slices"

// Cycles are the cycles of the model: for each set of elements that all depend
// on each other, the shortest way from its first element, in the order of the
// model, back to it. The first element is also the last; an element that refers to
// itself is there twice.
func (g *Graph) Cycles() [][]Element {
	var list [][]Element
	for _, id := range g.first {
		list = append(list, g.around(id))
	}
	return list
}

// Cycle is the shortest way from e over what it depends on back to e; nil where
// there is none.
func (g *Graph) Cycle(e Element) []Element {
	id, ok := g.ids[e.key()]
	if !ok || g.cycle[id] < 0 {
		return nil
	}
	return g.around(id)
}

// around is the way from a node in a cycle back to it.
func (g *Graph) around(id int32) []Element {
	from := map[int32]int32{}
	for queue := []int32{id}; ; queue = queue[1:] {
		at := queue[0]
		for _, to := range g.nodes[at].out {
			if to == id {
				way := []int32{id}
				for ; at != id; at = from[at] {
					way = append(way, at)
				}
				way = append(way, id)
				slices.Reverse(way)
				return g.named(way)
			}
			if _, seen := from[to]; !seen && g.cycle[to] == g.cycle[id] {
				from[to] = at
				queue = append(queue, to)
			}
		}
	}
}

func (g *Graph) named(way []int32) []Element {
	var list []Element
	for _, id := range way {
		if e := g.nodes[id].element; e != (Element{}) {
			list = append(list, e)
		}
	}
	return list
}

// findCycles finds the sets of nodes that reach each other, by Tarjan's algorithm
// with its own stack, as a chain may be longer than a call stack is deep.
func (g *Graph) findCycles() {
	const unseen = -1
	g.cycle = make([]int32, len(g.nodes))
	index, low := make([]int32, len(g.nodes)), make([]int32, len(g.nodes))
	done := make([]bool, len(g.nodes))
	for i := range index {
		index[i], g.cycle[i] = unseen, -1
	}
	type frame struct {
		node int32
		next int // the edge to follow next
	}
	var frames []frame
	var open []int32
	count := int32(0)
	enter := func(id int32) {
		index[id], low[id] = count, count
		count++
		open = append(open, id)
		frames = append(frames, frame{node: id})
	}
	for start := range g.nodes {
		if index[start] != unseen {
			continue
		}
		enter(int32(start))
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next < len(g.nodes[f.node].out) {
				to := g.nodes[f.node].out[f.next]
				f.next++
				switch {
				case index[to] == unseen:
					enter(to)
				case !done[to]:
					low[f.node] = min(low[f.node], index[to])
				}
				continue
			}
			id := f.node
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				above := frames[len(frames)-1].node
				low[above] = min(low[above], low[id])
			}
			if low[id] == index[id] {
				at := len(open) - 1
				for open[at] != id {
					at--
				}
				g.close(open[at:])
				for _, member := range open[at:] {
					done[member] = true
				}
				open = open[:at]
			}
		}
	}
	slices.Sort(g.first)
}

// close keeps nodes that reach each other, if they are a cycle.
func (g *Graph) close(nodes []int32) {
	if len(nodes) == 1 && !slices.Contains(g.nodes[nodes[0]].out, nodes[0]) {
		return
	}
	for _, id := range nodes {
		g.cycle[id] = int32(len(g.first))
	}
	g.first = append(g.first, slices.Min(nodes))
}
