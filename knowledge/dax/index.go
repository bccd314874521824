package dax

import (
	"iter"
	"math/bits"

	"github.com/pbmb/pbmb/knowledge"
)

// An Index holds the names of a model, ready for [Index.Resolve]. It does not
// change, so that any number of goroutines may use it; the model must not change
// under it either.
type Index struct {
	model     *knowledge.Model
	namesOnly bool                   // where values come from is not followed
	bodies    map[string]*modelBody  // of the functions, if names only
	tables    map[string]*indexTable // by folded name, as all maps here
	measures  map[string]int         // to sources
	functions map[string]*knowledge.Function
	sources   []Source // every column, then every measure, of the model
	byName    map[string][]int
	folded    map[string]string // of names as the model spells them
	twice     map[string]bool   // measures and functions that have a folded name together
}

// fold is [knowledge.Fold], without the work for names that are spelled as in the
// model.
func (ix *Index) fold(name string) string {
	if folded, ok := ix.folded[name]; ok {
		return folded
	}
	return knowledge.Fold(name)
}

type indexTable struct {
	name     string
	twice    bool // another table has the same folded name, or two of its own columns and measures have
	columns  map[string]int
	measures map[string]int
	row      *RowType
}

// A Source is a column or a measure of the model, spelled as there.
type Source struct {
	Measure     bool
	Table, Name string
}

func (s Source) String() string { return s.Table + "[" + s.Name + "]" }

// NewIndex reads the names of a model.
func NewIndex(m *knowledge.Model) *Index { return newIndex(m, false) }

// NewNameIndex does the same for those who ask what names stand for and not where
// values come from: its resolutions have no sources in their results. Each costs
// what its own text costs, however large the model is and whatever functions of
// the model the text calls.
func NewNameIndex(m *knowledge.Model) *Index { return newIndex(m, true) }

func newIndex(m *knowledge.Model, namesOnly bool) *Index {
	ix := &Index{
		model:     m,
		namesOnly: namesOnly,
		tables:    make(map[string]*indexTable, len(m.Tables)),
		measures:  map[string]int{},
		functions: map[string]*knowledge.Function{},
		byName:    map[string][]int{},
		folded:    map[string]string{},
		twice:     map[string]bool{},
	}
	fold := func(name string) string {
		folded, ok := ix.folded[name]
		if !ok {
			folded = knowledge.Fold(name)
			ix.folded[name] = folded
		}
		return folded
	}
	for _, t := range m.Tables {
		key := fold(t.Name)
		it := ix.tables[key]
		if it == nil {
			it = &indexTable{name: t.Name, columns: make(map[string]int, len(t.Columns)), measures: map[string]int{}, row: &RowType{}}
			ix.tables[key] = it
		} else {
			it.twice = true
		}
		for _, c := range t.Columns {
			id := len(ix.sources)
			folded := fold(c.Name)
			if _, known := it.columns[folded]; known {
				it.twice = true
			}
			it.columns[folded] = id
			ix.byName[folded] = append(ix.byName[folded], id)
			ix.sources = append(ix.sources, Source{Table: t.Name, Name: c.Name})
			it.row.cols = append(it.row.cols, RowColumn{Table: t.Name, Name: c.Name, folded: folded, from: ix.origin(id)})
		}
	}
	for _, t := range m.Tables {
		it := ix.tables[fold(t.Name)]
		for _, measure := range t.Measures {
			id := len(ix.sources)
			folded := fold(measure.Name)
			it.measures[folded] = id
			if _, known := ix.measures[folded]; !known {
				ix.measures[folded] = id
			} else {
				ix.twice["["+folded] = true
			}
			if _, known := it.columns[folded]; known {
				ix.twice["["+folded] = true
				it.twice = true
			}
			ix.sources = append(ix.sources, Source{Measure: true, Table: t.Name, Name: measure.Name})
		}
	}
	for _, it := range ix.tables {
		// Names are looked up by many goroutines, so nothing is left to do later.
		it.row.seal()
	}
	for i := range m.Functions {
		key := fold(m.Functions[i].Name)
		ix.twice[key] = ix.functions[key] != nil
		ix.functions[key] = &m.Functions[i]
	}
	if namesOnly {
		ix.bodies = make(map[string]*modelBody, len(ix.functions))
		for key, f := range ix.functions {
			body := &modelBody{from: origins{unknown: true}}
			body.def, _ = ParseFunction(f.Name, f.Expression) // without it, any number of arguments will do
			ix.bodies[key] = body
		}
	}
	return ix
}

// Model is the model that the index was made from.
func (ix *Index) Model() *knowledge.Model { return ix.model }

// origin is the set of one source.
func (ix *Index) origin(id int) origins {
	if ix.namesOnly {
		return origins{}
	}
	return origins{low: id / 64, bits: []uint64{1 << (id % 64)}}
}

// origins is a set of sources. The zero value is the empty set; sets share their
// memory and are never changed.
type origins struct {
	low     int // the index of the first word of bits
	bits    []uint64
	unknown bool // there may be more
}

