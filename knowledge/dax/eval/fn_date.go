package eval

import (
	"math"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
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
			if year >= 0 && year < 1900 {
				year += 1900
			}
			return dated(day(year, time.Month(small(a[1])), small(a[2])))
		}),
		"time": plain(3, func(a []value.Value) value.Value {
			seconds := float64(small(a[0])*3600 + small(a[1])*60 + small(a[2]))
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
			return dated(day(t.Year(), t.Month()+time.Month(small(a[1]))+1, 0))
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
		"networkdays": variadic(2, 2, networkDays),
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
	case kind == 2:
		first = 1
	case kind >= 11 && kind <= 17:
		first = (kind - 10) % 7
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

// yearFraction counts by the basis: 0 and 4 take 30 days for a month, 2 and 3
// count days, 1 counts days of years as long as they are.
func yearFraction(a []value.Value) value.Value {
	from, to := clock(a[0]), clock(a[1])
	if from.After(to) {
		from, to = to, from
	}
	basis := int64(0)
	if len(a) > 2 {
		basis = whole(a[2])
	}
	days := to.Sub(from).Hours() / 24
	switch basis {
	case 1:
		years := to.Year() - from.Year() + 1
		total := day(to.Year()+1, 1, 1).Sub(day(from.Year(), 1, 1)).Hours() / 24
		return value.OfDouble(days / (total / float64(years)))
	case 2:
		return value.OfDouble(days / 360)
	case 3:
		return value.OfDouble(days / 365)
	}
	d1, d2 := min(from.Day(), 30), to.Day()
	if d2 == 31 && (d1 == 30 || basis == 4) {
		d2 = 30
	}
	months := (to.Year()-from.Year())*12 + int(to.Month()) - int(from.Month())
	return value.OfDouble(float64(months*30+d2-d1) / 360)
}

func networkDays(a []value.Value) value.Value {
	from, to := clock(a[0]), clock(a[1])
	sign := int64(1)
	if from.After(to) {
		from, to, sign = to, from, -1
	}
	n := int64(0)
	for t := from; !t.After(to); t = t.AddDate(0, 0, 1) {
		if d := t.Weekday(); d != time.Saturday && d != time.Sunday {
			n++
		}
	}
	return value.OfInt(sign * n)
}
