// Package column keeps the rows of the sample tenant's tables by column: every
// column is a dictionary of its distinct values and a number into it for each
// row, so that grouping and filtering work on small integers whatever the type.
// What the values are is in package value; which rows a query sees is decided in
// package eval.
package column

import (
	"slices"
	"sync"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// BlankID is the number of the blank in every dictionary.
const BlankID int32 = 0

// A Column is one column of rows. It is filled with the Append methods and must
// not be appended to once it is read. Reading is safe from several goroutines.
type Column struct {
	Name string
	Kind value.Kind // of its values; value.Blank where they vary

	ids    []int32       // by row
	values []value.Value // by id; the first is blank
	index  map[value.Key]int32

	once     sync.Once
	starts   []int32 // rows of id i are rows[starts[i]:starts[i+1]]
	rows     []int32
	rankOnce sync.Once
	ranks    []int32 // by id: its place in the order of the values
	numOnce  sync.Once
	numbers  []float64 // by id
	intOnce  sync.Once
	integers []int64 // by id
}

// New is an empty column.
func New(name string, kind value.Kind) *Column {
	return &Column{
		Name: name, Kind: kind,
		values: make([]value.Value, 1),
		index:  map[value.Key]int32{{}: BlankID},
	}
}

// KindOf is the kind of the values of a column of that type. Binary columns
// cannot be read by DAX and are kept as the text they come as.
func KindOf(t knowledge.DataType) value.Kind {
	switch t {
	case knowledge.Int64:
		return value.Int
	case knowledge.Double:
		return value.Double
	case knowledge.Decimal:
		return value.Decimal
	case knowledge.Boolean:
		return value.Bool
	case knowledge.DateTime:
		return value.Date
	case knowledge.Variant:
		return value.Blank
	}
	return value.Text
}

// AppendInt, AppendFloat, AppendText, AppendBool, AppendTime and AppendBlank add
// one row. A number is brought to the kind of the column.
func (c *Column) AppendInt(n int64)      { c.ids = append(c.ids, c.Intern(c.number(float64(n), n))) }
func (c *Column) AppendFloat(f float64)  { c.ids = append(c.ids, c.Intern(c.number(f, int64(f)))) }
func (c *Column) AppendText(s string)    { c.ids = append(c.ids, c.Intern(value.OfText(s))) }
func (c *Column) AppendBool(b bool)      { c.ids = append(c.ids, c.Intern(value.OfBool(b))) }
func (c *Column) AppendTime(t time.Time) { c.ids = append(c.ids, c.Intern(value.OfTime(t))) }
func (c *Column) AppendBlank()           { c.ids = append(c.ids, BlankID) }

func (c *Column) number(f float64, n int64) value.Value {
	switch c.Kind {
	case value.Double:
		return value.OfDouble(f)
	case value.Decimal:
		return value.OfDecimal(f)
	case value.Date:
		return value.OfSerial(f)
	}
	return value.OfInt(n)
}

// Append adds one row with v as it is.
func (c *Column) Append(v value.Value) { c.ids = append(c.ids, c.Intern(v)) }

// AppendID adds one row with a value that [Column.Intern] has numbered.
func (c *Column) AppendID(id int32) { c.ids = append(c.ids, id) }

// Intern numbers v. Texts that differ in letter case only are one value, in the
// spelling that came first.
func (c *Column) Intern(v value.Value) int32 {
	k := v.Key()
	id, ok := c.index[k]
	if !ok {
		id = int32(len(c.values))
		c.index[k] = id
		c.values = append(c.values, v)
	}
	return id
}

// Len is the number of rows.
func (c *Column) Len() int { return len(c.ids) }

// IDs are the value numbers by row. Do not change them.
func (c *Column) IDs() []int32 { return c.ids }

// Values is the dictionary by id. Do not change it.
func (c *Column) Values() []value.Value { return c.values }

// At is the value of a row.
func (c *Column) At(row int32) value.Value { return c.values[c.ids[row]] }

// Find is the number of v, where a row can have it.
func (c *Column) Find(v value.Value) (int32, bool) {
	id, ok := c.index[v.Key()]
	return id, ok
}

// RowsOf are the rows with that value, ascending.
func (c *Column) RowsOf(id int32) []int32 {
	c.once.Do(func() { c.starts, c.rows = Postings(c.ids, len(c.values)) })
	return c.rows[c.starts[id]:c.starts[id+1]]
}

// Postings turns a list of numbers below n into the list of places of each: those
// of i are rows[starts[i]:starts[i+1]].
func Postings(ids []int32, n int) (starts, rows []int32) {
	starts = make([]int32, n+1)
	for _, id := range ids {
		starts[id+1]++
	}
	for i := range n {
		starts[i+1] += starts[i]
	}
	rows = make([]int32, len(ids))
	next := slices.Clone(starts)
	for row, id := range ids {
		rows[next[id]] = int32(row)
		next[id]++
	}
	return starts, rows
}

// Ranks gives for each id the place of its value among the values.
func (c *Column) Ranks() []int32 {
	c.rankOnce.Do(func() {
		order := make([]int32, len(c.values))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return value.Order(c.values[a], c.values[b]) })
		c.ranks = make([]int32, len(order))
		for rank, id := range order {
			c.ranks[id] = int32(rank)
		}
	})
	return c.ranks
}

// Numbers gives for each id its value as a float; 0 for text and blank.
func (c *Column) Numbers() []float64 {
	c.numOnce.Do(func() {
		c.numbers = make([]float64, len(c.values))
		for i, v := range c.values {
			c.numbers[i] = v.Float()
		}
	})
	return c.numbers
}

// Integers gives for each id its value in whole units: those of an integer, or
// the ten-thousandths of a fixed decimal; 0 for others.
func (c *Column) Integers() []int64 {
	c.intOnce.Do(func() {
		c.integers = make([]int64, len(c.values))
		for i, v := range c.values {
			switch v.Kind() {
			case value.Int:
				c.integers[i] = v.Int()
			case value.Decimal:
				c.integers[i] = v.Scaled()
			}
		}
	})
	return c.integers
}
