package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// groupFunctions are those that group.
func groupFunctions() map[string]function {
	return map[string]function{
		"summarize":        tableFunction(1, -1, (*compiler).summarize),
		"summarizecolumns": tableFunction(1, -1, (*compiler).summarizeColumns),
		"groupby":          tableFunction(2, -1, (*compiler).groupBy),
		"currentgroup":     tableFunction(0, 0, (*compiler).currentGroup),
	}
}

// A groupKey is a column that SUMMARIZE and GROUPBY group by: one of the table,
// or one of a table that its rows reach.
type groupKey struct {
	meta colMeta
	own  int // column of the table; -1 for others
	col  *modelColumn
}

func (c *compiler) groupKeys(s *scope, sc *schema, args []dax.Expr) (keys []groupKey, rest []dax.Expr) {
	inner := s.row(sc)
	for len(args) > 0 {
		if _, ok := args[0].(*dax.Text); ok {
			break
		}
		if call, ok := args[0].(*dax.Call); ok {
			c.fail(call, Unsupported, "%s is not supported in SUMMARIZE here; SUMMARIZECOLUMNS has ROLLUPADDISSUBTOTAL.", call.Func)
		}
		if i, ok := c.directColumn(inner, args[0]); ok {
			c.read(inner, i)
			keys = append(keys, groupKey{meta: sc.cols[i], own: i})
		} else {
			col := c.columnOf(s, args[0])
			own := slices.IndexFunc(sc.cols, func(m colMeta) bool { return m.lineage == col })
			if own < 0 && (sc.base == nil || !sc.base.reaches(col.table)) {
				c.fail(args[0], Invalid, "The column '%s' specified in the '%s' function was not found in the input table.", col.name, "SUMMARIZE")
			}
			keys = append(keys, groupKey{meta: col.meta(), own: own, col: col})
		}
		args = args[1:]
	}
	return keys, args
}

