package reference

import (
	"cmp"
	"errors"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// References are what one expression refers to in its model, directly.
type References struct {
	Uses       []Use        // every place that names an element, in the order of the text
	Unresolved []Unresolved // every name that the model has not, in the order of the text
	More       int          // how many unresolved names there are beyond those listed

	// EveryDate is set where the expression reads the range of all date columns
	// of the model, as CALENDARAUTO does, and EveryColumn where it reads them all.
	// They are not among the uses.
	EveryDate, EveryColumn bool

	// Invalid says why the expression does not parse, with the places; the rest
	// is empty then.
	Invalid *dax.Errors
}

// A Use is a place where an expression refers to an element.
type Use struct {
	Element Element
	Pos     dax.Pos
	End     int // byte offset after it

	// Implied is set where the text does not name the element itself: the hidden
	// date table behind Sales[Date].[Year], the table of TABLEOF's column, the
	// detail rows of DETAILROWS.
	Implied bool
}

// An Unresolved name is one that the model has not, with what may have been meant.
type Unresolved struct {
	Text string // as written
	dax.Problem
}

// Elements are the elements of the uses, each once, in the order of the text.
func (r *References) Elements() []Element {
	var list []Element
	seen := map[Element]bool{}
	for _, u := range r.Uses {
		if !seen[u.Element] {
			seen[u.Element] = true
			list = append(list, u.Element)
		}
	}
	return list
}

// A Finder finds the references of the expressions of one model. It does not
// change, so that any number of goroutines may use it; the model must not change
// under it either.
type Finder struct {
	model   *knowledge.Model
	index   *dax.Index
	details map[Element]bool     // the measures that have detail rows
	dates   map[Element][]string // the hidden date tables behind a column, folded
	hidden  map[string]bool      // those tables
	levels  map[Element]Element  // their columns, by folded names
}

// NewFinder reads the names of a model.
func NewFinder(m *knowledge.Model) *Finder {
	f := &Finder{
		model: m, index: dax.NewNameIndex(m),
		details: map[Element]bool{}, dates: map[Element][]string{},
		hidden: map[string]bool{}, levels: map[Element]Element{},
	}
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			for _, v := range c.Variations {
				e := Element{Column, t.Name, c.Name}
				f.dates[e] = append(f.dates[e], knowledge.Fold(v.Table))
				f.hidden[knowledge.Fold(v.Table)] = true
			}
		}
		for _, measure := range t.Measures {
			if measure.DetailRows != "" {
				f.details[Element{Measure, t.Name, measure.Name}] = true
			}
		}
	}
	for _, t := range m.Tables {
		if f.hidden[knowledge.Fold(t.Name)] {
			for _, c := range t.Columns {
				e := Element{Column, t.Name, c.Name}
				f.levels[e.key()] = e
			}
		}
	}
	return f
}

// Of finds the references of an expression. The table is its home, if it has one:
// that of a measure, or, with a row context of it, that of a calculated column or
// a row filter.
func (f *Finder) Of(text, table string, row bool) *References {
	x, err := dax.ParseExpr(text)
	if err != nil {
		return invalid(err)
	}
	res, err := f.index.ResolveExpr(x, table, row)
	return f.collect(text, x, res, err)
}

// OfFunction finds the references of a user-defined function, whose expression
// starts with its parameters.
func (f *Finder) OfFunction(fn knowledge.Function) *References {
	d, err := dax.ParseFunction(fn.Name, fn.Expression)
	if err != nil {
		return invalid(err)
	}
	res, err := f.index.ResolveFunction(d)
	return f.collect(fn.Expression, d, res, err)
}

func invalid(err error) *References {
	r := &References{}
	errors.As(err, &r.Invalid)
	return r
}

func (f *Finder) collect(text string, n dax.Node, res *dax.Resolution, err error) *References {
	r := &References{}
	use := func(n dax.Node, e Element, implied bool) {
		r.Uses = append(r.Uses, Use{Element: e, Pos: n.Pos(), End: n.End(), Implied: implied})
	}
	dax.Walk(n, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Ref:
			if e, ok := elementOf(res, n); ok {
				use(n, e, false)
				if level, ok := f.behind(e, n.Variation); ok {
					use(n, level, true)
				}
			}
		case *dax.Call:
			f.call(r, res, n, use)
		}
		return true
	})
	for _, t := range res.Tables {
		_, named := t.Node.(*dax.Name)
		use(t.Node, Element{Kind: Table, Table: t.Table}, !named)
	}
	slices.SortStableFunc(r.Uses, func(a, b Use) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })

	var errs *dax.Errors
	if errors.As(err, &errs) {
		r.More = errs.More
		for _, p := range errs.List {
			r.Unresolved = append(r.Unresolved, Unresolved{Text: text[p.Pos.Offset:p.End], Problem: p})
		}
	}
	return r
}

// elementOf is the element of the model that a reference stands for: what the
// engine would try first. A column that the text makes itself is none.
func elementOf(res *dax.Resolution, x *dax.Ref) (Element, bool) {
	bindings := res.Refs[x]
	if len(bindings) == 0 {
		return Element{}, false
	}
	switch b := bindings[0]; b.Kind {
	case dax.BoundColumn:
		return Element{Column, b.Table, b.Name}, true
	case dax.BoundMeasure:
		return Element{Measure, b.Table, b.Name}, true
	}
	return Element{}, false
}

// call adds what a call refers to beside its arguments.
func (f *Finder) call(r *References, res *dax.Resolution, c *dax.Call, use func(dax.Node, Element, bool)) {
	b := res.Calls[c]
	if b.Model != nil {
		use(c, Element{Kind: Function, Name: b.Model.Name}, false)
	}
	if b.Builtin == nil {
		return
	}
	first, known := Element{}, false
	if len(c.Args) > 0 {
		if x, ok := c.Args[0].(*dax.Ref); ok {
			first, known = elementOf(res, x)
		}
	}
	switch b.Builtin.Reads {
	case dax.ReadsDateColumns:
		r.EveryDate = true
	case dax.ReadsEveryColumn:
		r.EveryColumn = true
	case dax.ReadsWholeTable:
		if known {
			use(c, Element{Kind: Table, Table: first.Table}, true)
		}
	case dax.ReadsStored:
		if known && f.details[first] {
			use(c, Element{Details, first.Table, first.Name}, true)
		}
	}
}

// behind is the column of a hidden date table that T[c].[variation] reads.
func (f *Finder) behind(e Element, variation string) (Element, bool) {
	if variation != "" {
		for _, t := range f.dates[e] {
			if level, ok := f.levels[Element{Column, t, knowledge.Fold(variation)}]; ok {
				return level, true
			}
		}
	}
	return Element{}, false
}
