package column

import (
	"math/bits"
	"slices"
)

// Rows is a set of the rows of one table. It is a sorted list while it is small
// and a bitmap when it is not, so that a filter on one customer costs what that
// customer's rows cost. Rows does not change once made, but
// for what it remembers.
type Rows struct {
	n     int
	count int
	all   bool
	list  []int32
	bits  []uint64
}

// All is every one of n rows.
func All(n int) *Rows { return &Rows{n: n, count: n, all: true} }

// Listed is the rows of an ascending list without doubles, which it keeps.
func Listed(n int, list []int32) *Rows {
	return &Rows{n: n, count: len(list), list: list}
}

// A Bitmap collects rows in any order.
type Bitmap struct {
	n     int
	words []uint64
}

// NewBitmap is empty, over n rows.
func NewBitmap(n int) *Bitmap { return &Bitmap{n: n, words: make([]uint64, (n+63)/64)} }

// Add puts a row in.
func (b *Bitmap) Add(row int32) { b.words[row>>6] |= 1 << (row & 63) }

// Has says whether the row is in.
func (b *Bitmap) Has(row int32) bool { return b.words[row>>6]&(1<<(row&63)) != 0 }

// Rows is the set collected so far; the bitmap must not be added to afterwards.
func (b *Bitmap) Rows() *Rows {
	count := 0
	for _, w := range b.words {
		count += bits.OnesCount64(w)
	}
	r := &Rows{n: b.n, count: count, bits: b.words}
	if count < b.n/32 {
		r.list = r.enumerate()
		r.bits = nil
	}
	return r
}

// Len is the number of rows in the set, Size that of the table.
func (r *Rows) Len() int  { return r.count }
func (r *Rows) Size() int { return r.n }

// IsAll says whether no row is missing because none was ever left out.
func (r *Rows) IsAll() bool { return r.all }

// Has says whether the row is in the set.
func (r *Rows) Has(row int32) bool {
	switch {
	case r.all:
		return true
	case r.bits != nil:
		return r.bits[row>>6]&(1<<(row&63)) != 0
	}
	_, ok := slices.BinarySearch(r.list, row)
	return ok
}

// List is the rows, ascending. Do not change it. It is remembered, so that a set
// must not be shared by goroutines.
func (r *Rows) List() []int32 {
	if r.list == nil && r.count > 0 {
		r.list = r.enumerate()
	}
	return r.list
}

func (r *Rows) enumerate() []int32 {
	list := make([]int32, 0, r.count)
	if r.all {
		for i := range r.n {
			list = append(list, int32(i))
		}
		return list
	}
	for i, w := range r.bits {
		for w != 0 {
			list = append(list, int32(i<<6+bits.TrailingZeros64(w)))
			w &= w - 1
		}
	}
	return list
}

// Or is the rows in either set.
func (r *Rows) Or(s *Rows) *Rows {
	if r.all || s.all {
		return All(r.n)
	}
	b := NewBitmap(r.n)
	for _, set := range []*Rows{r, s} {
		for _, row := range set.List() {
			b.Add(row)
		}
	}
	return b.Rows()
}

// And is the rows in both sets.
func (r *Rows) And(s *Rows) *Rows {
	switch {
	case r.all:
		return s
	case s.all:
		return r
	case r.bits != nil && s.bits != nil:
		b := NewBitmap(r.n)
		for i := range b.words {
			b.words[i] = r.bits[i] & s.bits[i]
		}
		return b.Rows()
	case r.bits != nil:
		r, s = s, r
	}
	list := make([]int32, 0, r.count)
	for _, row := range r.list {
		if s.Has(row) {
			list = append(list, row)
		}
	}
	return Listed(r.n, list)
}