// with is the union of two sets.
func (o origins) with(p origins) origins {
	unknown := o.unknown || p.unknown
	switch {
	case o.has(p):
	case p.has(o):
		o = p
	default:
		low := min(o.low, p.low)
		union := make([]uint64, max(o.low+len(o.bits), p.low+len(p.bits))-low)
		for _, set := range []origins{o, p} {
			for i, word := range set.bits {
				union[set.low-low+i] |= word
			}
		}
		o = origins{low: low, bits: union}
	}
	o.unknown = unknown
	return o
}

// has tells whether every source of p is in o.
func (o origins) has(p origins) bool {
	for i, word := range p.bits {
		j := p.low + i - o.low
		if word != 0 && (j < 0 || j >= len(o.bits) || word&^o.bits[j] != 0) {
			return false
		}
	}
	return true
}

// unite is the union of many sets.
func unite(sets iter.Seq[origins]) origins {
	var o origins
	low, high := 0, 0
	for set := range sets {
		o.unknown = o.unknown || set.unknown
		switch {
		case len(set.bits) == 0:
		case high == 0:
			low, high = set.low, set.low+len(set.bits)
		default:
			low, high = min(low, set.low), max(high, set.low+len(set.bits))
		}
	}
	if high == 0 {
		return o
	}
	o.low, o.bits = low, make([]uint64, high-low)
	for set := range sets {
		for i, word := range set.bits {
			o.bits[set.low-low+i] |= word
		}
	}
	return o
}

// list gives the sources of the set in the order of the model.
func (ix *Index) list(o origins) []Source {
	if len(o.bits) == 1 && bits.OnesCount64(o.bits[0]) == 1 {
		id := o.low*64 + bits.TrailingZeros64(o.bits[0])
		return ix.sources[id : id+1 : id+1]
	}
	var list []Source
	for i, word := range o.bits {
		for word != 0 {
			list = append(list, ix.sources[(o.low+i)*64+bits.TrailingZeros64(word)])
			word &= word - 1
		}
	}
	return list
}

// A RowType is what is known of the columns of a table expression.
type RowType struct {
	base   *RowType // the columns before cols
	cols   []RowColumn
	open   bool    // there may be further columns
	rest   origins // where the values of further columns come from
	byName map[string][]int
	total  *origins
}

// A RowColumn is a column of a table expression. Table is empty for a column that
// the text adds.
type RowColumn struct {
	Table, Name string
	folded      string
	from        origins
}

// maxRow is how many columns of a table expression are kept apart.
const maxRow = 20_000

func openRow(from origins) *RowType { return &RowType{open: true, rest: from} }

func (t *RowType) seal() {
	t.all()
	if len(t.cols) > 8 {
		t.index()
	}
}

func (t *RowType) index() {
	t.byName = make(map[string][]int, len(t.cols))
	for i, c := range t.cols {
		t.byName[c.folded] = append(t.byName[c.folded], i)
	}
}

// find gives the columns with a name, and whether there may be others.
func (t *RowType) find(folded string) (found []RowColumn, open bool) {
	for ; t != nil; t = t.base {
		open = open || t.open
		if len(t.cols) > 8 {
			if t.byName == nil {
				t.index()
			}
			for _, i := range t.byName[folded] {
				found = append(found, t.cols[i])
			}
			continue
		}
		for _, c := range t.cols {
			if c.folded == folded {
				found = append(found, c)
			}
		}
	}
	return found, open
}

// all is where the values of any column come from.
func (t *RowType) all() origins {
	if t.total == nil {
		o := unite(func(yield func(origins) bool) {
			if !yield(t.rest) || t.base != nil && !yield(t.base.all()) {
				return
			}
			for i := range t.cols {
				if !yield(t.cols[i].from) {
					return
				}
			}
		})
		t.total = &o
	}
	return *t.total
}

// list gives the columns in order, and whether there may be others.
func (t *RowType) list() (cols []RowColumn, open bool) {
	if t.base != nil {
		cols, open = t.base.list()
	}
	if len(cols)+len(t.cols) > maxRow {
		return cols, true
	}
	if len(cols) == 0 {
		return t.cols[:len(t.cols):len(t.cols)], open || t.open
	}
	return append(cols[:len(cols):len(cols)], t.cols...), open || t.open
}

// join puts the columns of several tables side by side.
func join(rows ...*RowType) *RowType {
	joined := &RowType{}
	size := 0
	for _, row := range rows {
		if row == nil {
			continue
		}
		cols, open := row.list()
		if size += len(cols); size > maxRow {
			return openRow(allOf(rows))
		}
		joined.cols = append(joined.cols, cols...)
		joined.open = joined.open || open
		if open {
			joined.rest = joined.rest.with(row.all())
		}
	}
	return joined
}

// allOf is where the values of any column of several tables come from.
func allOf(rows []*RowType) origins {
	var o origins
	for _, row := range rows {
		if row != nil {
			o = o.with(row.all())
		}
	}
	return o
}
