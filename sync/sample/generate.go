package sample

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// The days that the company's data covers, whatever day it is.
var (
	firstDay = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
)

// makers are the generators by dataset and table.
var makers = map[string]func(*filler){
	"commercial/sales/Sales":          salesLines,
	"commercial/regional-sales/Sales": regionalLines,
	"commercial/web-shop/Sales":       webOrders,
	"commercial/web-shop/Visit":       webVisits,
	"supply-chain/inventory/Stock":    stockCounts,
	"finance/finance/Ledger":          ledgerEntries,
	"finance/board-pack/Figures":      boardFigures,
}

// generate makes the rows of a table that is in no file: the same at every start.
func generate(dataset string, tbl knowledge.Table) (*eval.Rows, error) {
	f := newFiller(dataset, tbl)
	fill, ok := makers[dataset+"/"+tbl.Name]
	switch {
	case ok:
	case tbl.Name == "Calendar" || tbl.Name == "Date":
		fill = fillCalendar
	default:
		return nil, fmt.Errorf("neither a file nor a generator has the rows of %s of %s", tbl.Name, dataset)
	}
	fill(f)
	return f.rows, nil
}

// A filler puts generated values into the columns of a table. Its random numbers
// depend on the table's name alone.
type filler struct {
	*rand.Rand
	rows    *eval.Rows
	columns map[string]*filling
}

// A filling is a column that is being filled. It remembers the ids of values that
// come again and again, which is most of the time that a large table takes.
type filling struct {
	*column.Column
	ints  map[int]int32
	last  time.Time
	again int32 // the id of last
}

func newFiller(dataset string, tbl knowledge.Table) *filler {
	var seed [32]byte
	copy(seed[:], dataset+"/"+tbl.Name)
	f := &filler{Rand: rand.New(rand.NewChaCha8(seed)), rows: eval.NewRows(tbl.Name), columns: map[string]*filling{}}
	for _, c := range tbl.Columns {
		if c.Expression == "" {
			f.columns[c.Name] = &filling{Column: f.rows.Column(c.Name, c.DataType), ints: map[int]int32{}}
		}
	}
	return f
}

func (f *filler) blank(name string)        { f.columns[name].AppendBlank() }
func (f *filler) text(name, s string)      { f.columns[name].AppendText(s) }
func (f *filler) bool(name string, b bool) { f.columns[name].AppendBool(b) }

func (f *filler) int(name string, n int) {
	f.columns[name].number(n, value.OfInt(int64(n)))
}

// cents appends an amount of money; it is exact, as fixed decimals are.
func (f *filler) cents(name string, n int) {
	f.columns[name].number(n, value.OfScaled(int64(n)*100))
}

func (f *filler) day(name string, day time.Time) {
	c := f.columns[name]
	if !day.Equal(c.last) {
		c.last, c.again = day, c.Intern(value.OfTime(day))
	}
	c.AppendID(c.again)
}

func (c *filling) number(n int, v value.Value) {
	id, ok := c.ints[n]
	if !ok {
		id = c.Intern(v)
		c.ints[n] = id
	}
	c.AppendID(id)
}

// between is a number from low up to, not including, high.
func (f *filler) between(low, high int) int { return low + f.IntN(high-low) }

// pick chooses an index by weight.
func (f *filler) pick(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := f.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// fillCalendar makes a row for every day.
func fillCalendar(f *filler) {
	for d := firstDay; !d.After(lastDay); d = d.AddDate(0, 0, 1) {
		quarter := (int(d.Month())-1)/3 + 1
		weekday := (int(d.Weekday())+6)%7 + 1 // Monday is 1
		f.day("Date", d)
		f.int("Year", d.Year())
		f.text("Quarter", fmt.Sprintf("Q%d", quarter))
		f.text("Year quarter", fmt.Sprintf("%d Q%d", d.Year(), quarter))
		f.int("Month number", int(d.Month()))
		f.text("Month", d.Month().String())
		f.text("Year month", d.Format("2006-01"))
		f.int("Weekday number", weekday)
		f.text("Weekday", d.Weekday().String())
		f.bool("Is weekend", weekday > 5)
	}
}
