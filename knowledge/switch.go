package knowledge

import "time"

// A SwitchedDataset is all that an admin is shown of a dataset, wherever it is and
// whoever reaches it: its name, how much there is of it, and whether it is off.
type SwitchedDataset struct {
	ID                        string
	Name                      string
	Tables, Columns, Measures int

	Off       bool
	Version   int64 // 0 where it was never switched; goes up each time
	ChangedAt time.Time
	ChangedBy string // who switched it last
	Via       string
}
