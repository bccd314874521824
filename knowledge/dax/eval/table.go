package eval

import (
	"fmt"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
)

// A table is a table of the model with its rows. Its columns have one row more
// than the table: the blank row, on which rows of other tables land that have no
// partner. It exists only where blankRow is set.
type table struct {
	engine   *Engine
	name     string
	def      *knowledge.Table
	columns  []*modelColumn
	n        int // rows without the blank row
	blankRow bool
	out      []*relationship // in which this table is the from side
	in       []*relationship // in which it is the to side
	reach    []*table        // what expanded gives, once the relationships are there

	expr  dax.Expr // of a calculated table
	state state
	err   error

	unique *modelColumn     // a column without doubles, where there is one
	twins  func() [][]int32 // rows by row that are equal in all columns; nil where unique is set
}

// size is the number of rows with the blank row.
func (t *table) size() int {
	if t.blankRow {
		return t.n + 1
	}
	return t.n
}

func (t *table) column(folded string) *modelColumn {
	for _, c := range t.columns {
		if c.folded == folded {
			return c
		}
	}
	return nil
}

// A state follows what the engine computes once.
type state uint8

const (
	pending state = iota
	working       // asked for again in this state, it depends on itself
	done
	failed
)

// A modelColumn is a column of the model, the thing that filters and lineage
// speak of.
type modelColumn struct {
	table  *table
	name   string
	folded string
	def    *knowledge.Column // nil for columns of calculated tables that the model does not list
	data   *column.Column    // nil until it is computed

	expr  dax.Expr // of a calculated column
	state state
	err   error
}

// loaded is the values of the column. What takes all columns of a table names
// none, so while the model is loaded a calculated one may be asked for here first.
func (c *modelColumn) loaded() *column.Column {
	if c.data == nil {
		c.table.engine.needColumn(c)
	}
	return c.data
}

func (c *modelColumn) String() string { return fmt.Sprintf("'%s'[%s]", c.table.name, c.name) }

// meta is the column as a column of a table value.
func (c *modelColumn) meta() colMeta {
	return colMeta{table: c.table.name, name: c.name, lineage: c}
}

// A relationship joins two columns. Where it is many to one, from is the many
// side.
type relationship struct {
	def      *knowledge.Relationship
	from, to *modelColumn
	many     bool  // many to many: no expansion and no blank row
	err      error // why it cannot be used

	// toRow gives for each row of from, the blank row included, the row of to
	// that it lands on; nil where many is set.
	toRow        []int32
	starts, rows []int32 // rows of from by row of to; by value of to where many is set
	values       []int32 // by value of from: the value of to, or -1; only where many is set
}

// one is whether each row of the to side has at most one partner.
func (r *relationship) one() bool { return r.def.FromOne && !r.many }

// build indexes the relationship. The columns on both sides must be there.
func (r *relationship) build() {
	from, to := r.from.data, r.to.data
	r.values = make([]int32, len(from.Values()))
	for id, v := range from.Values() {
		r.values[id] = -1
		if other, ok := to.Find(v); ok {
			r.values[id] = other
		}
	}
	if !r.many {
		// The model says that this side is unique; rows say whether it is.
		for id, v := range to.Values() {
			if id != int(column.BlankID) && len(to.RowsOf(int32(id))) > 1 {
				r.many = true
				r.err = &Error{Kind: Invalid, Message: fmt.Sprintf("Column '%s' in Table '%s' contains a duplicate value '%s' and this is not allowed for columns on the one side of a many-to-one relationship or for columns that are used as the primary key of a table.", r.to.name, r.to.table.name, v)}
				break
			}
		}
	}
	if r.many {
		ids := make([]int32, from.Len())
		for row, id := range from.IDs() {
			ids[row] = r.values[id] + 1
		}
		starts, rows := column.Postings(ids, len(to.Values())+1)
		r.starts, r.rows = starts[1:], rows
		return
	}
	blank := int32(r.to.table.n)
	landing := make([]int32, len(r.values))
	for id, other := range r.values {
		landing[id] = blank
		if other < 0 {
			continue
		}
		for _, row := range to.RowsOf(other) {
			landing[id] = row // a blank key finds the row with a blank key, or the blank row, which comes last
			if row < blank {
				break
			}
		}
	}
	r.toRow = make([]int32, from.Len())
	for row, id := range from.IDs() {
		r.toRow[row] = landing[id]
		if landing[id] == blank && row < r.from.table.size() {
			r.to.table.blankRow = true
		}
	}
	r.starts, r.rows = column.Postings(r.toRow, to.Len())
}
