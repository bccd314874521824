package eval

import (
	"fmt"

	"github.com/pbmb/pbmb/knowledge"
)

// An Identity is the person that a query runs for.
type Identity struct {
	UPN      string // what USERPRINCIPALNAME() and USERNAME() give
	ObjectID string // what USEROBJECTID() gives

	// CustomData is what CUSTOMDATA() gives: what an application said for the
	// person; empty is blank.
	CustomData string

	// Roles are the model's roles that the person is a member of. A row is
	// visible where one of them shows it.
	Roles []string

	// Unrestricted is set for people who may write the model: no role applies to
	// them. Without it, a person in no role of a model that has roles is refused.
	Unrestricted bool
}

// A Result is the tables of a query, one for each EVALUATE.
type Result struct {
	Tables []ResultTable
}

// A ResultTable is the rows of one EVALUATE. A cell is nil for a blank, or a
// bool, int64, float64, string or time.Time.
type ResultTable struct {
	Columns []ResultColumn
	Rows    [][]any
}

// A ResultColumn is named as executeQueries keys it: Table[Column] for columns
// of the model and [Name] for others.
type ResultColumn struct {
	Name string
	Type knowledge.DataType
}

// An ErrorKind is what a caller does differently for different errors.
type ErrorKind string

const (
	Syntax      ErrorKind = "syntax"      // the text is no query
	UnknownName ErrorKind = "unknownName" // no such table, column, measure, variable or role
	Unsupported ErrorKind = "unsupported" // a function or form that this engine does not compute
	Invalid     ErrorKind = "invalid"     // names are known, but the expression makes no sense
	Evaluation  ErrorKind = "evaluation"  // the values do not allow it
	Refused     ErrorKind = "refused"     // the person is in no role of a model with roles
	Exceeded    ErrorKind = "exceeded"    // the query wants more memory, time or depth than it may use
)

// An Error is what a query gets instead of rows.
type Error struct {
	Kind         ErrorKind
	Line, Column int    // counted from 1; 0 where the place is not known
	Function     string // the function that is not supported
	Message      string
}

// Error is the text that executeQueries shows.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("Query (%d, %d) %s", e.Line, e.Column, e.Message)
	}
	return e.Message
}
