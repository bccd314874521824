package eval

import (
	"math"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// aggregateFunctions are those that make one value of many.
func aggregateFunctions() map[string]function {
	all := map[string]function{
		"sum":                  ofColumn(sumColumn),
		"average":              ofColumn(averageColumn),
		"averagea":             ofColumn(averageAll),
		"min":                  extreme(-1, false),
		"mina":                 extreme(-1, true),
		"max":                  extreme(1, false),
		"maxa":                 extreme(1, true),
		"count":                ofColumn(countNumbers),
		"counta":               ofColumn(countColumn),
		"countblank":           ofColumn(countBlankColumn),
		"distinctcount":        ofColumn(distinctCount),
		"distinctcountnoblank": ofColumn(distinctCountNoBlank),

		// An exact count is a good approximation.
		"approximatedistinctcount": ofColumn(distinctCount),
		"countrows":                scalarFunction(0, 1, (*compiler).countRows),
		"concatenatex":             scalarFunction(2, -1, (*compiler).concatenateX),
		"rankx":                    scalarFunction(2, 5, (*compiler).rankX),
	}
	for name, make := range map[string]func() aggregate{
		"sum":     func() aggregate { return &sum{} },
		"average": func() aggregate { return &average{} },
		"min":     func() aggregate { return &best{sign: -1} },
		"max":     func() aggregate { return &best{sign: 1} },
		"count":   func() aggregate { return &counter{refuses: value.Bool} },
		"counta":  func() aggregate { return &counter{} },
		"product": func() aggregate { return &product{} },
	} {
		most := 2
		if name == "min" || name == "max" {
			most = 3 // whether values of several types are compared, as they are here
		}
		all[name+"x"] = overRows(most, make)
	}
	all["product"] = ofColumn(func(e *env, c *modelColumn) value.Value {
		p := &product{}
		for _, row := range e.filter.rows(e.q, c.table).List() {
			p.add(c.data.At(row))
		}
		return p.result()
	})
	return all
}

// ofColumn is an aggregation of a column of the model over the rows that the
// filter context leaves.
func ofColumn(f func(*env, *modelColumn) value.Value) function {
	return scalarFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node {
		col := c.tryColumn(s, x.Args[0])
		if col == nil {
			return c.noColumn(x)
		}
		return node{scalar: func(e *env) value.Value { return f(e, col) }}
	})
}

// noColumn refuses what is no column: SUM ( [x] ) over a column that the query
// made has no table to run over.
func (c *compiler) noColumn(x *dax.Call) node {
	c.fail(x, Invalid, "The %s function only accepts a column reference as an argument.", strings.ToUpper(x.Func))
	return node{}
}

// ids gives the value number of each row that the filter context leaves.
func (e *env) ids(c *modelColumn) (ids []int32, rows []int32, all bool) {
	set := e.filter.rows(e.q, c.table)
	if set.IsAll() {
		return c.data.IDs()[:set.Size()], nil, true
	}
	return c.data.IDs(), set.List(), false
}

// counts gives how many of the rows have a value that is not blank.
func (e *env) counts(c *modelColumn) (n int64) {
	ids, rows, all := e.ids(c)
	if all {
		for _, id := range ids {
			if id != column.BlankID {
				n++
			}
		}
		return n
	}
	for _, row := range rows {
		if ids[row] != column.BlankID {
			n++
		}
	}
	return n
}

// someValue says whether one of the rows has a value that is not blank.
func someValue(ids, rows []int32, all bool) bool {
	if all {
		return slices.ContainsFunc(ids, func(id int32) bool { return id != column.BlankID })
	}
	return slices.ContainsFunc(rows, func(row int32) bool { return ids[row] != column.BlankID })
}

func sumColumn(e *env, c *modelColumn) value.Value {
	requireNumbers("SUM", c)
	ids, rows, all := e.ids(c)
	if !someValue(ids, rows, all) {
		return value.Value{}
	}
	switch c.data.Kind {
	case value.Int, value.Decimal:
		numbers := c.data.Integers()
		var total int64
		if all {
			for _, id := range ids {
				total += numbers[id]
			}
		} else {
			for _, row := range rows {
				total += numbers[ids[row]]
			}
		}
		if c.data.Kind == value.Int {
			return value.OfInt(total)
		}
		return value.OfScaled(total)
	}
	total := sumFloats(c, ids, rows, all)
	if c.data.Kind == value.Date {
		return value.OfSerial(total)
	}
	return value.OfDouble(total)
}

