package reference

import "github.com/pbmb/pbmb/knowledge"

// A Kind says what an element of a model is.
type Kind string

const (
	Table    Kind = "table"
	Column   Kind = "column"
	Measure  Kind = "measure"
	Function Kind = "function"         // user-defined
	Item     Kind = "calculation item" // of a calculation group
	Details  Kind = "detail rows"      // the detail rows expression of a measure
	Role     Kind = "role"             // what a role restricts of one table
)

// An Element is a part of a model by its names, spelled as there.
type Element struct {
	Kind Kind
	// Table is the home of a column, measure, calculation item or detail rows
	// expression, and the table that a role restricts; empty for a function.
	Table string
	Name  string // empty for a table
}

// String writes the element as people do: Sales, Sales[Net amount],
// Sales[Net sales], Smooth(), Time view: Year to date, West on Region.
func (e Element) String() string {
	switch e.Kind {
	case Table:
		return e.Table
	case Function:
		return e.Name + "()"
	case Item:
		return e.Table + ": " + e.Name
	case Details:
		return "detail rows of " + e.Table + "[" + e.Name + "]"
	case Role:
		return e.Name + " on " + e.Table
	}
	return e.Table + "[" + e.Name + "]"
}

// key is equal for elements that are one, however they are spelled.
func (e Element) key() Element {
	return Element{e.Kind, knowledge.Fold(e.Table), knowledge.Fold(e.Name)}
}
