package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A grouping is the arguments of SUMMARIZECOLUMNS.
type grouping struct {
	cols    []*modelColumn // all that are grouped by, in the order of the result
	rollups []rollup
	filters []dax.Expr
	hidden  []dax.Expr // those in NONVISUAL: they hold the groups, not the measures
	names   []string
	exprs   []dax.Expr
	ignore  []bool // the row does not stay for this expression
}

// A rollup is one ROLLUPADDISSUBTOTAL. It gives the rows of each of its levels:
// all of its columns, then fewer and fewer, and last none of them.
type rollup struct {
	levels []rollupLevel
	total  []dax.Expr // filters of the rows without any of the columns
}

// A rollupLevel is one column of a rollup, or several in ROLLUPGROUP.
type rollupLevel struct {
	cols    []int      // of the grouping
	flag    string     // the column that says whether a row is a subtotal over them
	filters []dax.Expr // of the rows of which these are the last columns that count
}

func (c *compiler) readGrouping(s *scope, x *dax.Call) grouping {
	var g grouping
	for args := x.Args; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		if name, ok := c.textArg(arg); ok {
			if len(args) == 0 || args[0] == nil {
				c.fail(arg, Invalid, "%s expects an expression after the name '%s'.", x.Func, name)
			}
			expr, ignored := args[0], false
			if call, ok := expr.(*dax.Call); ok && knowledge.Fold(call.Func) == "ignore" {
				c.arity(call, 1, 1)
				expr, ignored = call.Args[0], true
			}
			g.names, g.exprs, g.ignore = append(g.names, name), append(g.exprs, expr), append(g.ignore, ignored)
			args = args[1:]
			continue
		}
		if call, ok := arg.(*dax.Call); ok && knowledge.Fold(call.Func) == "rollupaddissubtotal" {
			g.rollups = append(g.rollups, c.readRollup(s, call, &g))
			continue
		}
		if filter, hidden, ok := c.groupFilter(s, arg); ok {
			if hidden {
				g.hidden = append(g.hidden, filter)
			} else {
				g.filters = append(g.filters, filter)
			}
			continue
		}
		if arg == nil || c.tryColumn(s, arg) == nil {
			c.fail(arg, Invalid, "%s expects columns, filter tables, and pairs of a name and an expression.", x.Func)
		}
		c.groupColumn(s, arg, &g)
	}
	return g
}

// groupFilter reads a filter table, which may stand in NONVISUAL.
func (c *compiler) groupFilter(s *scope, x dax.Expr) (filter dax.Expr, hidden, ok bool) {
	if call, isCall := x.(*dax.Call); isCall && knowledge.Fold(call.Func) == "nonvisual" {
		c.arity(call, 1, 1)
		x, hidden = call.Args[0], true
	}
	return x, hidden, x != nil && c.isTable(s, x) && c.tryColumn(s, x) == nil
}

// groupColumn adds a column to group by, and gives its place.
func (c *compiler) groupColumn(s *scope, x dax.Expr, g *grouping) int {
	col := c.columnOf(s, x)
	if slices.Contains(g.cols, col) {
		c.fail(x, Invalid, "The column %s is grouped by more than once.", col)
	}
	g.cols = append(g.cols, col)
	return len(g.cols) - 1
}

func (c *compiler) readRollup(s *scope, x *dax.Call, g *grouping) rollup {
	var r rollup
	for args := x.Args; len(args) > 0; {
		if filter, _, ok := c.groupFilter(s, args[0]); ok {
			if n := len(r.levels); n > 0 {
				r.levels[n-1].filters = append(r.levels[n-1].filters, filter)
			} else {
				r.total = append(r.total, filter)
			}
			args = args[1:]
			continue
		}
		var level rollupLevel
		if call, ok := args[0].(*dax.Call); ok && knowledge.Fold(call.Func) == "rollupgroup" {
			c.arity(call, 1, -1)
			for _, arg := range call.Args {
				level.cols = append(level.cols, c.groupColumn(s, arg, g))
			}
		} else {
			level.cols = []int{c.groupColumn(s, args[0], g)}
		}
		name, ok := "", false
		if len(args) > 1 {
			name, ok = c.textArg(args[1])
		}
		if !ok {
			c.fail(x, Invalid, "ROLLUPADDISSUBTOTAL expects a name after each column.")
		}
		level.flag = name
		r.levels = append(r.levels, level)
		args = args[2:]
	}
	if len(r.levels) == 0 {
		c.fail(x, Invalid, "ROLLUPADDISSUBTOTAL expects a column.")
	}
	return r
}

