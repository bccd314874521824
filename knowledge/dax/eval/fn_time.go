package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A period turns the dates of the filter context, ascending and at least one,
// into the first and last day of another period.
type period func(dates []time.Time) (from, to time.Time)

// timeFunctions are the time intelligence: they move the filter on a date column.
func timeFunctions() map[string]function {
	all := map[string]function{
		"calendar":       tableFunction(2, 2, (*compiler).calendar),
		"calendarauto":   tableFunction(0, 1, (*compiler).calendarAuto),
		"dateadd":        tableFunction(3, 3, (*compiler).dateAdd),
		"parallelperiod": tableFunction(3, 3, (*compiler).parallelPeriod),
		"datesbetween":   tableFunction(3, 3, (*compiler).datesBetween),
		"datesinperiod":  tableFunction(4, 4, (*compiler).datesInPeriod),
		"sameperiodlastyear": tableFunction(1, 1, func(c *compiler, s *scope, x *dax.Call) node {
			return c.shifted(s, x, constant(value.OfInt(-1)).scalar, "year")
		}),
		"firstdate": periodFunction(1, func(yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) { return d[0], d[0] }
		}),
		"lastdate": periodFunction(1, func(yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) { return d[len(d)-1], d[len(d)-1] }
		}),
		"previousday": periodFunction(1, func(yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				return d[0].AddDate(0, 0, -1), d[0].AddDate(0, 0, -1)
			}
		}),
		"nextday": periodFunction(1, func(yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				last := d[len(d)-1]
				return last.AddDate(0, 0, 1), last.AddDate(0, 0, 1)
			}
		}),
	}
	for _, unit := range []string{"month", "quarter", "year"} {
		most := 1
		if unit == "year" {
			most = 2 // with the end of the year
		}
		all["dates"+unit[:1]+"td"] = periodFunction(most, toDate(unit))
		all["previous"+unit] = periodFunction(most, func(end yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				start := end.startOf(d[0], unit)
				return end.startOf(start.AddDate(0, 0, -1), unit), start.AddDate(0, 0, -1)
			}
		})
		all["next"+unit] = periodFunction(most, func(end yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				start := end.endOf(d[len(d)-1], unit).AddDate(0, 0, 1)
				return start, end.endOf(start, unit)
			}
		})
		all["startof"+unit] = edgeFunction(most, unit, false)
		all["endof"+unit] = edgeFunction(most, unit, true)
		all["total"+unit[:1]+"td"] = totalFunction(most+2, toDate(unit))
		all["closingbalance"+unit] = totalFunction(most+2, func(end yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				last := end.endOf(d[len(d)-1], unit)
				return last, last
			}
		})
		all["openingbalance"+unit] = totalFunction(most+2, func(end yearEnd) period {
			return func(d []time.Time) (time.Time, time.Time) {
				before := end.startOf(d[0], unit).AddDate(0, 0, -1)
				return before, before
			}
		})
	}
	return all
}

// toDate is from the start of the unit to the last date.
func toDate(unit string) func(yearEnd) period {
	return func(end yearEnd) period {
		return func(d []time.Time) (time.Time, time.Time) {
			last := d[len(d)-1]
			return end.startOf(last, unit), last
		}
	}
}

// A yearEnd is the last day of the fiscal year; the zero value is December 31.
type yearEnd struct {
	month time.Month
	day   int
}

// readYearEnd reads "6-30", "6/30", "June 30" and full dates.
func (c *compiler) readYearEnd(x dax.Expr) yearEnd {
	text, ok := c.textArg(x)
	if !ok {
		c.fail(x, Invalid, "The end of the year must be written as text, like \"6-30\".")
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '/' })
	if len(parts) == 2 {
		m, err1 := strconv.Atoi(parts[0])
		d, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && m >= 1 && m <= 12 && d >= 1 && d <= 31 {
			return yearEnd{time.Month(m), d}
		}
	}
	if t, ok := value.ParseDate(text); ok {
		return yearEnd{t.Month(), t.Day()}
	}
	if t, err := time.Parse("January 2", text); err == nil {
		return yearEnd{t.Month(), t.Day()}
	}
	c.fail(x, Invalid, "The end of the year '%s' cannot be read.", text)
	return yearEnd{}
}