func sumFloats(c *modelColumn, ids, rows []int32, all bool) (total float64) {
	numbers := c.data.Numbers()
	if all {
		for _, id := range ids {
			total += numbers[id]
		}
		return total
	}
	for _, row := range rows {
		total += numbers[ids[row]]
	}
	return total
}

func requireNumbers(function string, c *modelColumn) {
	switch c.data.Kind {
	case value.Text:
		fail(Evaluation, "The function %s cannot work with values of type String.", function)
	case value.Bool:
		fail(Evaluation, "The function %s cannot work with values of type Boolean.", function)
	}
}

func averageColumn(e *env, c *modelColumn) value.Value {
	requireNumbers("AVERAGE", c)
	n := e.counts(c)
	if n == 0 {
		return value.Value{}
	}
	total := sumColumn(e, c)
	return average{total: total, n: n}.result()
}

// averageAll is AVERAGEA, which takes true for 1, and false and text for 0.
func averageAll(e *env, c *modelColumn) value.Value {
	if c.data.Kind != value.Text && c.data.Kind != value.Bool {
		return averageColumn(e, c)
	}
	total, n := 0.0, e.counts(c)
	if n == 0 {
		return value.Value{}
	}
	for _, row := range e.filter.rows(e.q, c.table).List() {
		total += c.data.At(row).Float()
	}
	return value.OfDouble(total / float64(n))
}

func countNumbers(e *env, c *modelColumn) value.Value {
	if c.data.Kind == value.Bool {
		fail(Evaluation, "The function COUNT cannot work with values of type Boolean.")
	}
	return countColumn(e, c)
}

func countColumn(e *env, c *modelColumn) value.Value { return someOrBlank(e.counts(c)) }

// someOrBlank is a count as DAX gives it: blank for none.
func someOrBlank(n int64) value.Value {
	if n == 0 {
		return value.Value{}
	}
	return value.OfInt(n)
}

func countBlankColumn(e *env, c *modelColumn) value.Value {
	empty, hasEmpty := c.data.Find(value.OfText(""))
	n := int64(0)
	for _, row := range e.filter.rows(e.q, c.table).List() {
		if id := c.data.IDs()[row]; id == column.BlankID || hasEmpty && id == empty {
			n++
		}
	}
	return someOrBlank(n)
}

func distinctCount(e *env, c *modelColumn) value.Value {
	return someOrBlank(int64(len(distinctIDs(c, e.filter.rows(e.q, c.table)))))
}

func distinctCountNoBlank(e *env, c *modelColumn) value.Value {
	ids := distinctIDs(c, e.filter.rows(e.q, c.table))
	if len(ids) > 0 && ids[0] == column.BlankID {
		ids = ids[1:]
	}
	return someOrBlank(int64(len(ids)))
}

// extreme is MIN and MAX: of a column, or of two scalars. MINA and MAXA take a
// column only, and true for 1.
func extreme(sign int, all bool) function {
	most := 2
	if all {
		most = 1
	}
	return scalarFunction(1, most, func(c *compiler, s *scope, x *dax.Call) node {
		if len(x.Args) == 2 {
			a, b := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
			return node{scalar: func(e *env) value.Value {
				v, w := a(e), b(e)
				if must(value.Compare(v, w))*sign < 0 {
					v, w = w, v
				}
				if v.IsBlank() && !w.IsBlank() { // a blank counts as zero and gives one
					return must(value.Add(value.OfInt(0), value.Value{}))
				}
				return v
			}}
		}
		col := c.tryColumn(s, x.Args[0])
		if col == nil {
			return c.noColumn(x)
		}
		return node{scalar: func(e *env) value.Value {
			if col.data.Kind == value.Bool && !all {
				fail(Evaluation, "The function %s cannot work with values of type Boolean.", strings.ToUpper(x.Func))
			}
			ranks := col.data.Ranks()
			found := column.BlankID
			for _, id := range distinctIDs(col, e.filter.rows(e.q, col.table)) {
				if id != column.BlankID && (found == column.BlankID || int(ranks[id]-ranks[found])*sign > 0) {
					found = id
				}
			}
			v := col.data.Values()[found]
			if all && v.Kind() == value.Bool {
				return value.OfInt(v.Int())
			}
			return v
		}}
	})
}

