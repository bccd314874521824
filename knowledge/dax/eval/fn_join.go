package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// joinFunctions are those that make one table of several.
func joinFunctions() map[string]function {
	return map[string]function{
		"crossjoin":            tableFunction(1, -1, (*compiler).crossJoin),
		"generate":             tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.generate(s, x, false) }),
		"generateall":          tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.generate(s, x, true) }),
		"union":                tableFunction(2, -1, (*compiler).union),
		"intersect":            tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.compareRows(s, x, true) }),
		"except":               tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.compareRows(s, x, false) }),
		"naturalinnerjoin":     tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.naturalJoin(s, x, false) }),
		"naturalleftouterjoin": tableFunction(2, 2, func(c *compiler, s *scope, x *dax.Call) node { return c.naturalJoin(s, x, true) }),
		"substitutewithindex":  tableFunction(3, -1, (*compiler).substituteWithIndex),
	}
}

// joined puts the columns of two tables side by side.
func (c *compiler) joined(x *dax.Call, a, b *schema) *schema {
	sc := &schema{cols: slices.Concat(a.cols, b.cols)}
	for _, m := range b.cols {
		for _, n := range a.cols {
			if knowledge.Fold(m.key()) == knowledge.Fold(n.key()) {
				c.fail(x, Invalid, "Function %s does not allow two columns with the same name '%s'.", x.Func, m.key())
			}
		}
	}
	return sc
}

// paired is the given rows of a beside the given rows of b.
func paired(sc *schema, a, b *relation, left, right []int) *relation {
	r := &relation{schema: sc, n: len(left)}
	for i := range a.cols {
		r.cols = append(r.cols, a.vector(i).pick(left))
	}
	for i := range b.cols {
		r.cols = append(r.cols, b.vector(i).pick(right))
	}
	return r
}

func (c *compiler) crossJoin(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	for _, arg := range x.Args[1:] {
		first := table
		second, right := c.tableOf(s, arg)
		wide := c.joined(x, sc, right)
		sc = wide
		table = func(e *env) *relation {
			a, b := first(e), second(e)
			e.q.spendTable(a.n, b.n*len(wide.cols))
			left, right := make([]int, 0, a.n*b.n), make([]int, 0, a.n*b.n)
			for i := range a.n {
				for j := range b.n {
					left, right = append(left, i), append(right, j)
				}
			}
			return paired(wide, a, b, left, right)
		}
	}
	return node{schema: sc, table: table}
}

// generate is GENERATE: for each row of the first table the rows of the second,
// computed in that row. GENERATEALL keeps rows for which there are none.
func (c *compiler) generate(s *scope, x *dax.Call, all bool) node {
	first, left := c.tableOf(s, x.Args[0])
	second, right := c.tableOf(s.row(left), x.Args[1])
	sc := c.joined(x, left, right)
	return node{schema: sc, table: func(e *env) *relation {
		a := first(e)
		var rows []int
		counted := 0
		parts := make([][]value.Value, len(right.cols))
		for i := range parts {
			parts[i] = []value.Value{}
		}
		ids := make([][]int32, len(right.cols))
		plain := make([]bool, len(right.cols)) // some part has values without numbers
		e.each(a, func(i int) {
			b := second(e)
			n := b.n
			for range n {
				rows = append(rows, i)
			}
			if n == 0 && all {
				rows = append(rows, i)
			}
			if made := len(rows) * len(sc.cols); made-counted >= smallTable {
				e.q.spend(made - counted)
				counted = made
			}
			for k := range right.cols {
				if n == 0 && all {
					parts[k] = append(parts[k], value.Value{})
					ids[k] = append(ids[k], 0)
					continue
				}
				for row := range n {
					parts[k] = append(parts[k], b.at(k, row))
					if right.cols[k].lineage == nil {
						plain[k] = true
						continue
					}
					id, ok := b.id(k, row)
					plain[k] = plain[k] || !ok
					ids[k] = append(ids[k], id)
				}
			}
		})
		r := &relation{schema: sc, n: len(rows)}
		for i := range a.cols {
			r.cols = append(r.cols, a.vector(i).pick(rows))
		}
		for k := range right.cols {
			if plain[k] || right.cols[k].lineage == nil {
				r.cols = append(r.cols, vector{vals: parts[k]})
			} else {
				r.cols = append(r.cols, vector{ids: slices.Concat([]int32{}, ids[k])})
			}
		}
		return r
	}}
}

// union is UNION, by position. A column keeps its lineage where all tables agree
// on it.
func (c *compiler) union(s *scope, x *dax.Call) node {
	tables := make([]tableFn, len(x.Args))
	sc := &schema{}
	for i, arg := range x.Args {
		table, part := c.tableOf(s, arg)
		tables[i] = table
		if i == 0 {
			sc.cols = slices.Clone(part.cols)
			continue
		}
		if len(part.cols) != len(sc.cols) {
			c.fail(x, Invalid, "Each table argument of '%s' must have the same number of columns.", x.Func)
		}
		for k, m := range part.cols {
			if m.lineage != sc.cols[k].lineage {
				sc.cols[k] = colMeta{name: sc.cols[k].name}
			}
		}
	}
	return node{schema: sc, table: func(e *env) *relation {
		r := newRelation(sc)
		for _, table := range tables {
			rel := table(e)
			e.q.spendTable(rel.n, len(sc.cols))
			for k := range sc.cols {
				r.cols[k].vals = append(r.cols[k].vals, rel.values(k)...)
			}
			r.n += rel.n
		}
		return r
	}}
}

