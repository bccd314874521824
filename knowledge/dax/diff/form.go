package diff

import (
	"encoding/hex"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// A Side is an expression to be compared.
type Side struct {
	Text  string
	Name  string     // what sentences call it; empty for the first and the second
	Index *dax.Index // of its model; nil where that is not known
	Table string     // its home: that of a measure, or of a calculated column or row filter
	Row   bool       // it has a row context of its home

	// Measure is the name of the measure that the expression is of. Where the
	// other side, of the same index, refers to this measure, that is no difference
	// from the expression itself.
	Measure string
}

// A Form is an expression in the form that expressions are compared in. It does
// not change, so that any number of goroutines may use it.
type Form struct {
	side  Side
	root  *node
	names map[refKey]bool // the references in it
}

// Read brings an expression into its form. The error is that of the parser; names
// that the model has not are kept as they are.
func Read(s Side) (*Form, error) {
	x, err := dax.ParseExpr(s.Text)
	if err != nil {
		return nil, err
	}
	r := &reader{form: &Form{side: s, names: map[refKey]bool{}}, vars: map[string][]variable{}}
	if s.Index != nil {
		// What is unknown has no binding, and is told elsewhere.
		r.res, _ = s.Index.ResolveExpr(x, s.Table, s.Row)
	}
	r.form.root = r.expr(x, context{row: s.Row})
	r.form.root.references(r.form.names, map[*node]bool{})
	return r.form, nil
}

// Fingerprint is equal for forms that [Compare] finds to be the same, and for no
// others, as long as all of them were read with an index or all without. (A
// measure that is nothing but a reference to another one has its own.) It may be
// kept: it depends on nothing but the expression and the names in it.
func (f *Form) Fingerprint() string { return hex.EncodeToString(f.root.digest[:]) }
