package eval

import (
	"math"
	"slices"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/finance"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// clock is an argument as a point in time.
func clock(v value.Value) time.Time {
	return value.SerialTime(must(value.Convert(must(value.Number(v)), value.Date)).Float())
}

// dated is t as a value.
func dated(t time.Time) value.Value {
	if y := t.Year(); y < 1 || y > 9999 {
		fail(Evaluation, "The result is not a date between the years 1 and 9999.")
	}
	return value.OfTime(t)
}

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// addMonths keeps the day of the month, or takes the month's last one.
func addMonths(t time.Time, months int) time.Time {
	first := day(t.Year(), t.Month()+time.Month(months), 1)
	last := day(first.Year(), first.Month()+1, 0).Day()
	return day(first.Year(), first.Month(), min(t.Day(), last)).Add(t.Sub(day(t.Year(), t.Month(), t.Day())))
}

// dateFunctions take dates apart and put them together.
func dateFunctions() map[string]function {
	part := func(f func(time.Time) int) function {
		return plain(1, func(a []value.Value) value.Value {
			if a[0].IsBlank() {
				return a[0]
			}
			return value.OfInt(int64(f(clock(a[0]))))
		})
	}
	return map[string]function{
		"year":    part(time.Time.Year),
		"month":   part(func(t time.Time) int { return int(t.Month()) }),
		"day":     part(time.Time.Day),
		"hour":    part(time.Time.Hour),
		"minute":  part(time.Time.Minute),
		"second":  part(time.Time.Second),
		"quarter": part(func(t time.Time) int { return (int(t.Month()) + 2) / 3 }),
		"weekday": variadic(1, 2, weekday),
		"weeknum": variadic(1, 2, weekNumber),
		"date": plain(3, func(a []value.Value) value.Value {
			year := small(a[0])
			switch {
			case year < 0:
				fail(Evaluation, "The year of DATE must not be negative.")
			case year < 50:
				year += 2000
			case year < 100:
				year += 1900
			}
			return dated(day(year, time.Month(small(a[1])), small(a[2])))
		}),
		"time": plain(3, func(a []value.Value) value.Value {
			seconds := float64(small(a[0])*3600 + small(a[1])*60 + small(a[2]))
			if seconds < 0 {
				fail(Evaluation, "The time of TIME must not be negative.")
			}
			return value.OfSerial(math.Mod(seconds/86400, 1))
		}),
		"today": contextual(0, 0, func(e *env, _ []value.Value) value.Value {
			return value.OfSerial(math.Floor(value.Serial(e.q.now.UTC())))
		}),
		"utctoday": contextual(0, 0, func(e *env, _ []value.Value) value.Value {
			return value.OfSerial(math.Floor(value.Serial(e.q.now.UTC())))
		}),
		"now":    contextual(0, 0, func(e *env, _ []value.Value) value.Value { return value.OfTime(e.q.now.UTC()) }),
		"utcnow": contextual(0, 0, func(e *env, _ []value.Value) value.Value { return value.OfTime(e.q.now.UTC()) }),
		"eomonth": plain(2, func(a []value.Value) value.Value {
			t := clock(a[0])
			return dated(day(t.Year(), t.Month()+time.Month(arguments(a).rounded(1))+1, 0))
		}),
		"edate": plain(2, func(a []value.Value) value.Value {
			return dated(addMonths(clock(a[0]), small(a[1])))
		}),
		"datevalue": plain(1, func(a []value.Value) value.Value {
			return value.OfSerial(math.Floor(must(value.Convert(a[0], value.Date)).Float()))
		}),
		"timevalue": plain(1, func(a []value.Value) value.Value {
			f := must(value.Convert(a[0], value.Date)).Float()
			return value.OfSerial(f - math.Floor(f))
		}),
		"datediff":    scalarFunction(3, 3, (*compiler).dateDiff),
		"yearfrac":    variadic(2, 3, yearFraction),
		"networkdays": scalarFunction(2, 4, (*compiler).networkDays),
	}
}

// weekday numbers the days from Sunday as 1, from Monday as 1, or from Monday as
// 0.
func weekday(a []value.Value) value.Value {
	if a[0].IsBlank() {
		return a[0]
	}
	d := int64(clock(a[0]).Weekday())
	kind := int64(1)
	if len(a) > 1 && !a[1].IsBlank() {
		kind = whole(a[1])
	}
	switch {
	case kind == 1:
		return value.OfInt(d + 1)
	case kind == 2:
		return value.OfInt((d+6)%7 + 1)
	case kind == 3:
		return value.OfInt((d + 6) % 7)
	case kind >= 11 && kind <= 17:
		return value.OfInt((d+7-(kind-10))%7 + 1)
	}
	fail(Evaluation, "The return type of WEEKDAY must be 1, 2, 3 or 11 to 17.")
	return value.Value{}
}

func weekNumber(a []value.Value) value.Value {
	if a[0].IsBlank() {
		return a[0]
	}
	t := clock(a[0])
	kind := int64(1)
	if len(a) > 1 && !a[1].IsBlank() {
		kind = whole(a[1])
	}
	if kind == 21 {
		_, week := t.ISOWeek()
		return value.OfInt(int64(week))
	}
	first := int64(0) // Sunday
	switch {
	case kind == 1:
	case kind == 2:
		first = 1
	case kind >= 11 && kind <= 17:
		first = (kind - 10) % 7
	default:
		fail(Evaluation, "The return type of WEEKNUM must be 1, 2, 11 to 17 or 21.")
	}
	start := (int64(day(t.Year(), 1, 1).Weekday()) - first + 7) % 7
	return value.OfInt((int64(t.YearDay())-1+start)/7 + 1)
}

// dateDiff counts the boundaries between two dates.
func (c *compiler) dateDiff(s *scope, x *dax.Call) node {
	from, to := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	var count func(a, b time.Time) int64
	seconds := func(size int64) func(a, b time.Time) int64 {
		return func(a, b time.Time) int64 { return floorDiv(b.Unix(), size) - floorDiv(a.Unix(), size) }
	}
	months := func(t time.Time) int64 { return int64(t.Year())*12 + int64(t.Month()) - 1 }
	switch c.word(x.Args[2]) {
	case "second":
		count = seconds(1)
	case "minute":
		count = seconds(60)
	case "hour":
		count = seconds(3600)
	case "day":
		count = seconds(86400)
	case "week":
		count = func(a, b time.Time) int64 { // weeks start on Sunday; day 0 was a Thursday
			return floorDiv(floorDiv(b.Unix(), 86400)+4, 7) - floorDiv(floorDiv(a.Unix(), 86400)+4, 7)
		}
	case "month":
		count = func(a, b time.Time) int64 { return months(b) - months(a) }
	case "quarter":
		count = func(a, b time.Time) int64 { return floorDiv(months(b), 3) - floorDiv(months(a), 3) }
	case "year":
		count = func(a, b time.Time) int64 { return int64(b.Year() - a.Year()) }
	default:
		c.fail(x.Args[2], Invalid, "The interval of DATEDIFF must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR.")
	}
	return node{scalar: func(e *env) value.Value {
		a, b := from(e), to(e)
		if a.IsBlank() || b.IsBlank() {
			return value.Value{}
		}
		return value.OfInt(count(clock(a), clock(b)))
	}}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// yearFraction is YEARFRAC ( start, end, basis ).
func yearFraction(a []value.Value) value.Value {
	args := arguments(a)
	return finite("YEARFRAC", finance.YearFraction(args.day(0), args.day(1), args.basis(2)))
}

// weekends are the days off by the numbers that NETWORKDAYS takes.
var weekends = map[int64][]time.Weekday{
	1: {time.Saturday, time.Sunday}, 2: {time.Sunday, time.Monday}, 3: {time.Monday, time.Tuesday}, 4: {time.Tuesday, time.Wednesday},
	5: {time.Wednesday, time.Thursday}, 6: {time.Thursday, time.Friday}, 7: {time.Friday, time.Saturday},
	11: {time.Sunday}, 12: {time.Monday}, 13: {time.Tuesday}, 14: {time.Wednesday}, 15: {time.Thursday}, 16: {time.Friday}, 17: {time.Saturday},
}

// networkDays is NETWORKDAYS ( start, end, weekend, holidays ): the days of work
// from one date to another, both included.
func (c *compiler) networkDays(s *scope, x *dax.Call) node {
	from, to := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	kind := constant(value.OfInt(1)).scalar
	if len(x.Args) > 2 && x.Args[2] != nil {
		kind = c.scalarOf(s, x.Args[2])
	}
	var holidays tableFn
	if len(x.Args) > 3 && x.Args[3] != nil {
		table, sc := c.tableOf(s, x.Args[3])
		if len(sc.cols) != 1 {
			c.fail(x.Args[3], Invalid, "The holidays of NETWORKDAYS must be a table of one column.")
		}
		holidays = table
	}
	return node{scalar: func(e *env) value.Value {
		a, b := from(e), to(e)
		if a.IsBlank() && b.IsBlank() {
			return value.Value{}
		}
		first, last, sign := arguments{a}.day(0), arguments{b}.day(0), int64(1)
		if first.After(last) {
			first, last, sign = last, first, -1
		}
		off, ok := weekends[whole(kind(e))]
		if !ok {
			fail(Evaluation, "The weekend of NETWORKDAYS must be a number from 1 to 7 or from 11 to 17.")
		}
		days := (last.Unix()-first.Unix())/(24*60*60) + 1
		n := days / 7 * int64(7-len(off))
		for i := range days % 7 {
			if !slices.Contains(off, first.AddDate(0, 0, int(i)).Weekday()) {
				n++
			}
		}
		if holidays != nil {
			free := map[time.Time]bool{}
			rel := holidays(e)
			for i := range rel.n {
				d := arguments{rel.at(0, i)}.day(0)
				if !d.Before(first) && !d.After(last) && !slices.Contains(off, d.Weekday()) {
					free[d] = true
				}
			}
			n -= int64(len(free))
		}
		return value.OfInt(sign * n)
	}}
}
