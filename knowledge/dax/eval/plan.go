package eval

import (
	"fmt"
	"slices"
	"strings"
)

// A plan says over which relationships filters reach a table: the paths from all
// tables that do, as a tree that starts at the reached one. Where several paths
// lead from one table to another, Power BI takes one of them by rules of its own,
// and so does a plan.
type plan struct {
	table  *table
	own    bool // filters on the table itself count here
	inflow []inflow

	// ambiguous are tables whose filters reach the table over several paths of
	// which none comes first; only the plan that the tree starts with has them.
	ambiguous []*table
}

// An inflow is a relationship over which filters come in.
type inflow struct {
	rel       *relationship
	direction flow
	from      *plan
}

// A planner makes plans for one state of the relationships.
type planner struct {
	flow   func(*relationship) flow
	weight func(*relationship) int
	shared map[string]*plan // equal trees are one
	plans  map[*table]*plan
}

func newPlanner(flow func(*relationship) flow, weight func(*relationship) int) *planner {
	return &planner{flow: flow, weight: weight, shared: map[string]*plan{}, plans: map[*table]*plan{}}
}

// of is the plan of a table.
func (p *planner) of(t *table) *plan {
	n := p.plans[t]
	if n == nil {
		n = p.make(t)
		p.plans[t] = n
	}
	return n
}

// A hop is one relationship on a path, in the direction in which a filter passes
// it.
type hop struct {
	rel       *relationship
	direction flow
}

// from is the table that the filter comes from.
func (h hop) from() *table {
	if h.direction == toFrom {
		return h.rel.to.table
	}
	return h.rel.from.table
}

// maxPaths bounds the paths that are looked at for one table. Models have few;
// one of many tables that are all joined both ways would have more than can be
// counted.
const maxPaths = 10_000

func (p *planner) make(t *table) *plan {
	// Paths by the table they come from, in the order in which these are found.
	// Each is written from the target: its first hop ends there.
	var sources []*table
	paths := map[*table][][]hop{}
	count := 0
	var walk func(at *table, path []hop)
	walk = func(at *table, path []hop) {
		step := func(h hop) {
			from := h.from()
			if p.flow(h.rel)&h.direction == 0 || from == t || slices.ContainsFunc(path, func(g hop) bool { return g.from() == from }) {
				return
			}
			if count++; count > maxPaths {
				fail(Invalid, "There are too many paths of relationships to the table '%s'.", t.name)
			}
			longer := append(slices.Clip(path), h)
			if paths[from] == nil {
				sources = append(sources, from)
			}
			paths[from] = append(paths[from], longer)
			walk(from, longer)
		}
		for _, r := range at.out {
			step(hop{r, toFrom})
		}
		for _, r := range at.in {
			step(hop{r, fromTo})
		}
	}
	walk(t, nil)

	var chosen [][]hop
	var ambiguous []*table
	for _, from := range sources {
		path, ok := p.choose(paths[from])
		if !ok {
			ambiguous = append(ambiguous, from)
			continue
		}
		chosen = append(chosen, path)
	}
	n := p.tree(t, true, chosen)
	if len(ambiguous) > 0 {
		own := *n
		own.ambiguous = ambiguous
		return &own
	}
	return n
}

// tree joins paths that begin alike.
func (p *planner) tree(t *table, own bool, paths [][]hop) *plan {
	n := &plan{table: t, own: own}
	var key strings.Builder
	fmt.Fprintf(&key, "%p %t", t, own)
	for len(paths) > 0 {
		first := paths[0][0]
		var rest, others [][]hop
		ends := false
		for _, path := range paths {
			switch {
			case path[0] != first:
				others = append(others, path)
			case len(path) == 1:
				ends = true
			default:
				rest = append(rest, path[1:])
			}
		}
		from := p.tree(first.from(), ends, rest)
		n.inflow = append(n.inflow, inflow{first.rel, first.direction, from})
		fmt.Fprintf(&key, " %p %d %p", first.rel, first.direction, from)
		paths = others
	}
	if same := p.shared[key.String()]; same != nil {
		return same
	}
	p.shared[key.String()] = n
	return n
}

// choose takes one of several paths between two tables: one of the best sort,
// and among these the one that USERELATIONSHIP weighs most. Relationships that
// are on all of the paths do not count.
func (p *planner) choose(paths [][]hop) ([]hop, bool) {
	if len(paths) == 1 {
		return paths[0], true
	}
	common := func(h hop) bool {
		for _, path := range paths {
			if !slices.ContainsFunc(path, func(g hop) bool { return g.rel == h.rel }) {
				return false
			}
		}
		return true
	}
	best, tie := -1, false
	var bestTier, bestWeight int
	for i, path := range paths {
		var kinds []byte
		weight := 0
		for _, h := range slices.Backward(path) { // from the source on
			if !common(h) {
				kinds = append(kinds, h.kind())
				weight = max(weight, p.weight(h.rel))
			}
		}
		tier := tierOf(string(kinds))
		switch {
		case best < 0 || tier < bestTier || tier == bestTier && weight > bestWeight:
			best, bestTier, bestWeight, tie = i, tier, weight, false
		case tier == bestTier && weight == bestWeight:
			tie = true
		}
	}
	return paths[best], !tie
}

// kind is what a hop is to the priority of paths: d down from the one side to the
// many side, u up, m many to many, and s for one to one, which goes with all.
func (h hop) kind() byte {
	switch {
	case h.rel.many:
		return 'm'
	case h.rel.one():
		return 's'
	case h.direction == toFrom:
		return 'd'
	}
	return 'u'
}

// tierOf is the priority of a path, 1 being the first.
func tierOf(kinds string) int {
	down := strings.TrimLeft(kinds, "ds")
	wide := strings.TrimLeft(kinds, "dms")
	switch {
	case down == "":
		return 1
	case wide == "":
		return 2
	case strings.Trim(kinds, "us") == "":
		return 3
	case strings.Trim(down, "us") == "":
		return 4
	case strings.Trim(wide, "ums") == "":
		return 5
	}
	return 6
}
