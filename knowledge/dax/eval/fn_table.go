package eval

import (
	"math"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// tableFunctions are those that shape one table, or make one.
func tableFunctions() map[string]function {
	return map[string]function{
		"addcolumns":     tableFunction(1, -1, (*compiler).addColumns),
		"selectcolumns":  tableFunction(2, -1, (*compiler).selectColumns),
		"row":            tableFunction(2, -1, (*compiler).rowTable),
		"topn":           tableFunction(2, -1, (*compiler).topN),
		"generateseries": tableFunction(2, 3, (*compiler).generateSeries),
		"datatable":      tableFunction(3, -1, (*compiler).dataTable),
		"treatas":        tableFunction(2, -1, (*compiler).treatAs),
		"topnskip":       tableFunction(3, -1, (*compiler).topNSkip),
	}
}

// textArg is an argument that must be written as text.
func (c *compiler) textArg(x dax.Expr) (string, bool) {
	t, ok := x.(*dax.Text)
	if !ok {
		return "", false
	}
	return t.Value, true
}

// named reads name and expression pairs; the expressions are compiled in s.
func (c *compiler) named(s *scope, x *dax.Call, args []dax.Expr) (names []string, of []scalar) {
	for i := 0; i < len(args); i += 2 {
		name, ok := c.textArg(args[i])
		if !ok || i+1 >= len(args) {
			c.fail(x, Invalid, "The %s function expects a name and an expression for each column.", x.Func)
		}
		names = append(names, name)
		of = append(of, c.scalarOf(s, args[i+1]))
	}
	return names, of
}

// madeMeta is the column that a name in quotes makes: a name like T[c] keeps its
// table.
func madeMeta(name string) colMeta {
	if x, err := dax.ParseExpr(name); err == nil {
		if ref, ok := x.(*dax.Ref); ok {
			return colMeta{table: ref.Table, name: ref.Name}
		}
	}
	return colMeta{name: name}
}

func (c *compiler) addColumns(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	names, of := c.named(s.row(sc), x, x.Args[1:])
	wide := &schema{base: sc.base, cols: append([]colMeta(nil), sc.cols...)}
	for _, name := range names {
		c.fresh(x, wide, name)
		wide.cols = append(wide.cols, madeMeta(name))
	}
	return node{schema: wide, table: func(e *env) *relation {
		rel := table(e)
		out := &relation{schema: wide, n: rel.n, rows: rel.rows, cols: append([]vector(nil), rel.cols...)}
		made := make([][]value.Value, len(of))
		e.q.spendTable(rel.n, len(of))
		for i := range made {
			made[i] = make([]value.Value, rel.n)
		}
		e.each(rel, func(row int) {
			for i, f := range of {
				made[i][row] = f(e)
			}
		})
		for _, vals := range made {
			out.cols = append(out.cols, vector{vals: vals})
		}
		return out
	}}
}

// fresh refuses a name that the table has already.
func (c *compiler) fresh(x *dax.Call, sc *schema, name string) {
	for _, m := range sc.cols {
		if m.table == "" && knowledge.Fold(m.name) == knowledge.Fold(name) {
			c.fail(x, Invalid, "Function %s cannot add column [%s] since it already exists.", x.Func, name)
		}
	}
}

// directColumn is the column of the innermost row context that an expression is.
func (c *compiler) directColumn(s *scope, x dax.Expr) (int, bool) {
	ref, ok := x.(*dax.Ref)
	if !ok || s.frame == nil || ref.Variation != "" {
		return 0, false
	}
	table, name := knowledge.Fold(ref.Table), knowledge.Fold(ref.Name)
	for i, m := range s.frame.cols {
		if knowledge.Fold(m.name) == name && (!ref.HasTable || knowledge.Fold(m.table) == table) {
			return i, true
		}
	}
	return 0, false
}

// selectColumns is SELECTCOLUMNS. A column that is taken over keeps its lineage
// under its new name.
func (c *compiler) selectColumns(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	inner := s.row(sc)
	out := &schema{}
	type source struct {
		from int // of the table; -1 where of computes it
		of   scalar
	}
	var sources []source
	for args := x.Args[1:]; len(args) > 0; {
		name, isName := c.textArg(args[0])
		if isName && len(args) > 1 {
			args = args[1:]
		}
		i, direct := c.directColumn(inner, args[0])
		switch {
		case direct:
			c.read(inner, i)
			m := sc.cols[i]
			if isName {
				m.table, m.name = "", name
			}
			sources = append(sources, source{from: i})
			out.cols = append(out.cols, m)
		case isName:
			c.fresh(x, out, name)
			sources = append(sources, source{from: -1, of: c.scalarOf(inner, args[0])})
			out.cols = append(out.cols, madeMeta(name))
		default:
			c.fail(args[0], Invalid, "SELECTCOLUMNS expects a name before an expression that is not a column.")
		}
		args = args[1:]
	}
	return node{schema: out, table: func(e *env) *relation {
		rel := table(e)
		r := &relation{schema: out, n: rel.n, cols: make([]vector, len(sources))}
		computed := false
		e.q.spendTable(rel.n, len(sources))
		for i, src := range sources {
			if src.from >= 0 {
				r.cols[i] = rel.vector(src.from)
			} else {
				r.cols[i].vals = make([]value.Value, rel.n)
				computed = true
			}
		}
		if computed {
			e.each(rel, func(row int) {
				for i, src := range sources {
					if src.from < 0 {
						r.cols[i].vals[row] = src.of(e)
					}
				}
			})
		}
		return r
	}}
}

func (c *compiler) rowTable(s *scope, x *dax.Call) node {
	names, of := c.named(s, x, x.Args)
	sc := &schema{}
	for _, name := range names {
		c.fresh(x, sc, name)
		sc.cols = append(sc.cols, madeMeta(name))
	}
	return node{schema: sc, table: func(e *env) *relation {
		rel := newRelation(sc)
		vals := make([]value.Value, len(of))
		for i, f := range of {
			vals[i] = f(e)
		}
		rel.addRow(vals...)
		return rel
	}}
}

// topN is TOPN. Rows that tie with the last one are all in.
func (c *compiler) topN(s *scope, x *dax.Call) node {
	count := c.scalarOf(s, x.Args[0])
	table, sc := c.tableOf(s, x.Args[1])
	keys := c.sortKeys(s.row(sc), x.Args[2:], true)
	return node{schema: sc, table: func(e *env) *relation {
		n := int(max(0, must(value.Number(count(e))).Int()))
		rel := table(e)
		places, compare := e.ordered(rel, keys)
		if n >= len(places) {
			return rel
		}
		end := n
		for end > 0 && end < len(places) && len(keys) > 0 && compare(places[end], places[n-1]) == 0 {
			end++
		}
		return rel.pick(places[:end])
	}}
}

// topNSkip is TOPNSKIP: rows of a sorted table after some that are skipped. Rows
// that tie with the last one are all in.
func (c *compiler) topNSkip(s *scope, x *dax.Call) node {
	count, skipped := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	table, sc := c.tableOf(s, x.Args[2])
	keys := c.sortKeys(s.row(sc), x.Args[3:], true)
	return node{schema: sc, table: func(e *env) *relation {
		n := max(0, small(count(e)))
		rel := table(e)
		places, compare := e.ordered(rel, keys)
		places = places[min(len(places), max(0, small(skipped(e)))):]
		end := min(n, len(places))
		for end > 0 && end < len(places) && len(keys) > 0 && compare(places[end], places[end-1]) == 0 {
			end++
		}
		return rel.pick(places[:end])
	}}
}

func (c *compiler) generateSeries(s *scope, x *dax.Call) node {
	from, to := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	step := constant(value.OfInt(1)).scalar
	if len(x.Args) > 2 {
		step = c.scalarOf(s, x.Args[2])
	}
	sc := &schema{cols: []colMeta{{name: "Value"}}}
	return node{schema: sc, table: func(e *env) *relation {
		first, last, by := must(value.Number(from(e))), must(value.Number(to(e))), must(value.Number(step(e)))
		if by.Float() <= 0 {
			fail(Evaluation, "The increment of GENERATESERIES must be positive.")
		}
		rel := newRelation(sc)
		n := math.Floor((last.Float()-first.Float())/by.Float() + 1e-9)
		e.q.spend(int(min(n, maxCells) + 1))
		v := first
		for i := 0; i <= int(n); i++ {
			rel.addRow(v)
			v = must(value.Add(first, must(value.Mul(value.OfInt(int64(i+1)), by))))
		}
		return rel
	}}
}

// dataTable is DATATABLE ( name, type, …, { { value, … }, … } ).
func (c *compiler) dataTable(s *scope, x *dax.Call) node {
	sc := &schema{}
	var kinds []value.Kind
	args := x.Args
	for len(args) > 1 {
		name, ok := c.textArg(args[0])
		kind, known := typeKind(c.word(args[1]))
		if !ok || !known {
			c.fail(args[0], Invalid, "DATATABLE expects a name and a type for each column, and then the rows.")
		}
		sc.cols = append(sc.cols, colMeta{name: name})
		kinds = append(kinds, kind)
		args = args[2:]
	}
	if len(args) != 1 {
		c.fail(x, Invalid, "DATATABLE expects its rows as the last argument.")
	}
	literal, ok := args[0].(*dax.TableConstructor)
	if !ok {
		c.fail(args[0], Invalid, "The rows of DATATABLE must be written as { { value, … }, … }.")
	}
	rel := newRelation(sc)
	for _, row := range literal.Rows {
		var items []dax.Expr
		switch row := row.(type) {
		case *dax.TableConstructor:
			items = row.Rows
		case *dax.Tuple:
			items = row.Items
		default:
			items = []dax.Expr{row}
		}
		if len(items) != len(kinds) {
			c.fail(row, Invalid, "Each row of DATATABLE must have a value for every column.")
		}
		vals := make([]value.Value, len(items))
		for i, item := range items {
			vals[i] = must(value.Convert(c.literal(item), kinds[i]))
		}
		rel.addRow(vals...)
	}
	return node{schema: sc, table: func(*env) *relation { return rel }}
}

// literal is an argument that must be a constant.
func (c *compiler) literal(x dax.Expr) value.Value {
	n := c.scalarNode(nil, x)
	if call, ok := x.(*dax.Call); !n.steady && !(ok && len(call.Args) == 0) {
		c.fail(x, Invalid, "A constant is expected here.")
	}
	return n.scalar(c.q.env(c.slots))
}

// treatAs is TREATAS: the values of a table as values of columns of the model.
// Values that a column does not have are left out.
func (c *compiler) treatAs(s *scope, x *dax.Call) node {
	table, from := c.tableOf(s, x.Args[0])
	var cols []*modelColumn
	for _, arg := range x.Args[1:] {
		cols = append(cols, c.columnOf(s, arg))
	}
	if len(cols) != len(from.cols) {
		c.fail(x, Invalid, "TREATAS expects as many columns as its table has.")
	}
	sc := schemaOf(cols...)
	return node{schema: sc, table: func(e *env) *relation {
		rel := table(e)
		ids := make([][]int32, len(cols))
		for i := range ids {
			ids[i] = []int32{}
		}
		n := 0
	rows:
		for row := range rel.n {
			for i, col := range cols {
				id, ok := e.q.find(col, rel.at(i, row))
				if !ok {
					for k := range i {
						ids[k] = ids[k][:n]
					}
					continue rows
				}
				ids[i] = append(ids[i], id)
			}
			n++
		}
		out := &relation{schema: sc, n: n, cols: make([]vector, len(cols))}
		for i := range cols {
			out.cols[i].ids = ids[i]
		}
		return out
	}}
}
