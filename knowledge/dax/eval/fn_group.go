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

// groupKeys reads the columns of SUMMARIZE and GROUPBY. The levels are the keys
// that count for the detail rows, and, where ROLLUP names some, for the subtotals.
func (c *compiler) groupKeys(s *scope, x *dax.Call, sc *schema) (keys []groupKey, levels [][]int, rest []dax.Expr) {
	args := x.Args[1:]
	inner := s.row(sc)
	var rolled [][]int // keys that are rolled up together, in order
	key := func(arg dax.Expr) int {
		k := c.groupKey(s, inner, x, arg)
		if slices.ContainsFunc(keys, func(other groupKey) bool { return other.meta == k.meta }) {
			c.fail(arg, Invalid, "The column '%s' is named more than once in the %s function.", k.meta.name, x.Func)
		}
		keys = append(keys, k)
		return len(keys) - 1
	}
	for ; len(args) > 0; args = args[1:] {
		if _, ok := args[0].(*dax.Text); ok {
			break
		}
		call, ok := args[0].(*dax.Call)
		if !ok || knowledge.Fold(call.Func) != "rollup" || knowledge.Fold(x.Func) != "summarize" {
			key(args[0])
			continue
		}
		if rolled != nil {
			c.fail(call, Unsupported, "More than one ROLLUP in SUMMARIZE is not supported here; SUMMARIZECOLUMNS takes several ROLLUPADDISSUBTOTAL.")
		}
		c.arity(call, 1, -1)
		for _, arg := range call.Args {
			var together []int
			if group, ok := arg.(*dax.Call); ok && knowledge.Fold(group.Func) == "rollupgroup" {
				c.arity(group, 1, -1)
				for _, arg := range group.Args {
					together = append(together, key(arg))
				}
			} else {
				together = []int{key(arg)}
			}
			rolled = append(rolled, together)
		}
	}
	var level []int
	for i := range keys {
		level = append(level, i)
	}
	levels = [][]int{level}
	for _, gone := range slices.Backward(rolled) {
		level = slices.DeleteFunc(slices.Clone(level), func(i int) bool { return slices.Contains(gone, i) })
		levels = append(levels, level)
	}
	return keys, levels, args
}

func (c *compiler) groupKey(s, inner *scope, x *dax.Call, arg dax.Expr) groupKey {
	sc := inner.frame
	if i, ok := c.directColumn(inner, arg); ok {
		c.read(inner, i)
		return groupKey{meta: sc.cols[i], own: i}
	}
	if call, ok := arg.(*dax.Call); ok {
		c.fail(call, Invalid, "%s expects columns, and then pairs of a name and an expression.", x.Func)
	}
	col := c.columnOf(s, arg)
	own := slices.IndexFunc(sc.cols, func(m colMeta) bool { return m.lineage == col })
	if own < 0 && (sc.base == nil || !sc.base.reaches(col.table)) {
		c.fail(arg, Invalid, "The column '%s' specified in the '%s' function was not found in the input table.", col.name, x.Func)
	}
	return groupKey{meta: col.meta(), own: own, col: col}
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

// subtotalName is bound, while the expressions of SUMMARIZE are compiled, to the
// set of keys that do not count for the row. No variable can have that name.
const subtotalName = "ISSUBTOTAL()"

// summarize is SUMMARIZE. The expressions are computed in a row context of the
// group, and in a filter context of its rows.
func (c *compiler) summarize(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	keys, levels, rest := c.groupKeys(s, x, sc)
	grouped := &schema{}
	for _, k := range keys {
		grouped.cols = append(grouped.cols, k.meta)
	}
	b, slot := c.variable(constant(value.Value{}))
	b.keys = keys
	names, of := c.named(s.row(grouped).with(subtotalName, b), x, rest)
	out := &schema{cols: slices.Clone(grouped.cols)}
	for _, name := range names {
		c.fresh(x, out, name)
		out.cols = append(out.cols, madeMeta(name))
	}
	return node{schema: out, table: func(e *env) *relation {
		rel := table(e)
		all := &relation{schema: out, cols: make([]vector, len(out.cols))}
		for _, level := range levels {
			kept := make([]groupKey, len(level))
			part := &schema{}
			for i, at := range level {
				kept[i] = keys[at]
				part.cols = append(part.cols, keys[at].meta)
			}
			r, members := groups(part, kept, rel)
			e.q.spendTable(r.n, len(out.cols))
			wide := &relation{schema: out, n: r.n, cols: make([]vector, len(out.cols))}
			gone := int64(0)
			for i := range keys {
				if at := slices.Index(level, i); at >= 0 {
					wide.cols[i] = r.cols[at]
				} else {
					wide.cols[i].vals = make([]value.Value, r.n)
					gone |= 1 << i
				}
			}
			for i := range of {
				wide.cols[len(keys)+i].vals = make([]value.Value, r.n)
			}
			if len(of) > 0 {
				e.vars[slot].scalar = value.OfInt(gone)
				e.each(wide, func(g int) {
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
						wide.cols[len(keys)+i].vals[g] = f(inner)
					}
				})
			}
			if len(levels) == 1 {
				return wide
			}
			for i := range all.cols {
				all.cols[i].vals = append(all.cols[i].vals, wide.values(i)...)
			}
			all.n += wide.n
		}
		for i := range all.cols {
			all.cols[i].vals = slices.Concat([]value.Value{}, all.cols[i].vals)
		}
		return all
	}}
}

