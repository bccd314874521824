package dataset

import (
	"time"

	"github.com/pbmb/pbmb/knowledge"
)

// A Part is a part of a model that is read under people's tokens. Under whose it
// was is not told.
type Part struct {
	Part   string     `json:"part" doc:"Which part" enum:"relationships,calculation_groups,calculation_items,functions"`
	State  string     `json:"state" doc:"read; outdated: read before the schema changed; refused: Power BI told nobody who was tried; failed: it may work later; or not_read" enum:"read,outdated,refused,failed,not_read"`
	At     *time.Time `json:"at,omitempty" doc:"When that was found"`
	Reason string     `json:"reason,omitempty" doc:"Why it is not known"`
	Effect string     `json:"effect,omitempty" doc:"What that means for queries of people without the role pii_reader, where the dataset has personal data"`
}

func newPart(r knowledge.PartReading) Part {
	p := Part{Part: string(r.Part), State: string(r.State), Reason: r.Reason, Effect: effect(r)}
	if !r.At.IsZero() {
		at := r.At.UTC()
		p.At = &at
	}
	return p
}

// effect says what it means that a part is not known (PII-114, PII-129).
func effect(r knowledge.PartReading) string {
	refused := r.State == knowledge.PartRefused
	switch {
	case r.State == knowledge.PartRead:
		return ""
	case r.Part == knowledge.Relationships:
		return "Queries are refused until they are read."
	case r.Part == knowledge.Functions && refused:
		return "Their text is not checked: queries that call one are refused."
	case r.Part == knowledge.Functions:
		return "Queries that call one are refused until they are read."
	case refused:
		return "What calculation items do is not checked."
	case r.Part == knowledge.CalculationGroups:
		return "Queries are refused until they are read."
	}
	return "Queries that use a calculation group are refused until they are read."
}