// countRows is COUNTROWS ( table ).
func (c *compiler) countRows(s *scope, x *dax.Call) node {
	var t *table
	if len(x.Args) > 0 {
		t = c.tryTable(s, x.Args[0])
	} else if t = c.home; t == nil {
		c.fail(x, Invalid, "COUNTROWS without a table counts the rows of the table of a measure, and this is no measure.")
	}
	if t != nil {
		c.q.e.needTable(t)
		return node{scalar: func(e *env) value.Value {
			rows := e.filter.rows(e.q, t)
			n := rows.Len()
			if t.blankRow && rows.Has(int32(t.n)) {
				n--
			}
			return someOrBlank(int64(n))
		}}
	}
	table, _ := c.tableOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value { return someOrBlank(int64(table(e).n)) }}
}

// An aggregate takes values one by one.
type aggregate interface {
	add(value.Value)
	result() value.Value
}

// overRows is an iterator like SUMX: an expression for each row of a table.
func overRows(most int, make func() aggregate) function {
	return scalarFunction(2, most, func(c *compiler, s *scope, x *dax.Call) node {
		table, sc := c.tableOf(s, x.Args[0])
		of := c.scalarOf(s.row(sc), x.Args[1])
		return node{scalar: func(e *env) value.Value {
			into := make()
			e.each(table(e), func(int) { into.add(of(e)) })
			return into.result()
		}}
	})
}

type sum struct {
	total value.Value
}

func (a *sum) add(v value.Value) {
	if v.IsBlank() {
		return
	}
	if v.Kind() == value.Text {
		fail(Evaluation, "The function SUMX cannot work with values of type String.")
	}
	a.total = must(value.Add(a.total, v))
}

func (a *sum) result() value.Value { return a.total }

type average struct {
	total value.Value
	n     int64
}

func (a *average) add(v value.Value) {
	if v.IsBlank() {
		return
	}
	if v.Kind() == value.Text {
		fail(Evaluation, "The function AVERAGEX cannot work with values of type String.")
	}
	a.total = must(value.Add(a.total, v))
	a.n++
}

func (a average) result() value.Value {
	if a.n == 0 {
		return value.Value{}
	}
	mean := a.total.Float() / float64(a.n)
	switch a.total.Kind() {
	case value.Decimal:
		return value.OfDecimal(mean)
	case value.Date:
		return value.OfSerial(mean)
	}
	return value.OfDouble(mean)
}

type best struct {
	sign  int
	found value.Value
}

func (a *best) add(v value.Value) {
	if !v.IsBlank() && (a.found.IsBlank() || value.Order(v, a.found)*a.sign > 0) {
		a.found = v
	}
}

func (a *best) result() value.Value { return a.found }

type counter struct {
	n       int64
	refuses value.Kind
}

func (a *counter) add(v value.Value) {
	if v.Kind() == a.refuses && !v.IsBlank() {
		fail(Evaluation, "The function COUNTX cannot work with values of type Boolean.")
	}
	if !v.IsBlank() {
		a.n++
	}
}

func (a *counter) result() value.Value { return someOrBlank(a.n) }

type product struct {
	total float64
	some  bool
}

func (a *product) add(v value.Value) {
	if v.IsBlank() {
		return
	}
	if !a.some {
		a.total, a.some = 1, true
	}
	a.total *= must(value.Number(v)).Float()
}

func (a *product) result() value.Value {
	if !a.some {
		return value.Value{}
	}
	if a.total == math.Trunc(a.total) && math.Abs(a.total) < 1<<53 {
		return value.OfInt(int64(a.total))
	}
	return value.OfDouble(a.total)
}