func (end yearEnd) startOf(t time.Time, unit string) time.Time {
	switch unit {
	case "day":
		return t
	case "month":
		return day(t.Year(), t.Month(), 1)
	case "quarter":
		return day(t.Year(), (t.Month()-1)/3*3+1, 1)
	}
	if end.month == 0 || end.month == 12 && end.day == 31 {
		return day(t.Year(), 1, 1)
	}
	last := end.in(t.Year())
	if t.After(last) {
		return last.AddDate(0, 0, 1)
	}
	return end.in(t.Year()-1).AddDate(0, 0, 1)
}

// in is the end of the fiscal year in a calendar year: February 29 and 30 are
// its last day where there are none.
func (end yearEnd) in(year int) time.Time {
	return day(year, end.month, min(end.day, day(year, end.month+1, 0).Day()))
}

func (end yearEnd) endOf(t time.Time, unit string) time.Time {
	start := end.startOf(t, unit)
	switch unit {
	case "day":
		return t
	case "month":
		return addMonths(start, 1).AddDate(0, 0, -1)
	case "quarter":
		return addMonths(start, 3).AddDate(0, 0, -1)
	}
	if end.month == 0 || end.month == 12 && end.day == 31 {
		return day(start.Year(), 12, 31)
	}
	if next := end.in(start.Year()); !next.Before(start) {
		return next
	}
	return end.in(start.Year() + 1)
}

// A dateSource is an argument that gives dates: a date column, or a table of one.
type dateSource struct {
	table  tableFn
	schema *schema
	col    *modelColumn // nil where the dates are not those of a column
}

func (c *compiler) dateSource(s *scope, x dax.Expr) dateSource {
	table, sc := c.columnTable(s, x)
	src := dateSource{table: table, schema: sc, col: sc.cols[0].lineage}
	if src.col != nil && src.col.data.Kind != value.Date {
		c.fail(x, Invalid, "A column containing dates was expected; %s has another type.", src.col)
	}
	return src
}

// dates is the dates of the source in the filter context, ascending.
func (src dateSource) dates(e *env) []time.Time {
	rel := src.table(e)
	dates := make([]time.Time, 0, rel.n)
	for i := range rel.n {
		if v := rel.at(0, i); !v.IsBlank() {
			dates = append(dates, value.SerialTime(math.Floor(v.Float())))
		}
	}
	slices.SortFunc(dates, time.Time.Compare)
	return slices.CompactFunc(dates, time.Time.Equal)
}

// between is the dates of the column from one day to another, both included.
func (src dateSource) between(e *env, from, to time.Time) *relation {
	if src.col == nil {
		return calendarRelation(e, src.schema, from, to)
	}
	first, last := value.Serial(from), value.Serial(to)
	ids := []int32{}
	for _, id := range e.q.valuesOf(src.col) {
		v := src.col.data.Values()[id]
		if f := math.Floor(v.Float()); !v.IsBlank() && f >= first && f <= last {
			ids = append(ids, id)
		}
	}
	return idsRelation(src.schema, ids)
}

