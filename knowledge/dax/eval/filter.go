package eval

import (
	"encoding/binary"
	"slices"

	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
)

// A filter is one member of a filter context: a set of values or of combinations
// of values that columns are held to. Filters do not change once made.
type filter interface {
	// covers says whether the filter holds the column.
	covers(c *modelColumn) bool

	// without is the filter with its grip on some columns gone; nil where none
	// is left, the filter itself where it held none of them.
	without(drop func(*modelColumn) bool) filter

	// restrict is the rows of t that the filter leaves by itself, without
	// relationships being followed; nil where it does not reach t.
	restrict(q *query, t *table) *column.Rows
}

// A valueFilter holds one column to a set of its values.
type valueFilter struct {
	col *modelColumn
	ids *column.Rows // numbers of values

	// grouped is set where the value is that of a group or a row: ISINSCOPE asks.
	grouped bool

	rows *column.Rows // remembered
}

// oneValue is the filter of a group.
func oneValue(c *modelColumn, id int32) *valueFilter {
	return &valueFilter{col: c, ids: column.Listed(len(c.data.Values()), []int32{id}), grouped: true}
}

// valuesFilter holds c to ids, in any order.
func valuesFilter(c *modelColumn, ids []int32) *valueFilter {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	n := len(c.data.Values())
	if len(ids) < n/32 || n < 256 {
		return &valueFilter{col: c, ids: column.Listed(n, ids)}
	}
	set := column.NewBitmap(n)
	for _, id := range ids {
		set.Add(id)
	}
	return &valueFilter{col: c, ids: set.Rows()}
}

func (f *valueFilter) covers(c *modelColumn) bool { return c == f.col }

func (f *valueFilter) without(drop func(*modelColumn) bool) filter {
	if drop(f.col) {
		return nil
	}
	return f
}

func (f *valueFilter) restrict(_ *query, t *table) *column.Rows {
	if t != f.col.table {
		return nil
	}
	if f.rows == nil {
		list := f.ids.List()
		gather := newGather(t.size())
		if f.ids.Len() > 1 && f.ids.Len() > f.ids.Size()/2 {
			for row, id := range f.col.data.IDs()[:t.size()] {
				if f.ids.Has(id) {
					gather.one(int32(row))
				}
			}
		} else {
			for _, id := range list {
				gather.add(f.col.data.RowsOf(id))
			}
		}
		f.rows = gather.rows()
	}
	return f.rows
}

// A tupleFilter holds several columns to a set of combinations of their values.
type tupleFilter struct {
	cols []*modelColumn
	flat []int32 // the combinations, one after the other
	set  tupleSet
	memo map[*table]*column.Rows
}

// tuplesFilter holds cols to the combinations in flat. A single combination, or
// a single column, needs no set of combinations.
func tuplesFilter(cols []*modelColumn, flat []int32) []filter {
	if len(cols) == 1 {
		return []filter{valuesFilter(cols[0], flat)}
	}
	if len(flat) == len(cols) {
		single := make([]filter, len(cols))
		for i, c := range cols {
			f := oneValue(c, flat[i])
			f.grouped = false
			single[i] = f
		}
		return single
	}
	f := &tupleFilter{cols: cols, set: newTupleSet(len(cols)), memo: map[*table]*column.Rows{}}
	for i := 0; i < len(flat); i += len(cols) {
		if f.set.add(flat[i : i+len(cols)]) {
			f.flat = append(f.flat, flat[i:i+len(cols)]...)
		}
	}
	return []filter{f}
}

func (f *tupleFilter) covers(c *modelColumn) bool { return slices.Contains(f.cols, c) }

func (f *tupleFilter) without(drop func(*modelColumn) bool) filter {
	var keep []int
	for i, c := range f.cols {
		if !drop(c) {
			keep = append(keep, i)
		}
	}
	switch len(keep) {
	case 0:
		return nil
	case len(f.cols):
		return f
	}
	return f.on(keep)
}

// on is the filter on some of its columns.
func (f *tupleFilter) on(keep []int) filter {
	cols := make([]*modelColumn, len(keep))
	var flat []int32
	for i, k := range keep {
		cols[i] = f.cols[k]
	}
	for i := 0; i < len(f.flat); i += len(f.cols) {
		for _, k := range keep {
			flat = append(flat, f.flat[i+k])
		}
	}
	if len(cols) == 1 {
		return valuesFilter(cols[0], flat)
	}
	g := &tupleFilter{cols: cols, set: newTupleSet(len(cols)), memo: map[*table]*column.Rows{}}
	for i := 0; i < len(flat); i += len(cols) {
		if g.set.add(flat[i : i+len(cols)]) {
			g.flat = append(g.flat, flat[i:i+len(cols)]...)
		}
	}
	return g
}

func (f *tupleFilter) restrict(q *query, t *table) *column.Rows {
	if rows, ok := f.memo[t]; ok {
		return rows
	}
	rows := f.compute(q, t)
	f.memo[t] = rows
	return rows
}

func (f *tupleFilter) compute(q *query, t *table) *column.Rows {
	var reach []int
	var reads []func(row int32) int32
	own := 0
	for i, c := range f.cols {
		if read := t.reader(c); read != nil {
			reach = append(reach, i)
			reads = append(reads, read)
			if c.table == t {
				own++
			}
		}
	}
	// Columns of one other table alone come here over the relationship.
	if len(reach) == 0 || own == 0 && len(reach) < 2 {
		return nil
	}
	var has func([]int32) bool
	if len(reach) == len(f.cols) {
		has = f.set.has
	} else {
		switch part := f.on(reach).(type) {
		case *valueFilter:
			has = func(ids []int32) bool { return part.ids.Has(ids[0]) }
		case *tupleFilter:
			has = part.set.has
		}
	}
	gather := newGather(t.size())
	ids := make([]int32, len(reach))
	for row := range int32(t.size()) {
		for i, read := range reads {
			ids[i] = read(row)
		}
		if has(ids) {
			gather.one(row)
		}
	}
	return gather.rows()
}

