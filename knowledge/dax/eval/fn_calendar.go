package eval

import (
	"math"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// calendarRelation is a table of the days from one to another.
func calendarRelation(e *env, sc *schema, from, to time.Time) *relation {
	rel := newRelation(sc)
	if value.Serial(to)-value.Serial(from) > maxSeries {
		fail(Evaluation, "The calendar would have more than %d days.", maxSeries)
	}
	for day := value.Serial(from); day <= value.Serial(to); day++ {
		if rel.n&4095 == 0 {
			e.q.check()
		}
		rel.addRow(value.OfSerial(day))
	}
	return rel
}

func (c *compiler) calendar(s *scope, x *dax.Call) node {
	from, to := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	sc := &schema{cols: []colMeta{{name: "Date"}}}
	return node{schema: sc, table: func(e *env) *relation {
		a, b := from(e), to(e)
		if a.IsBlank() || b.IsBlank() {
			fail(Evaluation, "The start date or end date in Calendar function can not be Blank value.")
		}
		first, last := value.SerialTime(math.Floor(must(value.Number(a)).Float())), clock(b)
		if last.Before(first) {
			fail(Evaluation, "The start date in Calendar function can not be later than the end date.")
		}
		return calendarRelation(e, sc, first, last)
	}}
}

// calendarAuto covers the years of all dates that the model has loaded.
func (c *compiler) calendarAuto(s *scope, x *dax.Call) node {
	month := constant(value.OfInt(12)).scalar
	if len(x.Args) > 0 {
		month = c.scalarOf(s, x.Args[0])
	}
	sc := &schema{cols: []colMeta{{name: "Date"}}}
	return node{schema: sc, table: func(e *env) *relation {
		low, high := math.Inf(1), math.Inf(-1)
		for _, t := range e.q.e.tables {
			if t.def.Expression != "" {
				continue
			}
			for _, col := range t.columns {
				if col.expr != nil || col.data == nil || col.data.Kind != value.Date {
					continue
				}
				for _, v := range col.data.Values()[1:] {
					low, high = min(low, v.Float()), max(high, v.Float())
				}
			}
		}
		if low > high {
			fail(Evaluation, "CALENDARAUTO function can not find a base column of DateTime type in the model.")
		}
		m := time.Month(small(month(e)))
		if m < 1 || m > 12 {
			fail(Evaluation, "The last month of the fiscal year must be from 1 to 12.")
		}
		end := yearEnd{m, 31}
		first := end.startOf(value.SerialTime(math.Floor(low)), "year")
		last := end.endOf(value.SerialTime(math.Floor(high)), "year")
		return calendarRelation(e, sc, first, last)
	}}
}
