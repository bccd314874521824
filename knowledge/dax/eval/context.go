package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
)

// A filterContext is the filters under which an expression is computed, all of
// which must hold, and what CALCULATE changed about relationships. It does not
// change once made, apart from what it remembers.
type filterContext struct {
	filters []filter
	state   *relationState
	shadow  func() *filterContext // what ALLSELECTED goes back to
	memo    map[*plan]*column.Rows
}

// A relationState is what USERELATIONSHIP and CROSSFILTER have set; nil where
// they have set nothing. States are shared: the same changes in the same order
// are one.
type relationState struct {
	modes []relationshipMode
	plans *planner
	next  map[relationshipMode]*relationState
}

// A relationshipMode is one change.
type relationshipMode struct {
	rel  *relationship
	flow flow
	use  bool // by USERELATIONSHIP, which also weighs paths
}

// A flow says in which directions filters pass a relationship.
type flow uint8

const (
	toFrom flow = 1 << iota // from the to side, usually the one side, to the from side
	fromTo

	noFlow flow = 0
)

func (r *relationship) flow() flow {
	switch {
	case r.def.Inactive:
		return noFlow
	case r.def.BothFilter, r.one():
		return toFrom | fromTo
	}
	return toFrom
}

func (s *relationState) flow(r *relationship) flow {
	if s != nil {
		for i := len(s.modes) - 1; i >= 0; i-- {
			if s.modes[i].rel == r {
				return s.modes[i].flow
			}
		}
	}
	return r.flow()
}

// weight is how far inside a relationship was asked for.
func (s *relationState) weight(r *relationship) int {
	for i := len(s.modes) - 1; i >= 0; i-- {
		if s.modes[i].rel == r && s.modes[i].use {
			return i + 1
		}
	}
	return 0
}

// with is the state after one more change.
func (q *query) with(s *relationState, m relationshipMode) *relationState {
	if s == nil {
		s = &q.relations
	}
	if next := s.next[m]; next != nil {
		return next
	}
	next := &relationState{modes: append(slices.Clip(s.modes), m)}
	next.plans = newPlanner(next.flow, next.weight)
	if s.next == nil {
		s.next = map[relationshipMode]*relationState{}
	}
	s.next[m] = next
	return next
}

// planOf is how filters reach t.
func (q *query) planOf(s *relationState, t *table) *plan {
	if s == nil {
		s = &q.relations
		if s.plans == nil {
			s.plans = newPlanner((*relationship).flow, func(*relationship) int { return 0 })
		}
	}
	return s.plans.of(t)
}

// derive is a context with other filters and the same of everything else.
func (f *filterContext) derive(filters []filter) *filterContext {
	return &filterContext{filters: filters, state: f.state, shadow: f.shadow}
}

// and adds filters to those that are there.
func (f *filterContext) and(more ...filter) *filterContext {
	if len(more) == 0 {
		return f
	}
	return f.derive(append(slices.Clip(f.filters), more...))
}

// without takes the filters off some columns.
func (f *filterContext) without(drop func(*modelColumn) bool) *filterContext {
	filters := make([]filter, 0, len(f.filters))
	for _, one := range f.filters {
		if one = one.without(drop); one != nil {
			filters = append(filters, one)
		}
	}
	return f.derive(filters)
}

// override puts the filters in place of what holds their columns.
func (f *filterContext) override(filters ...filter) *filterContext {
	if len(filters) == 0 {
		return f
	}
	if len(f.filters) == 0 {
		return f.derive(filters)
	}
	rest := f.without(func(c *modelColumn) bool {
		return slices.ContainsFunc(filters, func(g filter) bool { return g.covers(c) })
	})
	return rest.and(filters...)
}

// covers says whether a filter holds the column.
func (f *filterContext) covers(c *modelColumn) bool {
	return slices.ContainsFunc(f.filters, func(g filter) bool { return g.covers(c) })
}

// withMode sets the flow over a relationship. A relationship that is switched on
// switches off the others between its two tables.
func (f *filterContext) withMode(q *query, r *relationship, fl flow, use bool) *filterContext {
	g := f.derive(f.filters)
	if fl != noFlow && f.state.flow(r) == noFlow {
		for _, other := range q.e.relationships {
			if other != r && other.joins(r.from.table, r.to.table) && f.state.flow(other) != noFlow {
				g.state = q.with(g.state, relationshipMode{rel: other})
			}
		}
	}
	g.state = q.with(g.state, relationshipMode{rel: r, flow: fl, use: use})
	return g
}

// joins says whether the relationship is one between two tables.
func (r *relationship) joins(a, b *table) bool {
	return r.from.table == a && r.to.table == b || r.from.table == b && r.to.table == a
}

// rows is the rows of t that can be seen, the blank row among them.
func (f *filterContext) rows(q *query, t *table) *column.Rows {
	if len(f.filters) == 0 {
		return q.visible(t)
	}
	p := q.planOf(f.state, t)
	for _, from := range p.ambiguous {
		if f.ownRows(q, from) != q.visible(from) {
			fail(Invalid, "There are ambiguous paths of relationships between the tables '%s' and '%s', and no rule that prefers one of them.", from.name, t.name)
		}
	}
	return f.follow(q, p)
}

// ownRows is the rows of t that the filters on its own columns leave.
func (f *filterContext) ownRows(q *query, t *table) *column.Rows {
	return all(q.visible(t), f.restrictions(q, t))
}

