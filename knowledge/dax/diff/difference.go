package diff

import (
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A Kind says how two expressions, or two parts of them, differ.
type Kind string

const (
	Same        Kind = "same"
	Renamed     Kind = "renamed references"       // a table, column or measure has another name in the other model
	References  Kind = "other references"         // another table, column or measure of the same name is there too
	Filters     Kind = "added or removed filters" // or changed ones
	Aggregation Kind = "different aggregation"
	Constants   Kind = "other constants"
	Wrapper     Kind = "different wrapper" // a function around the same, or DIVIDE against /
	Different   Kind = "different"
)

// A Comparison is what [Compare] finds.
type Comparison struct {
	// Kind is that of the differences if they are all of one, renamed references
	// beside them not counted, and Different otherwise.
	Kind        Kind
	Differences []Difference // in the order of the first expression; none for Same
}

// A Difference is one place where two expressions part.
type Difference struct {
	Kind     Kind
	Sentence string // what differs, for a person who knows Power BI
	A, B     Part   // of the first and the second; one may be empty
}

// A Part is a part of an expression.
type Part struct {
	Text string // on one line; empty where the other side has more
	Pos  dax.Pos
	End  int // byte offset after it in the expression's own text
}