// groups puts the rows of rel into groups, in the order in which they come.
func groups(sc *schema, keys []groupKey, rel *relation) (out *relation, members [][]int) {
	reads := make([]func(row int) value.Value, len(keys))
	ids := make([]func(row int) int32, len(keys))
	for i, k := range keys {
		switch {
		case k.own < 0:
			read := rel.schema.base.reader(k.col)
			ids[i] = func(row int) int32 { return read(rel.rows[row]) }
		case k.meta.lineage != nil && rel.cols[k.own].vals == nil:
			ids[i] = func(row int) int32 { id, _ := rel.id(k.own, row); return id }
		default:
			reads[i] = func(row int) value.Value { return rel.at(k.own, row) }
		}
	}
	byKey := map[string]int{}
	var first []int
	var buf []byte
	for row := range rel.n {
		buf = buf[:0]
		for i := range keys {
			if ids[i] != nil {
				id := ids[i](row)
				buf = append(buf, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
			} else {
				buf = reads[i](row).AppendKey(buf)
			}
		}
		g, ok := byKey[string(buf)]
		if !ok {
			g = len(first)
			byKey[string(buf)] = g
			first = append(first, row)
			members = append(members, nil)
		}
		members[g] = append(members[g], row)
	}
	out = &relation{schema: sc, n: len(first), cols: make([]vector, len(keys))}
	for i := range keys {
		if ids[i] != nil {
			v := make([]int32, len(first))
			for g, row := range first {
				v[g] = ids[i](row)
			}
			out.cols[i].ids = v
			continue
		}
		v := make([]value.Value, len(first))
		for g, row := range first {
			v[g] = reads[i](row)
		}
		out.cols[i].vals = v
	}
	return out, members
}

// summarize is SUMMARIZE. The expressions are computed in a row context of the
// group, and in a filter context of its rows.
func (c *compiler) summarize(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	keys, rest := c.groupKeys(s, sc, x.Args[1:])
	grouped := &schema{}
	for _, k := range keys {
		grouped.cols = append(grouped.cols, k.meta)
	}
	names, of := c.named(s.row(grouped), x, rest)
	out := &schema{cols: slices.Clone(grouped.cols)}
	for _, name := range names {
		out.cols = append(out.cols, madeMeta(name))
	}
	return node{schema: out, table: func(e *env) *relation {
		rel := table(e)
		r, members := groups(grouped, keys, rel)
		if len(of) == 0 {
			r.schema = out
			return r
		}
		made := make([][]value.Value, len(of))
		for i := range made {
			made[i] = make([]value.Value, r.n)
		}
		e.each(r, func(g int) {
			filters := r.rowFilters(g)
			if t := rel.schema.base; t != nil {
				rows := make([]int32, len(members[g]))
				for i, row := range members[g] {
					rows[i] = rel.rows[row]
				}
				slices.Sort(rows)
				filters = append(filters, &rowFilter{table: t, rows: column.Listed(t.size(), rows)})
			}
			inner := e.within(e.filter.override(filters...))
			for i, f := range of {
				made[i][g] = f(inner)
			}
		})
		wide := &relation{schema: out, n: r.n, cols: r.cols}
		for _, vals := range made {
			wide.cols = append(wide.cols, vector{vals: vals})
		}
		return wide
	}}
}

// currentGroupName is bound, while the expressions of GROUPBY are compiled, to
// the rows of the group. No variable can have that name.
const currentGroupName = "CURRENTGROUP()"

func (c *compiler) groupBy(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	keys, rest := c.groupKeys(s, sc, x.Args[1:])
	grouped := &schema{}
	for _, k := range keys {
		grouped.cols = append(grouped.cols, k.meta)
	}
	b, slot := c.variable(node{schema: sc, table: table})
	names, of := c.named(s.row(grouped).with(currentGroupName, b), x, rest)
	out := &schema{cols: slices.Clone(grouped.cols)}
	for _, name := range names {
		out.cols = append(out.cols, madeMeta(name))
	}
	return node{schema: out, table: func(e *env) *relation {
		rel := table(e)
		r, members := groups(grouped, keys, rel)
		made := make([][]value.Value, len(of))
		for i := range made {
			made[i] = make([]value.Value, r.n)
		}
		e.each(r, func(g int) {
			e.vars[slot].table = rel.pick(members[g])
			for i, f := range of {
				made[i][g] = f(e)
			}
		})
		wide := &relation{schema: out, n: r.n, cols: r.cols}
		for _, vals := range made {
			wide.cols = append(wide.cols, vector{vals: vals})
		}
		return wide
	}}
}

func (c *compiler) currentGroup(s *scope, x *dax.Call) node {
	b := s.find(currentGroupName)
	if b == nil {
		c.fail(x, Invalid, "CURRENTGROUP can only be used within GROUPBY.")
	}
	b.uses++
	return b.node
}

// A rollup is one group of ROLLUPADDISSUBTOTAL: columns, and the name of the
// column that says whether a row is their subtotal.
type rollup struct {
	cols []*modelColumn
	flag string
}

// A grouping is the arguments of SUMMARIZECOLUMNS.
type grouping struct {
	cols    []*modelColumn
	rollups []rollup
	filters []dax.Expr
	names   []string
	exprs   []dax.Expr
	ignore  []bool // the row does not stay for this expression
}

func (c *compiler) readGrouping(s *scope, x *dax.Call) grouping {
	var g grouping
	for args := x.Args; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		if name, ok := c.textArg(arg); ok {
			if len(args) == 0 {
				c.fail(arg, Invalid, "SUMMARIZECOLUMNS expects an expression after the name '%s'.", name)
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
		if ref, ok := arg.(*dax.Ref); ok {
			g.cols = append(g.cols, c.columnOf(s, ref))
			continue
		}
		if call, ok := arg.(*dax.Call); ok {
			switch knowledge.Fold(call.Func) {
			case "rollupaddissubtotal":
				g.rollups = append(g.rollups, c.readRollups(s, call)...)
				continue
			case "nonvisual":
				c.arity(call, 1, 1)
				arg = call.Args[0]
			}
		}
		if !c.isTable(s, arg) {
			c.fail(arg, Invalid, "SUMMARIZECOLUMNS expects columns, filter tables, and pairs of a name and an expression.")
		}
		g.filters = append(g.filters, arg)
	}
	return g
}

func (c *compiler) readRollups(s *scope, x *dax.Call) []rollup {
	var all []rollup
	for args := x.Args; len(args) > 0; {
		r := rollup{}
		if call, ok := args[0].(*dax.Call); ok && knowledge.Fold(call.Func) == "rollupgroup" {
			for _, arg := range call.Args {
				r.cols = append(r.cols, c.columnOf(s, arg))
			}
		} else {
			r.cols = []*modelColumn{c.columnOf(s, args[0])}
		}
		if len(args) < 2 {
			c.fail(x, Invalid, "ROLLUPADDISSUBTOTAL expects a name after each column.")
		}
		name, ok := c.textArg(args[1])
		if !ok {
			c.fail(args[1], Invalid, "ROLLUPADDISSUBTOTAL expects a name after each column.")
		}
		r.flag = name
		all = append(all, r)
		args = args[2:]
	}
	return all
}

// summarizeColumns is SUMMARIZECOLUMNS: the combinations of values of the
// columns for which one of the expressions is not blank.
func (c *compiler) summarizeColumns(s *scope, x *dax.Call) node {
	g := c.readGrouping(s, x)
	under := c.under(s, g.filters)
	of := make([]scalar, len(g.exprs))
	for i, expr := range g.exprs {
		of[i] = c.scalarOf(s, expr)
	}
	all := slices.Clone(g.cols)
	out := &schema{}
	for _, r := range g.rollups {
		all = append(all, r.cols...)
	}
	for _, col := range all {
		out.cols = append(out.cols, col.meta())
	}
	for _, r := range g.rollups {
		out.cols = append(out.cols, colMeta{name: r.flag})
	}
	for _, name := range g.names {
		out.cols = append(out.cols, madeMeta(name))
	}
	if len(all) == 0 && len(of) == 0 {
		c.fail(x, Invalid, "SUMMARIZECOLUMNS expects a column or an expression.")
	}
	facts := c.factTables(g.exprs, all)
	return node{schema: out, table: func(e *env) *relation {
		f := under(e)
		r := &relation{schema: out, cols: make([]vector, len(out.cols))}
		for i := range all {
			r.cols[i].ids = []int32{}
		}
		run := groupRun{e: e, f: f, of: of, ignore: g.ignore, all: all, into: r, singles: map[*modelColumn]map[int32]*valueFilter{}}
		cols := all
		for level := len(g.rollups); level >= 0; level-- {
			run.level(cols, facts, len(g.rollups), level)
			if level > 0 {
				cols = cols[:len(cols)-len(g.rollups[level-1].cols)]
			}
		}
		for i := range r.cols {
			if i >= len(all) && r.cols[i].vals == nil {
				r.cols[i].vals = []value.Value{}
			}
		}
		return r
	}}
}

// A groupRun computes the rows of SUMMARIZECOLUMNS.
type groupRun struct {
	e       *env
	f       *filterContext
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

// level adds the rows that are grouped by the first columns; those after them
// are totalled, and their flags say so.
func (g *groupRun) level(cols []*modelColumn, facts []*table, rollups, open int) {
	flat := []int32{}
	n := 1
	if len(cols) > 0 {
		flat = g.e.candidates(g.f, cols, facts)
		n = len(flat) / len(cols)
	}
	outside := g.f
	vals := make([]value.Value, len(g.of))
	for row := range n {
		if row&63 == 0 {
			g.e.q.check()
		}
		ids := flat[row*len(cols) : (row+1)*len(cols)]
		filters := make([]filter, len(cols))
		for i, c := range cols {
			filters[i] = g.single(c, ids[i])
		}
		f := outside.derive(append(slices.Clip(outside.filters), filters...))
		f.shadow = func() *filterContext { return outside }
		inner := g.e.within(f)
		keep := len(g.of) == 0
		for i, of := range g.of {
			vals[i] = of(inner)
			keep = keep || !vals[i].IsBlank() && !g.ignore[i]
		}
		if !keep {
			continue
		}
		r := g.into
		for i := range g.all {
			id := column.BlankID
			if i < len(cols) {
				id = ids[i]
			}
			r.cols[i].ids = append(r.cols[i].ids, id)
		}
		at := len(g.all)
		for i := range rollups {
			r.cols[at+i].vals = append(r.cols[at+i].vals, value.OfBool(i >= open))
		}
		for i, v := range vals {
			r.cols[at+rollups+i].vals = append(r.cols[at+rollups+i].vals, v)
		}
		r.n++
	}
}

// candidates is the combinations of values that can be groups: those of columns
// of one table exist in it; those of several tables exist in a fact table where
// the expressions are blank without one, and are all combinations otherwise.
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
		rows := f.rows(e.q, t)
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
		total *= len(p.flat) / len(own)
		if total > maxJoined {
			fail(Evaluation, "The query makes a table of more than %d rows.", maxJoined)
		}
		parts = append(parts, p)
	}
	flat := make([]int32, total*len(cols))
	each := total
	for _, p := range parts {
		width := len(p.at)
		n := len(p.flat) / width
		if n == 0 {
			return nil
		}
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