// A groupSet is one set of columns that SUMMARIZECOLUMNS groups by: those of one
// level of each rollup.
type groupSet struct {
	at    []int  // the columns
	open  []bool // by flag: the row is a subtotal
	facts []*table
	under []func(*env) *filterContext // of the filters of the levels
}

// groupSets are all combinations of the levels of the rollups.
func (c *compiler) groupSets(s *scope, g *grouping) []groupSet {
	inRollup := make([]bool, len(g.cols))
	for _, r := range g.rollups {
		for _, level := range r.levels {
			for _, at := range level.cols {
				inRollup[at] = true
			}
		}
	}
	first := groupSet{}
	for at := range g.cols {
		if !inRollup[at] {
			first.at = append(first.at, at)
		}
	}
	sets := []groupSet{first}
	for _, r := range g.rollups {
		var more []groupSet
		for n := len(r.levels); n >= 0; n-- {
			filters := r.total
			if n > 0 {
				filters = r.levels[n-1].filters
			}
			for _, set := range sets {
				next := groupSet{at: slices.Clone(set.at), open: slices.Clone(set.open), under: slices.Clone(set.under)}
				for i, level := range r.levels {
					next.open = append(next.open, i >= n)
					if i < n {
						next.at = append(next.at, level.cols...)
					}
				}
				for _, x := range filters {
					if call, ok := x.(*dax.Call); ok && knowledge.Fold(call.Func) == "nonvisual" {
						x = call.Args[0]
					}
					next.under = append(next.under, c.under(s, []dax.Expr{x}))
				}
				more = append(more, next)
			}
		}
		if len(more) > maxSets {
			c.fail(nil, Exceeded, "SUMMARIZECOLUMNS has more than %d combinations of subtotals.", maxSets)
		}
		sets = more
	}
	for i := range sets {
		slices.Sort(sets[i].at)
	}
	return sets
}

// maxSets bounds the combinations of the levels of rollups.
const maxSets = 1000

// summarizeColumns is SUMMARIZECOLUMNS: the combinations of values of the
// columns for which one of the expressions is not blank.
func (c *compiler) summarizeColumns(s *scope, x *dax.Call) node {
	g := c.readGrouping(s, x)
	under, all := c.under(s, g.filters), c.under(s, slices.Concat(g.filters, g.hidden))
	of := make([]scalar, len(g.exprs))
	for i, expr := range g.exprs {
		of[i] = c.scalarOf(s, expr)
	}
	out := &schema{}
	for _, col := range g.cols {
		out.cols = append(out.cols, col.meta())
	}
	for _, r := range g.rollups {
		for _, level := range r.levels {
			c.fresh(x, out, level.flag)
			out.cols = append(out.cols, colMeta{name: level.flag})
		}
	}
	for _, name := range g.names {
		c.fresh(x, out, name)
		out.cols = append(out.cols, madeMeta(name))
	}
	if len(out.cols) == 0 {
		c.fail(x, Invalid, "%s expects a column or an expression.", x.Func)
	}
	sets := c.groupSets(s, &g)
	for i := range sets {
		cols := make([]*modelColumn, len(sets[i].at))
		for k, at := range sets[i].at {
			cols[k] = g.cols[at]
		}
		sets[i].facts = c.factTables(g.exprs, cols)
	}
	return node{schema: out, table: func(e *env) *relation {
		r := &relation{schema: out, cols: make([]vector, len(out.cols))}
		for i := range r.cols {
			if i < len(g.cols) {
				r.cols[i].ids = []int32{}
			} else {
				r.cols[i].vals = []value.Value{}
			}
		}
		run := groupRun{e: e, of: of, ignore: g.ignore, all: g.cols, into: r, singles: map[*modelColumn]map[int32]*valueFilter{}}
		measured, grouped := under(e), all(e)
		for _, set := range sets {
			m, f := measured, grouped
			for _, level := range set.under {
				filters := level(e.within(&filterContext{})).filters
				m, f = m.override(filters...), f.override(filters...)
			}
			run.set(set, m, f)
		}
		return r
	}}
}

// A groupRun computes the rows of SUMMARIZECOLUMNS.
type groupRun struct {
	e       *env
	of      []scalar
	ignore  []bool
	all     []*modelColumn
	into    *relation
	singles map[*modelColumn]map[int32]*valueFilter
}

// single is the filter on one value; groups share them, and with them the rows
// that they reach.
func (g *groupRun) single(c *modelColumn, id int32) *valueFilter {
	byID := g.singles[c]
	if byID == nil {
		byID = map[int32]*valueFilter{}
		g.singles[c] = byID
	}
	f := byID[id]
	if f == nil {
		f = oneValue(c, id)
		byID[id] = f
	}
	return f
}

