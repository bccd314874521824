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
	modes   []relationshipMode
	shadow  func() *filterContext // what ALLSELECTED goes back to
	memo    map[reached]*column.Rows
}

// reached is a table and the relationship that its rows were asked for over.
type reached struct {
	table *table
	over  *relationship
}

// A relationshipMode is what USERELATIONSHIP and CROSSFILTER set.
type relationshipMode struct {
	rel  *relationship
	flow flow
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

func (f *filterContext) flow(r *relationship) flow {
	for i := len(f.modes) - 1; i >= 0; i-- {
		if f.modes[i].rel == r {
			return f.modes[i].flow
		}
	}
	return r.flow()
}

// derive is a context with other filters and the same of everything else.
func (f *filterContext) derive(filters []filter) *filterContext {
	return &filterContext{filters: filters, modes: f.modes, shadow: f.shadow}
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
func (f *filterContext) withMode(r *relationship, fl flow) *filterContext {
	g := f.derive(f.filters)
	g.modes = slices.Clip(f.modes)
	if fl != noFlow && f.flow(r) == noFlow {
		for _, other := range r.from.table.out {
			if other != r && other.to.table == r.to.table {
				g.modes = append(g.modes, relationshipMode{other, noFlow})
			}
		}
	}
	g.modes = append(g.modes, relationshipMode{r, fl})
	return g
}

// rows is the rows of t that can be seen, the blank row among them.
func (f *filterContext) rows(q *query, t *table) *column.Rows {
	return f.compute(q, t, nil, nil)
}

// compute is rows as they are asked for over a relationship, which is not
// followed back, from the tables on the path.
func (f *filterContext) compute(q *query, t *table, over *relationship, path []*table) *column.Rows {
	key := reached{t, over}
	if rows, ok := f.memo[key]; ok {
		return rows
	}
	rows := q.visible(t)
	var sets []*column.Rows
	for _, one := range f.filters {
		if set := one.restrict(q, t); set != nil {
			sets = append(sets, set)
		}
	}
	if len(f.filters) > 0 {
		path = append(slices.Clip(path), t)
		for _, r := range t.out {
			sets = f.follow(q, sets, r, toFrom, over, path)
		}
		for _, r := range t.in {
			sets = f.follow(q, sets, r, fromTo, over, path)
		}
	}
	slices.SortFunc(sets, func(a, b *column.Rows) int { return a.Len() - b.Len() })
	for i, set := range sets {
		if i == 0 && rows.IsAll() {
			rows = set
		} else {
			rows = rows.And(set)
		}
	}
	if f.memo == nil {
		f.memo = map[reached]*column.Rows{}
	}
	f.memo[key] = rows
	return rows
}

// follow adds what reaches a table over one relationship in one direction.
func (f *filterContext) follow(q *query, sets []*column.Rows, r *relationship, direction flow, over *relationship, path []*table) []*column.Rows {
	fl := f.flow(r)
	if r == over || fl&direction == 0 {
		return sets
	}
	other := r.to.table
	if direction == fromTo {
		other = r.from.table
	}
	if slices.Contains(path, other) {
		return sets
	}
	var back *relationship
	if fl == toFrom|fromTo {
		back = r
	}
	there := f.compute(q, other, back, path)
	if there == q.visible(other) {
		return sets
	}
	return append(sets, q.propagate(r, direction, there))
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
