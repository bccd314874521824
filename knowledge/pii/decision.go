package pii

import "time"

// A Decision is a rule as it is kept: what was decided about a name, by whom and why.
type Decision struct {
	Ref
	PII       bool // marked; false where it was reviewed and cleared
	Note      string
	Version   int64 // of its last change; a number is never used twice
	ChangedBy string
	ChangedAt time.Time
	Via       string // through what it was changed: browser, cli or import
}

// Rule is the decision without its history.
func (d Decision) Rule() Rule { return Rule{Kind: d.Kind, Table: d.Table, Name: d.Name, PII: d.PII} }

// A State is what is decided about a name at some time.
type State string

const (
	Undecided State = "none"
	IsMarked  State = "marked"
	IsCleared State = "cleared"
)

// StateOf is what a rule decides.
func StateOf(marked bool) State {
	if marked {
		return IsMarked
	}
	return IsCleared
}

// A Change is one change of what is decided about a name.
type Change struct {
	Ref
	Version       int64
	Before, After State
	Note          string // that of the decision after it
	By            string
	At            time.Time
	Via           string
}

// Matches counts what a rule matches in the datasets that somebody reaches.
type Matches struct {
	Columns, Measures, Datasets int
}
