package knowledge

import "time"

// A ModelPart is a part of a model that the scanner does not give. It is read
// under the tokens of people who may.
type ModelPart string

const (
	Relationships     ModelPart = "relationships"
	CalculationGroups ModelPart = "calculation_groups" // which tables are one
	CalculationItems  ModelPart = "calculation_items"  // what the items of the groups do
	Functions         ModelPart = "functions"          // user-defined ones
)

// ModelParts are all parts, in the order in which they are read.
func ModelParts() []ModelPart {
	return []ModelPart{Relationships, CalculationGroups, CalculationItems, Functions}
}

// A ReadState is what came of reading a part.
type ReadState string

const (
	PartNotRead  ReadState = "not_read" // of the schema as it is now
	PartRead     ReadState = "read"
	PartOutdated ReadState = "outdated" // read before the schema changed
	PartRefused  ReadState = "refused"  // Power BI refused everybody who was tried
	PartFailed   ReadState = "failed"   // it may work later
)

// A PartReading says what is known of a part, when that was found, and why it is
// not more.
type PartReading struct {
	Part   ModelPart `json:"part"`
	State  ReadState `json:"state"`
	At     time.Time `json:"at"` // zero where nobody tried
	Reason string    `json:"reason"`
}
