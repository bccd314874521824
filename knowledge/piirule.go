package knowledge

import (
	"strings"
	"time"
)

// A PIIKind is a kind of thing that a rule on personal data names.
type PIIKind string

const (
	PIITable   PIIKind = "table"   // every column that tables of this name have
	PIIColumn  PIIKind = "column"  // one column of every table of this name
	PIIMeasure PIIKind = "measure" // one measure, wherever a table of this name holds it
)

// A PIIRef is what a rule on personal data is about, by name and in every dataset.
type PIIRef struct {
	Kind  PIIKind
	Table string
	Name  string // of the column or measure; empty for a table
}

// String writes the reference as people do: Table or Table[Name].
func (r PIIRef) String() string {
	if r.Kind == PIITable {
		return r.Table
	}
	return r.Table + "[" + strings.ReplaceAll(r.Name, "]", "]]") + "]"
}

// A PIIRule is a decision about a name.
type PIIRule struct {
	PIIRef
	PII       bool // marked; false where it was reviewed and cleared
	Note      string
	Version   int64
	ChangedBy string
	ChangedAt time.Time
	Via       string
}

// PIIMatches counts what a rule matches in the datasets that somebody reaches.
type PIIMatches struct {
	Columns, Measures, Datasets int
}
