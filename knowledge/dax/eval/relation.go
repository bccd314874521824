package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A colMeta says what a column of a table value is called and which column of
// the model its values are from. Filters work through the latter: a column
// without lineage filters nothing.
type colMeta struct {
	table   string // empty for columns that the query made
	name    string
	lineage *modelColumn
}

// key is the name of the column in a result.
func (m colMeta) key() string { return m.table + "[" + m.name + "]" }

// A schema is what is known of a table value before it is computed.
type schema struct {
	cols []colMeta
	base *table // each row is a row of this table, whose columns are the first of cols; nil for others
}

// A relation is a table value. Columns are read in place as far as possible: the
// rows of a model's table are a list of row numbers, the values of a column a
// list of their numbers.
type relation struct {
	schema *schema
	n      int
	rows   []int32 // of schema.base
	cols   []vector

	// keep is what KEEPFILTERS leaves: a row that is turned into filters comes on
	// top of those that are there.
	keep bool
}

// A vector is one column of a relation: values, or the numbers of values of a
// column of the model, or, where both are nil, a column of the relation's base.
type vector struct {
	vals []value.Value
	ids  []int32
}

func (r *relation) at(c, row int) value.Value {
	v := &r.cols[c]
	if v.vals != nil {
		return v.vals[row]
	}
	data := r.schema.cols[c].lineage.loaded()
	if v.ids != nil {
		return data.Values()[v.ids[row]]
	}
	return data.At(r.rows[row])
}

// id is the number of the value in the column of the model that it comes from;
// false where that column does not have the value.
func (r *relation) id(c, row int) (int32, bool) {
	v := &r.cols[c]
	switch {
	case v.vals != nil:
		return r.schema.cols[c].lineage.loaded().Find(v.vals[row])
	case v.ids != nil:
		return v.ids[row], true
	}
	return r.schema.cols[c].lineage.loaded().IDs()[r.rows[row]], true
}

// baseRelation is rows of a table of the model.
func baseRelation(s *schema, rows []int32) *relation {
	return &relation{schema: s, n: len(rows), rows: rows, cols: make([]vector, len(s.cols))}
}

// newRelation is an empty relation of values, to be filled with addRow.
func newRelation(s *schema) *relation {
	r := &relation{schema: s, cols: make([]vector, len(s.cols))}
	for i := range r.cols {
		r.cols[i].vals = []value.Value{}
	}
	return r
}

func (r *relation) addRow(vals ...value.Value) {
	for i, v := range vals {
		r.cols[i].vals = append(r.cols[i].vals, v)
	}
	r.n++
}

// row is the values of one row.
func (r *relation) row(i int) []value.Value {
	vals := make([]value.Value, len(r.cols))
	for c := range vals {
		vals[c] = r.at(c, i)
	}
	return vals
}

// pick is the given rows of r in that order.
func (r *relation) pick(rows []int) *relation {
	p := &relation{schema: r.schema, n: len(rows), cols: make([]vector, len(r.cols))}
	if r.rows != nil {
		p.rows = make([]int32, len(rows))
		for i, row := range rows {
			p.rows[i] = r.rows[row]
		}
	}
	for c, v := range r.cols {
		p.cols[c] = v.pick(rows)
	}
	return p
}

func (v vector) pick(rows []int) vector {
	switch {
	case v.vals != nil:
		vals := make([]value.Value, len(rows))
		for i, row := range rows {
			vals[i] = v.vals[row]
		}
		return vector{vals: vals}
	case v.ids != nil:
		ids := make([]int32, len(rows))
		for i, row := range rows {
			ids[i] = v.ids[row]
		}
		return vector{ids: ids}
	}
	return vector{}
}

// vector is column c so that it can be put into another relation.
func (r *relation) vector(c int) vector {
	v := r.cols[c]
	if v.vals != nil || v.ids != nil {
		return v
	}
	ids := make([]int32, r.n)
	from := r.schema.cols[c].lineage.loaded().IDs()
	for i, row := range r.rows {
		ids[i] = from[row]
	}
	return vector{ids: ids}
}

// values is column c as values.
func (r *relation) values(c int) []value.Value {
	if v := r.cols[c].vals; v != nil {
		return v
	}
	vals := make([]value.Value, r.n)
	for i := range vals {
		vals[i] = r.at(c, i)
	}
	return vals
}

// rowKey is the row in a form that can be compared, appended to buf.
func (r *relation) rowKey(buf []byte, row int) []byte {
	for c := range r.cols {
		buf = r.at(c, row).AppendKey(buf)
	}
	return buf
}

// keys is the keys of all rows.
func (r *relation) keys() map[string]struct{} {
	keys := make(map[string]struct{}, r.n)
	var buf []byte
	for i := range r.n {
		buf = r.rowKey(buf[:0], i)
		keys[string(buf)] = struct{}{}
	}
	return keys
}

// distinct leaves out rows that came before.
func (r *relation) distinct() *relation {
	if r.schema.base != nil && r.schema.base.unique != nil {
		return r
	}
	seen := make(map[string]struct{}, r.n)
	var keep []int
	var buf []byte
	for i := range r.n {
		buf = r.rowKey(buf[:0], i)
		if _, ok := seen[string(buf)]; !ok {
			seen[string(buf)] = struct{}{}
			keep = append(keep, i)
		}
	}
	if len(keep) == r.n {
		return r
	}
	return r.pick(keep)
}

// idsRelation is a table of one column of the model.
func idsRelation(s *schema, ids []int32) *relation {
	if ids == nil {
		ids = []int32{}
	}
	return &relation{schema: s, n: len(ids), cols: []vector{{ids: ids}}}
}

// tuplesRelation is a table of columns of the model from a flat list of tuples.
func tuplesRelation(s *schema, flat []int32) *relation {
	width := len(s.cols)
	r := &relation{schema: s, n: len(flat) / width, cols: make([]vector, width)}
	for c := range r.cols {
		ids := make([]int32, r.n)
		for i := range ids {
			ids[i] = flat[i*width+c]
		}
		r.cols[c].ids = ids
	}
	return r
}

func schemaOf(cols ...*modelColumn) *schema {
	s := &schema{}
	for _, c := range cols {
		s.cols = append(s.cols, c.meta())
	}
	return s
}

// distinctIDs are the values of c in the given rows, in the order of the
// dictionary.
func distinctIDs(c *modelColumn, rows *column.Rows) []int32 {
	data := c.data
	if rows.Len() == 1 {
		return []int32{data.IDs()[rows.List()[0]]}
	}
	if rows.IsAll() {
		ids := make([]int32, 0, len(data.Values()))
		for id := range data.Values() {
			if first := data.RowsOf(int32(id)); len(first) > 0 && int(first[0]) < rows.Size() {
				ids = append(ids, int32(id))
			}
		}
		return ids
	}
	all := data.IDs()
	list := rows.List()
	if len(list) < len(data.Values())/8 {
		ids := make([]int32, len(list))
		for i, row := range list {
			ids[i] = all[row]
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	seen := make([]bool, len(data.Values()))
	count := 0
	for _, row := range list {
		if id := all[row]; !seen[id] {
			seen[id] = true
			count++
		}
	}
	ids := make([]int32, 0, count)
	for id, ok := range seen {
		if ok {
			ids = append(ids, int32(id))
		}
	}
	return ids
}
