package eval

import "time"

// What one query may use. Power BI ends queries that want more memory or time
// than a capacity has; here the bounds are fixed, so that no query takes the
// machine that the sample tenant runs on.
const (
	// maxCells bounds the cells of the large tables that a query makes, over its
	// whole run: half a gigabyte of values, were all of them kept.
	maxCells = 16 << 20

	// A table below smallTable cells is not counted: thousands of them come and
	// go in an iteration.
	smallTable = 4096

	// maxSeries bounds the days of a calendar.
	maxSeries = 1 << 20

	// maxTime is how long Power BI lets a query run.
	maxTime = 225 * time.Second

	// maxCalls bounds how deep measures may call each other while they run.
	maxCalls = 2000

	// maxNested bounds how deep the expressions are nested that are compiled
	// within each other: those of measures, functions and columns included.
	maxNested = 10_000
)

// check ends the query where its caller has gone or its time is up. Whatever goes
// through rows calls it now and then.
func (q *query) check() {
	if err := q.ctx.Err(); err != nil {
		panic(canceled{err})
	}
	if time.Now().After(q.until) {
		fail(Exceeded, "The query ran longer than %s and was ended.", maxTime)
	}
}

// spend counts cells that are about to be made, before they are.
func (q *query) spend(cells int) {
	if cells < smallTable {
		return
	}
	q.check()
	if q.cells += cells; q.cells > q.e.maxCells {
		fail(Exceeded, "Resources exceeded: the query makes tables of more than %d cells, which is more memory than it may use.", q.e.maxCells)
	}
}

// spendTable counts the cells of a table of so many rows and columns, and fails
// also where their product is beyond counting.
func (q *query) spendTable(rows, columns int) {
	if columns > 0 && rows > maxCells/columns {
		rows = maxCells + 1
	}
	q.spend(rows * columns)
}

// pick is the given rows of rel, counted.
func (q *query) pick(rel *relation, rows []int) *relation {
	cells := len(rows) / 4 // the list itself
	for _, v := range rel.cols {
		switch {
		case v.vals != nil:
			cells += len(rows)
		case v.ids != nil:
			cells += len(rows) / 8
		}
	}
	q.spend(cells)
	return rel.pick(rows)
}

// enter counts one more measure that runs within others; leave it with q.calls--.
func (q *query) enter(m *measure) {
	if q.calls++; q.calls > maxCalls {
		fail(Exceeded, "The measure [%s] is called within %d others, more than may be nested; a calculation item may be calling itself.", m.name, maxCalls)
	}
}