// isSubtotal is ISSUBTOTAL: whether the row of SUMMARIZE is a subtotal over a
// column.
func (c *compiler) isSubtotal(s *scope, x *dax.Call) node {
	b := s.find(subtotalName)
	if b == nil {
		c.fail(x, Invalid, "The function ISSUBTOTAL can only be used in SUMMARIZE.")
	}
	col := c.columnOf(s, x.Args[0])
	at := slices.IndexFunc(b.keys, func(k groupKey) bool { return k.meta.lineage == col })
	if at < 0 {
		c.fail(x.Args[0], Invalid, "The column %s is not one that SUMMARIZE groups by.", col)
	}
	b.uses++
	gone := b.node.scalar
	return node{scalar: func(e *env) value.Value { return value.OfBool(gone(e).Int()>>at&1 != 0) }}
}

// currentGroupName is bound, while the expressions of GROUPBY are compiled, to
// the rows of the group. No variable can have that name.
const currentGroupName = "CURRENTGROUP()"

func (c *compiler) groupBy(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	keys, _, rest := c.groupKeys(s, x, sc)
	grouped := &schema{}
	for _, k := range keys {
		grouped.cols = append(grouped.cols, k.meta)
	}
	b, slot := c.variable(node{schema: sc, table: table})
	for i := 1; i < len(rest); i += 2 {
		c.onlyAggregates(rest[i])
	}
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

// onlyAggregates refuses what GROUPBY does not compute: the group is in no filter
// context, so that CALCULATE and measures have nothing to work on.
func (c *compiler) onlyAggregates(x dax.Expr) {
	if x == nil {
		return
	}
	refuse := func(at dax.Node) {
		c.fail(at, Invalid, "Function 'GROUPBY' scalar expressions have to be Aggregation functions over CurrentGroup(). The expression of each Aggregation has to be either a constant or directly reference the columns in CurrentGroup().")
	}
	dax.Walk(x, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Call:
			if name := knowledge.Fold(n.Func); name == "calculate" || name == "calculatetable" {
				refuse(n)
			}
		case *dax.Ref:
			if n.HasTable && c.q.table(n.Table) != nil && c.q.column(c.q.table(n.Table), n.Name) == nil && c.q.measure(n.Name) != nil {
				refuse(n)
			}
		}
		return true
	})
}

func (c *compiler) currentGroup(s *scope, x *dax.Call) node {
	b := s.find(currentGroupName)
	if b == nil {
		c.fail(x, Invalid, "CURRENTGROUP can only be used within GROUPBY.")
	}
	b.uses++
	return b.node
}