// having is the dates of the column that are in the list.
func (src dateSource) having(e *env, dates []time.Time) *relation {
	if src.col == nil {
		rel := newRelation(src.schema)
		for _, t := range dates {
			rel.addRow(value.OfTime(t))
		}
		return rel
	}
	ids := []int32{}
	for _, t := range dates {
		if id, ok := e.q.find(src.col, value.OfTime(t)); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return idsRelation(src.schema, slices.Compact(ids))
}

// periodFunction is a function of dates, and perhaps of the end of the year.
func periodFunction(most int, make func(yearEnd) period) function {
	return tableFunction(1, most, func(c *compiler, s *scope, x *dax.Call) node {
		src := c.dateSource(s, x.Args[0])
		var end yearEnd
		if len(x.Args) > 1 {
			end = c.readYearEnd(x.Args[1])
		}
		move := make(end)
		return node{schema: src.schema, table: func(e *env) *relation {
			dates := src.dates(e)
			if len(dates) == 0 {
				return src.having(e, nil)
			}
			from, to := move(dates)
			return src.between(e, from, to)
		}}
	})
}

// edgeFunction is STARTOFMONTH and the like: the first or last date that the
// column has in the period.
func edgeFunction(most int, unit string, last bool) function {
	return tableFunction(1, most, func(c *compiler, s *scope, x *dax.Call) node {
		src := c.dateSource(s, x.Args[0])
		var end yearEnd
		if len(x.Args) > 1 {
			end = c.readYearEnd(x.Args[1])
		}
		return node{schema: src.schema, table: func(e *env) *relation {
			dates := src.dates(e)
			if len(dates) == 0 {
				return src.having(e, nil)
			}
			at := dates[0]
			if last {
				at = dates[len(dates)-1]
			}
			inside := dateSource{table: func(*env) *relation {
				return src.between(e, end.startOf(at, unit), end.endOf(at, unit))
			}}.dates(e)
			if last {
				return src.having(e, inside[len(inside)-1:])
			}
			return src.having(e, inside[:1])
		}}
	})
}

// totalFunction is TOTALYTD and the like: an expression over the moved dates,
// with one more filter and the end of the year as options.
func totalFunction(most int, make func(yearEnd) period) function {
	return scalarFunction(2, most, func(c *compiler, s *scope, x *dax.Call) node {
		of := c.scalarOf(s, x.Args[0])
		src := c.dateSource(s, x.Args[1])
		var end yearEnd
		var filters []modifier
		for _, arg := range x.Args[2:] {
			switch arg.(type) {
			case nil:
			case *dax.Text:
				if most < 4 {
					c.fail(arg, Invalid, "%s takes no end of the year.", x.Func)
				}
				end = c.readYearEnd(arg)
			default:
				filters = append(filters, c.modifier(s, arg))
			}
		}
		move := make(end)
		filters = append(filters, modifier{filters: func(e *env) []filter {
			dates := src.dates(e)
			if len(dates) == 0 {
				return src.having(e, nil).filters()
			}
			from, to := move(dates)
			return src.between(e, from, to).filters()
		}})
		return node{scalar: func(e *env) value.Value {
			return of(e.within(e.modified(filters)))
		}}
	})
}

// shifted is DATEADD: every date moved. Where the last two days of a month are
// there, what they move to goes on to the end of the month.
func (c *compiler) shifted(s *scope, x *dax.Call, by scalar, unit string) node {
	src := c.dateSource(s, x.Args[0])
	return node{schema: src.schema, table: func(e *env) *relation {
		n := small(by(e))
		dates := src.dates(e)
		src.requireContiguous(e, x.Func, dates)
		var moved []time.Time
		if unit == "day" {
			for _, d := range dates {
				moved = append(moved, d.AddDate(0, 0, n))
			}
			return src.having(e, moved)
		}
		n *= map[string]int{"month": 1, "quarter": 3, "year": 12}[unit]
		for i, d := range dates {
			moved = append(moved, addMonths(d, n))
			next := d.AddDate(0, 0, 1)
			if next.Day() != 1 || i == 0 || !dates[i-1].Equal(d.AddDate(0, 0, -1)) {
				continue
			}
			first := addMonths(day(d.Year(), d.Month(), 1), n)
			for t := addMonths(d, n); t.Month() == first.Month(); t = t.AddDate(0, 0, 1) {
				moved = append(moved, t)
			}
		}
		slices.SortFunc(moved, time.Time.Compare)
		return src.having(e, slices.CompactFunc(moved, time.Time.Equal))
	}}
}

// requireContiguous refuses dates with holes between them, where the column has
// holes itself, times of day, or dates more than once: nobody could say then what
// is moved where.
func (src dateSource) requireContiguous(e *env, function string, dates []time.Time) {
	if src.col == nil || len(dates) < 2 {
		return
	}
	first, last := value.Serial(dates[0]), value.Serial(dates[len(dates)-1])
	between := src.between(e, dates[0], dates[len(dates)-1]).n
	if between == len(dates) || src.col.isCalendar() {
		return
	}
	fail(Evaluation, "Function '%s' expects a contiguous selection when the date column is not unique, has gaps or contains a time portion: of %d dates from %s to %s, %d are selected.",
		strings.ToUpper(function), between, value.OfSerial(first), value.OfSerial(last), len(dates))
}

// isCalendar says whether the column has each day from its first to its last
// once, without times.
func (c *modelColumn) isCalendar() bool {
	values := c.data.Values()[1:]
	if len(values) != c.table.n || len(values) == 0 {
		return false
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		f := v.Float()
		if f != math.Floor(f) {
			return false
		}
		low, high = min(low, f), max(high, f)
	}
	return int(high-low)+1 == len(values)
}

// unitArg is DAY, MONTH, QUARTER or YEAR.
func (c *compiler) unitArg(x *dax.Call, i int) string {
	switch word := c.word(x.Args[i]); word {
	case "day", "month", "quarter", "year":
		return word
	}
	c.fail(x.Args[i], Invalid, "The interval of %s must be DAY, MONTH, QUARTER or YEAR.", x.Func)
	return ""
}

func (c *compiler) dateAdd(s *scope, x *dax.Call) node {
	return c.shifted(s, x, c.scalarOf(s, x.Args[1]), c.unitArg(x, 2))
}

// parallelPeriod moves to whole periods.
func (c *compiler) parallelPeriod(s *scope, x *dax.Call) node {
	src := c.dateSource(s, x.Args[0])
	by, unit := c.scalarOf(s, x.Args[1]), c.unitArg(x, 2)
	if unit == "day" {
		c.fail(x.Args[2], Invalid, "The interval of PARALLELPERIOD must be MONTH, QUARTER or YEAR.")
	}
	months := map[string]int{"month": 1, "quarter": 3, "year": 12}[unit]
	return node{schema: src.schema, table: func(e *env) *relation {
		dates := src.dates(e)
		if len(dates) == 0 {
			return src.having(e, nil)
		}
		n := small(by(e)) * months
		from := addMonths(yearEnd{}.startOf(dates[0], unit), n)
		to := addMonths(yearEnd{}.startOf(dates[len(dates)-1], unit), n)
		return src.between(e, from, yearEnd{}.endOf(to, unit))
	}}
}

// datesBetween is DATESBETWEEN. A blank bound is that of the column.
func (c *compiler) datesBetween(s *scope, x *dax.Call) node {
	src := c.dateSource(s, x.Args[0])
	from, to := c.scalarOf(s, x.Args[1]), c.scalarOf(s, x.Args[2])
	return node{schema: src.schema, table: func(e *env) *relation {
		first, last := day(1, 1, 1), day(9999, 12, 31)
		if src.col == nil { // without a column the dates given are all there are
			dates := src.dates(e)
			if len(dates) == 0 {
				return src.having(e, nil)
			}
			first, last = dates[0], dates[len(dates)-1]
		}
		if v := from(e); !v.IsBlank() {
			first = clock(v)
		}
		if v := to(e); !v.IsBlank() {
			last = clock(v)
		}
		return src.between(e, first, last)
	}}
}

// datesInPeriod is DATESINPERIOD ( dates, start, number, unit ).
func (c *compiler) datesInPeriod(s *scope, x *dax.Call) node {
	src := c.dateSource(s, x.Args[0])
	from, by, unit := c.scalarOf(s, x.Args[1]), c.scalarOf(s, x.Args[2]), c.unitArg(x, 3)
	return node{schema: src.schema, table: func(e *env) *relation {
		v := from(e)
		n := small(by(e))
		if v.IsBlank() || n == 0 {
			return src.having(e, nil)
		}
		start := clock(v)
		end := start.AddDate(0, 0, n)
		if unit != "day" {
			months := n * map[string]int{"month": 1, "quarter": 3, "year": 12}[unit]
			end = addMonths(start, months)
			// A period back from the last day of a month starts on a first.
			if months < 0 && start.AddDate(0, 0, 1).Day() == 1 {
				end = day(end.Year(), end.Month()+1, 0)
			}
		}
		if n > 0 {
			return src.between(e, start, end.AddDate(0, 0, -1))
		}
		return src.between(e, end.AddDate(0, 0, 1), start)
	}}
}

// isDateKey says whether a filter on the column stands for one on its whole
// table: the key of a date table, on which time intelligence works, or a date
// that relationships lead to.
func (c *modelColumn) isDateKey() bool {
	if c.data == nil || c.data.Kind != value.Date {
		return false
	}
	if c.def != nil && c.def.Key {
		return true
	}
	for _, r := range c.table.in {
		if r.to == c {
			return true
		}
	}
	return false
}