func (f *filterContext) restrictions(q *query, t *table) (sets []*column.Rows) {
	for _, one := range f.filters {
		if set := one.restrict(q, t); set != nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// all is the rows that are in every one of the sets.
func all(rows *column.Rows, sets []*column.Rows) *column.Rows {
	slices.SortFunc(sets, func(a, b *column.Rows) int { return a.Len() - b.Len() })
	for i, set := range sets {
		if i == 0 && rows.IsAll() {
			rows = set
		} else {
			rows = rows.And(set)
		}
	}
	return rows
}

// follow is the rows that a plan leaves of its table.
func (f *filterContext) follow(q *query, p *plan) *column.Rows {
	if rows, ok := f.memo[p]; ok {
		return rows
	}
	var sets []*column.Rows
	if p.own {
		sets = f.restrictions(q, p.table)
	}
	for _, in := range p.inflow {
		if there := f.follow(q, in.from); there != q.visible(in.from.table) {
			if in.rel.err != nil {
				panic(in.rel.err)
			}
			sets = append(sets, q.propagate(in.rel, in.direction, there))
		}
	}
	rows := all(q.visible(p.table), sets)
	if f.memo == nil {
		f.memo = map[*plan]*column.Rows{}
	}
	f.memo[p] = rows
	return rows
}

// propagation is one step over a relationship, remembered for the query: groups
// share most of their filters.
type propagation struct {
	rel       *relationship
	direction flow
	rows      *column.Rows
}

// maxRemembered bounds the rows that a query remembers of its propagations.
const maxRemembered = 16 << 20

func (q *query) propagate(r *relationship, direction flow, rows *column.Rows) *column.Rows {
	key := propagation{r, direction, rows}
	if there, ok := q.propagated[key]; ok {
		return there
	}
	var there *column.Rows
	if direction == toFrom {
		there = r.down(rows)
	} else {
		there = r.up(rows)
	}
	if q.remembered < maxRemembered {
		q.remembered += min(there.Len(), there.Size()/32) + 16
		q.propagated[key] = there
	}
	return there
}

// down is the rows of the from side that land on rows of the to side.
func (r *relationship) down(rows *column.Rows) *column.Rows {
	g := newGather(r.from.table.size())
	if r.many {
		for _, id := range distinctIDs(r.to, rows) {
			g.add(r.rows[r.starts[id]:r.starts[id+1]])
		}
		return g.rows()
	}
	for _, row := range rows.List() {
		g.add(r.rows[r.starts[row]:r.starts[row+1]])
	}
	return g.rows()
}

// up is the rows of the to side that rows of the from side land on.
func (r *relationship) up(rows *column.Rows) *column.Rows {
	t := r.to.table
	if r.many {
		g := newGather(t.size())
		for _, id := range distinctIDs(r.from, rows) {
			if there := r.values[id]; there >= 0 {
				g.add(r.to.data.RowsOf(there))
			}
		}
		return g.rows()
	}
	set := column.NewBitmap(t.size())
	for _, row := range rows.List() {
		if there := r.toRow[row]; int(there) < t.size() {
			set.Add(there)
		}
	}
	return set.Rows()
}

// A step leads from a table to one that it reaches from many to one.
type step struct {
	rel  *relationship
	back bool // from the to side of a one to one relationship
}

func (s step) far() *table {
	if s.back {
		return s.rel.from.table
	}
	return s.rel.to.table
}

// steps are the active many-to-one relationships that leave t.
func (t *table) steps() []step {
	var steps []step
	for _, r := range t.out {
		if !r.def.Inactive && !r.many {
			steps = append(steps, step{rel: r})
		}
	}
	for _, r := range t.in {
		if !r.def.Inactive && r.one() {
			steps = append(steps, step{rel: r, back: true})
		}
	}
	return steps
}

// path is the steps from t to a table that it reaches; nil and false where it
// does not.
func (t *table) path(to *table) ([]step, bool) {
	if t == to {
		return nil, true
	}
	type node struct {
		at   *table
		path []step
	}
	seen := []*table{t}
	for queue := []node{{at: t}}; len(queue) > 0; queue = queue[1:] {
		for _, s := range queue[0].at.steps() {
			if slices.Contains(seen, s.far()) {
				continue
			}
			path := append(slices.Clip(queue[0].path), s)
			if s.far() == to {
				return path, true
			}
			seen = append(seen, s.far())
			queue = append(queue, node{s.far(), path})
		}
	}
	return nil, false
}

// expanded is t and the tables that it reaches from many to one.
func (t *table) expanded() []*table {
	if t.reach != nil {
		return t.reach
	}
	tables := []*table{t}
	for i := 0; i < len(tables); i++ {
		for _, s := range tables[i].steps() {
			if !slices.Contains(tables, s.far()) {
				tables = append(tables, s.far())
			}
		}
	}
	return tables
}

func (t *table) reaches(to *table) bool {
	return t == to || len(t.out)+len(t.in) > 0 && slices.Contains(t.expanded(), to)
}

// walk leads from a row of t to the row of a table that it reaches.
func (t *table) walk(to *table) func(row int32) int32 {
	path, _ := t.path(to)
	if len(path) == 1 && !path[0].back {
		landing := path[0].rel.toRow
		return func(row int32) int32 { return landing[row] }
	}
	return func(row int32) int32 {
		for _, s := range path {
			if !s.back {
				row = s.rel.toRow[row]
				continue
			}
			if from, to := s.rel.starts[row], s.rel.starts[row+1]; from < to {
				row = s.rel.rows[from]
			} else {
				row = int32(s.rel.from.table.n)
			}
		}
		return row
	}
}

// reader reads the number of the value of c for a row of t, where c is a column
// of t or of a table that it reaches; nil for others.
func (t *table) reader(c *modelColumn) func(row int32) int32 {
	ids := c.data.IDs()
	if c.table == t {
		return func(row int32) int32 { return ids[row] }
	}
	if !t.reaches(c.table) {
		return nil
	}
	walk := t.walk(c.table)
	return func(row int32) int32 { return ids[walk(row)] }
}
