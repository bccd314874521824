package eval

import (
	"math"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// windowFunctions look at the rows before and after the current one in an
// ordered table.
func windowFunctions() map[string]function {
	return map[string]function{
		"offset":    tableFunction(1, -1, (*compiler).offset),
		"index":     tableFunction(1, -1, (*compiler).index),
		"window":    tableFunction(2, -1, (*compiler).window),
		"rownumber": scalarFunction(1, -1, (*compiler).rowNumber),
		"rank":      scalarFunction(1, -1, (*compiler).rank),
	}
}

// A windowSpec is the arguments that the window functions share: a table, its
// order, and the columns that part it.
type windowSpec struct {
	table     tableFn
	schema    *schema
	keys      []sortKey
	partition []int    // columns of the table
	current   []binder // by column of the table
}

// A binder gives the value of a column in the current row, or false where
// neither a row context nor the filter context holds it.
type binder func(*env) (value.Value, bool)

// windowSpec reads the arguments from the relation on.
func (c *compiler) windowSpec(s *scope, x *dax.Call, args []dax.Expr) windowSpec {
	var table, order, partition dax.Expr
	for _, arg := range args {
		call, isCall := arg.(*dax.Call)
		switch {
		case arg == nil:
		case isCall && knowledge.Fold(call.Func) == "orderby":
			order = arg
		case isCall && knowledge.Fold(call.Func) == "partitionby":
			partition = arg
		case isCall && knowledge.Fold(call.Func) == "matchby":
			c.fail(call, Unsupported, "MATCHBY is not supported here.")
		case c.isTable(s, arg) && c.word(arg) != "default" && c.word(arg) != "first" && c.word(arg) != "last" && c.word(arg) != "keep":
			table = arg
		}
	}
	var w windowSpec
	if table == nil {
		if order == nil {
			c.fail(x, Invalid, "%s needs a table or ORDERBY.", x.Func)
		}
		table = c.impliedTable(s, order, partition)
	}
	w.table, w.schema = c.tableOf(s, table)
	inner := s.row(w.schema)
	if call, ok := order.(*dax.Call); ok {
		w.keys = c.sortKeys(inner, call.Args, false)
		for i, key := range w.keys {
			w.keys[i].of = func(e *env) value.Value {
				if v := key.of(e); !v.IsBlank() {
					return v
				}
				// In ORDERBY a blank stands between zero and the negative numbers.
				return value.OfDouble(-math.SmallestNonzeroFloat64)
			}
		}
	} else {
		for i := range w.schema.cols {
			w.keys = append(w.keys, sortKey{of: c.read(inner, i).scalar})
		}
	}
	if call, ok := partition.(*dax.Call); ok {
		for _, arg := range call.Args {
			i, ok := c.directColumn(inner, arg)
			if !ok {
				c.fail(arg, Invalid, "PARTITIONBY expects columns of the table.")
			}
			w.partition = append(w.partition, i)
		}
	}
	for _, m := range w.schema.cols {
		w.current = append(w.current, c.binder(s, m))
	}
	return w
}

// impliedTable is the table where none is given: all that is selected of the
// columns in ORDERBY and PARTITIONBY.
func (c *compiler) impliedTable(s *scope, order, partition dax.Expr) dax.Expr {
	all := &dax.Call{Func: "ALLSELECTED"}
	for _, x := range []dax.Expr{order, partition} {
		if call, ok := x.(*dax.Call); ok {
			for _, arg := range call.Args {
				if ref, ok := arg.(*dax.Ref); ok && c.tryColumn(s, ref) != nil {
					all.Args = append(all.Args, ref)
				}
			}
		}
	}
	if len(all.Args) == 0 {
		c.fail(order, Invalid, "ORDERBY must name columns where no table is given.")
	}
	return all
}

func (c *compiler) binder(s *scope, m colMeta) binder {
	for at := s; at != nil; at = at.outer {
		if at.frame == nil {
			continue
		}
		for i, n := range at.frame.cols {
			if m.lineage != nil && n.lineage == m.lineage || m.lineage == nil && n.lineage == nil && knowledge.Fold(m.name) == knowledge.Fold(n.name) {
				read := c.read(at, i).scalar
				return func(e *env) (value.Value, bool) { return read(e), true }
			}
		}
	}
	col := m.lineage
	if col == nil {
		return func(*env) (value.Value, bool) { return value.Value{}, false }
	}
	return func(e *env) (value.Value, bool) {
		if !e.filter.covers(col) {
			return value.Value{}, false
		}
		if ids := e.current(col); len(ids) == 1 {
			return col.data.Values()[ids[0]], true
		}
		return value.Value{}, false
	}
}

// A windowRun is the table in order, and where the current rows are in it.
type windowRun struct {
	rel     *relation
	parts   [][]int // rows by part, each in order
	compare func(a, b int) int
	here    [][2]int // part and place of each current row
	bound   bool     // something says which row is current
}

func (w *windowSpec) run(e *env) windowRun {
	r := windowRun{rel: w.table(e)}
	places, compare := e.ordered(r.rel, w.keys)
	r.compare = compare
	byKey := map[string]int{}
	var buf []byte
	for _, row := range places {
		buf = buf[:0]
		for _, c := range w.partition {
			buf = r.rel.at(c, row).AppendKey(buf)
		}
		p, ok := byKey[string(buf)]
		if !ok {
			p = len(r.parts)
			byKey[string(buf)] = p
			r.parts = append(r.parts, nil)
		}
		r.parts[p] = append(r.parts[p], row)
	}
	type held struct {
		col int
		key value.Key
	}
	var holds []held
	for c, bind := range w.current {
		if v, ok := bind(e); ok {
			holds = append(holds, held{c, v.Key()})
		}
	}
	r.bound = len(holds) > 0
	for p, rows := range r.parts {
		for place, row := range rows {
			if !slices.ContainsFunc(holds, func(h held) bool { return r.rel.at(h.col, row).Key() != h.key }) {
				r.here = append(r.here, [2]int{p, place})
			}
		}
	}
	return r
}

// pick is the rows at the given places, each once.
func (r *windowRun) pick(add func(part []int, place int, take func(place int))) *relation {
	seen := map[int]bool{}
	var rows []int
	for _, at := range r.here {
		part := r.parts[at[0]]
		add(part, at[1], func(place int) {
			if place >= 0 && place < len(part) && !seen[part[place]] {
				seen[part[place]] = true
				rows = append(rows, part[place])
			}
		})
	}
	return r.rel.pick(rows)
}

func (c *compiler) offset(s *scope, x *dax.Call) node {
	by := c.scalarOf(s, x.Args[0])
	w := c.windowSpec(s, x, x.Args[1:])
	return node{schema: w.schema, table: func(e *env) *relation {
		run, n := w.run(e), small(by(e))
		return run.pick(func(_ []int, place int, take func(int)) { take(place + n) })
	}}
}

// index counts from 1, or from the end where it is negative.
func (c *compiler) index(s *scope, x *dax.Call) node {
	at := c.scalarOf(s, x.Args[0])
	w := c.windowSpec(s, x, x.Args[1:])
	return node{schema: w.schema, table: func(e *env) *relation {
		run, n := w.run(e), small(at(e))
		return run.pick(func(part []int, _ int, take func(int)) { take(fromEnd(n, len(part))) })
	}}
}

// fromEnd is the place of the row with a number that counts from 1, or from -1
// backwards; -1 for 0.
func fromEnd(n, size int) int {
	if n < 0 {
		return size + n
	}
	return n - 1
}

// window is WINDOW ( from, type, to, type, … ), where a type is ABS or REL.
func (c *compiler) window(s *scope, x *dax.Call) node {
	args := x.Args
	bound := func() (scalar, bool) {
		if len(args) == 0 {
			c.fail(x, Invalid, "WINDOW expects where it starts and where it ends.")
		}
		n, absolute := c.scalarOf(s, args[0]), false
		args = args[1:]
		if len(args) > 0 {
			switch c.word(args[0]) {
			case "abs":
				absolute = true
				args = args[1:]
			case "rel":
				args = args[1:]
			}
		}
		return n, absolute
	}
	from, fromAbsolute := bound()
	to, toAbsolute := bound()
	w := c.windowSpec(s, x, args)
	return node{schema: w.schema, table: func(e *env) *relation {
		run := w.run(e)
		first, last := small(from(e)), small(to(e))
		return run.pick(func(part []int, place int, take func(int)) {
			a, b := place+first, place+last
			if fromAbsolute {
				a = fromEnd(first, len(part))
			}
			if toAbsolute {
				b = fromEnd(last, len(part))
			}
			for i := max(a, 0); i <= b && i < len(part); i++ {
				take(i)
			}
		})
	}}
}

func (c *compiler) rowNumber(s *scope, x *dax.Call) node {
	w := c.windowSpec(s, x, x.Args)
	return node{scalar: func(e *env) value.Value {
		run := w.run(e)
		if !run.bound || len(run.here) != 1 {
			return value.Value{}
		}
		return value.OfInt(int64(run.here[0][1] + 1))
	}}
}

// rank is RANK ( ties, table, order, … ).
func (c *compiler) rank(s *scope, x *dax.Call) node {
	args, dense := x.Args, false
	switch c.word(args[0]) {
	case "dense":
		dense, args = true, args[1:]
	case "skip":
		args = args[1:]
	}
	w := c.windowSpec(s, x, args)
	return node{scalar: func(e *env) value.Value {
		run := w.run(e)
		if !run.bound || len(run.here) == 0 {
			return value.Value{}
		}
		part, place := run.parts[run.here[0][0]], run.here[0][1]
		rank := int64(1)
		for i := 1; i <= place; i++ {
			if run.compare(part[i-1], part[i]) != 0 {
				if rank++; !dense {
					rank = int64(i + 1)
				}
			}
		}
		return value.OfInt(rank)
	}}
}