// set adds the rows of one set of columns. The expressions are computed under one
// filter context, the groups found under another.
func (g *groupRun) set(set groupSet, outside, grouped *filterContext) {
	cols := make([]*modelColumn, len(set.at))
	place := make([]int, len(g.all)) // of a column among cols, or -1
	for i := range place {
		place[i] = slices.Index(set.at, i)
	}
	for i, at := range set.at {
		cols[i] = g.all[at]
	}
	flat := []int32{}
	n := 1
	if len(cols) > 0 {
		flat = g.e.candidates(grouped, cols, set.facts)
		n = len(flat) / len(cols)
	}
	// What the groups' columns are held to by filters stays: they hold the groups
	// already, and ALLSELECTED asks for them.
	shadow := func() *filterContext { return outside }
	vals := make([]value.Value, len(g.of))
	r := g.into
	counted := r.n
	for row := range n {
		if row&63 == 0 {
			g.e.q.check()
			if made := (r.n - counted) * len(r.cols); made >= smallTable {
				g.e.q.spend(made)
				counted = r.n
			}
		}
		ids := flat[row*len(cols) : (row+1)*len(cols)]
		filters := make([]filter, len(outside.filters), len(outside.filters)+len(cols))
		copy(filters, outside.filters)
		for i, c := range cols {
			filters = append(filters, g.single(c, ids[i]))
		}
		f := outside.derive(filters)
		f.shadow = shadow
		inner := g.e.within(f)
		keep := len(g.of) == 0 || !slices.Contains(g.ignore, false)
		for i, of := range g.of {
			vals[i] = of(inner)
			keep = keep || !vals[i].IsBlank() && !g.ignore[i]
		}
		if !keep {
			continue
		}
		for i, at := range place {
			id := column.BlankID
			if at >= 0 {
				id = ids[at]
			}
			r.cols[i].ids = append(r.cols[i].ids, id)
		}
		at := len(g.all)
		for i, open := range set.open {
			r.cols[at+i].vals = append(r.cols[at+i].vals, value.OfBool(open))
		}
		for i, v := range vals {
			r.cols[at+len(set.open)+i].vals = append(r.cols[at+len(set.open)+i].vals, v)
		}
		r.n++
	}
}

// candidates is the combinations of values that can be groups. Filters on a table
// hold its own columns; those on other tables do not reach them, and only make
// the expressions blank. Columns of one table are combined as they are in its
// rows; those of several tables as they are in the rows of a fact table where the
// expressions are blank without one, and in all ways otherwise.
func (e *env) candidates(f *filterContext, cols []*modelColumn, facts []*table) []int32 {
	var tables []*table
	for _, c := range cols {
		if !slices.Contains(tables, c.table) {
			tables = append(tables, c.table)
		}
	}
	if len(tables) > 1 && len(facts) > 0 {
		return e.existing(f, cols, facts)
	}
	type part struct {
		at   []int
		flat []int32
	}
	var parts []part
	total := 1
	for _, t := range tables {
		p := part{}
		var own []*modelColumn
		for i, c := range cols {
			if c.table == t {
				own = append(own, c)
				p.at = append(p.at, i)
			}
		}
		rows := f.ownRows(e.q, t)
		if len(own) == 1 {
			p.flat = distinctIDs(own[0], rows)
		} else {
			rel := combinations(schemaOf(own...), own, rows)
			for row := range rel.n {
				for k := range own {
					p.flat = append(p.flat, rel.cols[k].ids[row])
				}
			}
		}
		n := len(p.flat) / len(own)
		if n == 0 {
			return nil
		}
		e.q.spendTable(total, n*len(cols))
		total *= n
		parts = append(parts, p)
	}
	flat := make([]int32, total*len(cols))
	each := total
	for _, p := range parts {
		width := len(p.at)
		n := len(p.flat) / width
		each /= n
		for row := range total {
			from := row / each % n
			for k, at := range p.at {
				flat[row*len(cols)+at] = p.flat[from*width+k]
			}
		}
	}
	return flat
}

// existing is the combinations that rows of the fact tables have.
func (e *env) existing(f *filterContext, cols []*modelColumn, facts []*table) []int32 {
	set := newTupleSet(len(cols))
	var flat []int32
	ids := make([]int32, len(cols))
	for _, t := range facts {
		reads := make([]func(int32) int32, len(cols))
		for i, c := range cols {
			reads[i] = t.reader(c)
		}
		for _, row := range f.rows(e.q, t).List() {
			for i, read := range reads {
				ids[i] = read(row)
			}
			if set.add(ids) {
				flat = append(flat, ids...)
			}
		}
	}
	return flat
}
