package pii

import "time"

// A Decision is a rule as it is kept: what was decided about a name, by whom and why.
type Decision struct {
	Ref
	PII       bool // marked; false where it was reviewed and cleared
	Released  bool // cleared, against relationships too
	Note      string
	Version   int64 // of its last change; a number is never used twice
	ChangedBy string
	ChangedAt time.Time
	Via       string // through what it was changed: browser, cli or import
}

// Rule is the decision without its history.
func (d Decision) Rule() Rule {
	return Rule{Kind: d.Kind, Table: d.Table, Name: d.Name, PII: d.PII, Released: d.Released}
}

// A State is what is decided about a name at some time.
type State string

const (
	Undecided State = "none"
	IsMarked  State = "marked"
	IsCleared State = "cleared"

	// IsReleased is cleared, and what a relationship joins it to spreads no further
	// there. It is for columns and tables.
	IsReleased State = "released"
)

// State is what the rule decides.
func (r Rule) State() State {
	switch {
	case r.PII:
		return IsMarked
	case r.Released:
		return IsReleased
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
