package pii

import "time"

// A Decision is a rule as it is kept: what was decided about a name, by whom and why.
type Decision struct {
	Ref
	PII       bool // marked; false where it was reviewed and cleared
	Note      string
	Version   int64
	ChangedBy string
	ChangedAt time.Time
	Via       string // through what it was changed: browser, cli or import
}

// Rule is the decision without its history.
func (d Decision) Rule() Rule { return Rule{Kind: d.Kind, Table: d.Table, Name: d.Name, PII: d.PII} }

// Matches counts what a rule matches in the datasets that somebody reaches.
type Matches struct {
	Columns, Measures, Datasets int
}