// A rowFilter holds all columns of a table, and of the tables that it reaches
// from many to one, to what they are in some of its rows.
type rowFilter struct {
	table   *table
	rows    *column.Rows
	dropped []*modelColumn // columns that it held once
	grouped bool
	memo    map[*table]*column.Rows
}

func (f *rowFilter) covers(c *modelColumn) bool {
	return f.table.reaches(c.table) && !slices.Contains(f.dropped, c)
}

func (f *rowFilter) without(drop func(*modelColumn) bool) filter {
	dropped := f.dropped
	left := false
	for _, t := range f.table.expanded() {
		for _, c := range t.columns {
			switch {
			case slices.Contains(f.dropped, c):
			case drop(c):
				dropped = append(slices.Clip(dropped), c)
			default:
				left = true
			}
		}
	}
	switch {
	case !left:
		return nil
	case len(dropped) == len(f.dropped):
		return f
	}
	return &rowFilter{table: f.table, rows: f.rows, dropped: dropped, grouped: f.grouped}
}

func (f *rowFilter) restrict(q *query, t *table) *column.Rows {
	if t == f.table && len(f.dropped) == 0 {
		return f.rows
	}
	if !f.table.reaches(t) {
		return nil
	}
	if rows, ok := f.memo[t]; ok {
		return rows
	}
	rows := f.rows
	if t != f.table {
		set := column.NewBitmap(t.size())
		walk := f.table.walk(t)
		for _, row := range f.rows.List() {
			if there := walk(row); int(there) < t.size() {
				set.Add(there)
			}
		}
		rows = set.Rows()
	}
	rows = f.widen(t, rows)
	if f.memo == nil {
		f.memo = map[*table]*column.Rows{}
	}
	f.memo[t] = rows
	return rows
}

// widen adds the rows of t that differ from rows in dropped columns only.
func (f *rowFilter) widen(t *table, rows *column.Rows) *column.Rows {
	var held []*modelColumn
	for _, c := range t.columns {
		if !slices.Contains(f.dropped, c) {
			held = append(held, c)
		}
	}
	switch {
	case len(held) == 0:
		return nil
	case len(held) == len(t.columns), t.unique != nil && slices.Contains(held, t.unique):
		return rows
	}
	set := newTupleSet(len(held))
	ids := make([]int32, len(held))
	read := func(row int32) {
		for i, c := range held {
			ids[i] = c.data.IDs()[row]
		}
	}
	for _, row := range rows.List() {
		read(row)
		set.add(ids)
	}
	gather := newGather(t.size())
	for row := range int32(t.size()) {
		if read(row); set.has(ids) {
			gather.one(row)
		}
	}
	return gather.rows()
}

// A gather collects rows of a table from several ascending lists.
type gather struct {
	size  int32
	lists [][]int32
	loose []int32
	count int
}

func newGather(size int) *gather { return &gather{size: int32(size)} }

func (g *gather) add(rows []int32) {
	// The blank row is last, and not there in every table.
	if n := len(rows); n > 0 && rows[n-1] >= g.size {
		rows = rows[:n-1]
	}
	if len(rows) > 0 {
		g.lists = append(g.lists, rows)
		g.count += len(rows)
	}
}

// one adds a single row; such rows must come in ascending order.
func (g *gather) one(row int32) { g.loose = append(g.loose, row) }

func (g *gather) rows() *column.Rows {
	if len(g.loose) > 0 {
		g.add(g.loose)
	}
	if len(g.lists) == 0 {
		return column.Listed(int(g.size), nil)
	}
	if len(g.lists) == 1 && g.count < int(g.size)/32+1 {
		return column.Listed(int(g.size), g.lists[0])
	}
	if g.count < int(g.size)/64 {
		list := make([]int32, 0, g.count)
		for _, l := range g.lists {
			list = append(list, l...)
		}
		slices.Sort(list)
		return column.Listed(int(g.size), slices.Compact(list))
	}
	set := column.NewBitmap(int(g.size))
	for _, l := range g.lists {
		for _, row := range l {
			set.Add(row)
		}
	}
	return set.Rows()
}

// A tupleSet is a set of combinations of value numbers.
type tupleSet struct {
	pairs map[uint64]struct{} // of two
	more  map[string]struct{}
	buf   []byte
}

func newTupleSet(width int) tupleSet {
	if width <= 2 {
		return tupleSet{pairs: map[uint64]struct{}{}}
	}
	return tupleSet{more: map[string]struct{}{}, buf: make([]byte, 4*width)}
}

func pair(ids []int32) uint64 {
	k := uint64(uint32(ids[0]))
	if len(ids) == 2 {
		k = k<<32 | uint64(uint32(ids[1]))
	}
	return k
}

func (s *tupleSet) key(ids []int32) []byte {
	for i, id := range ids {
		binary.LittleEndian.PutUint32(s.buf[4*i:], uint32(id))
	}
	return s.buf
}

// add puts a combination in and says whether it is new.
func (s *tupleSet) add(ids []int32) bool {
	if s.has(ids) {
		return false
	}
	if s.pairs != nil {
		s.pairs[pair(ids)] = struct{}{}
	} else {
		s.more[string(s.key(ids))] = struct{}{}
	}
	return true
}

func (s *tupleSet) has(ids []int32) bool {
	if s.pairs != nil {
		_, ok := s.pairs[pair(ids)]
		return ok
	}
	_, ok := s.more[string(s.key(ids))]
	return ok
}