// compareRows is INTERSECT and EXCEPT: the rows of the first table that are in
// the second, or are not.
func (c *compiler) compareRows(s *scope, x *dax.Call, in bool) node {
	first, sc := c.tableOf(s, x.Args[0])
	second, right := c.tableOf(s, x.Args[1])
	if len(sc.cols) != len(right.cols) {
		c.fail(x, Invalid, "Each table argument of '%s' must have the same number of columns.", x.Func)
	}
	return node{schema: sc, table: func(e *env) *relation {
		a, keys := first(e), second(e).keys()
		var keep []int
		var buf []byte
		for i := range a.n {
			buf = a.rowKey(buf[:0], i)
			if _, ok := keys[string(buf)]; ok == in {
				keep = append(keep, i)
			}
		}
		return a.pick(keep)
	}}
}

// naturalJoin joins on the columns that have the same name and, where both come
// from the model, the same lineage.
func (c *compiler) naturalJoin(s *scope, x *dax.Call, outer bool) node {
	first, left := c.tableOf(s, x.Args[0])
	second, right := c.tableOf(s, x.Args[1])
	var on [][2]int
	var rest []int
	sc := &schema{cols: slices.Clone(left.cols)}
	for j, m := range right.cols {
		shared := slices.IndexFunc(left.cols, func(n colMeta) bool {
			return knowledge.Fold(m.name) == knowledge.Fold(n.name) && m.lineage == n.lineage
		})
		if shared >= 0 {
			on = append(on, [2]int{shared, j})
			continue
		}
		rest = append(rest, j)
		sc.cols = append(sc.cols, m)
	}
	if len(on) == 0 {
		c.fail(x, Invalid, "No common join columns detected. The join function '%s' requires at-least one common join column.", x.Func)
	}
	return node{schema: sc, table: func(e *env) *relation {
		a, b := first(e), second(e)
		key := func(r *relation, side, row int) string {
			var buf []byte
			for _, pair := range on {
				buf = r.at(pair[side], row).AppendKey(buf)
			}
			return string(buf)
		}
		partners := map[string][]int{}
		for j := range b.n {
			k := key(b, 1, j)
			partners[k] = append(partners[k], j)
		}
		r := newRelation(sc)
		counted := 0
		for i := range a.n {
			if made := r.n * len(sc.cols); made-counted >= smallTable {
				e.q.spend(made - counted)
				counted = made
			}
			vals := a.row(i)
			found := partners[key(a, 0, i)]
			for _, j := range found {
				full := slices.Clone(vals)
				for _, k := range rest {
					full = append(full, b.at(k, j))
				}
				r.addRow(full...)
			}
			if outer && len(found) == 0 {
				r.addRow(append(vals, make([]value.Value, len(rest))...)...)
			}
		}
		return r
	}}
}

// substituteWithIndex is SUBSTITUTEWITHINDEX ( table, name, index table, order… ):
// the columns that both tables have become one, the place of their values in the
// index table, counted from 0. Rows that are not in it are left out.
func (c *compiler) substituteWithIndex(s *scope, x *dax.Call) node {
	table, left := c.tableOf(s, x.Args[0])
	name, ok := c.textArg(x.Args[1])
	if !ok {
		c.fail(x.Args[1], Invalid, "SUBSTITUTEWITHINDEX expects the name of the column as text.")
	}
	index, right := c.tableOf(s, x.Args[2])
	keys := c.sortKeys(s.row(right), x.Args[3:], true)
	var common, places, kept []int // of left, the same of right, the others of left
	sc := &schema{cols: []colMeta{madeMeta(name)}}
	for i, m := range left.cols {
		at := slices.IndexFunc(right.cols, func(n colMeta) bool { return knowledge.Fold(n.key()) == knowledge.Fold(m.key()) })
		if at < 0 {
			kept = append(kept, i)
			sc.cols = append(sc.cols, m)
			continue
		}
		common, places = append(common, i), append(places, at)
	}
	if len(common) == 0 {
		c.fail(x, Invalid, "The tables of SUBSTITUTEWITHINDEX have no column in common.")
	}
	return node{schema: sc, table: func(e *env) *relation {
		a, b := table(e), index(e)
		order, _ := e.ordered(b, keys)
		at := map[string]int{}
		for i, row := range order {
			key := string(b.keyOf(places, row))
			if _, seen := at[key]; !seen {
				at[key] = i
			}
		}
		var rows []int
		made := []value.Value{}
		for row := range a.n {
			if i, ok := at[string(a.keyOf(common, row))]; ok {
				rows, made = append(rows, row), append(made, value.OfInt(int64(i)))
			}
		}
		r := &relation{schema: sc, n: len(rows), cols: []vector{{vals: made}}}
		for _, i := range kept {
			r.cols = append(r.cols, a.vector(i).pick(rows))
		}
		return r
	}}
}

// keyOf is the values of some columns of a row in a form that can be compared.
func (r *relation) keyOf(cols []int, row int) []byte {
	var buf []byte
	for _, c := range cols {
		buf = r.at(c, row).AppendKey(buf)
	}
	return buf
}
