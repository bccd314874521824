package knowledge

// A Range is the part of a list that is asked for.
type Range struct {
	Offset, Limit int
}

// A DatasetFilter narrows a list of datasets. Empty fields narrow nothing.
type DatasetFilter struct {
	Words     string // of the name or the description
	Workspace string // name or id
}

// DatasetCounts has how many elements of a dataset the caller can see.
type DatasetCounts struct {
	Columns, Measures int
	PIIHidden         int   // columns and measures left out as personal data
	OwnVersion        int64 // of what the book says of the dataset itself

	// Parts says of each part that is read under people's tokens what is known.
	Parts []PartReading
}

// An ElementFilter narrows a list of columns or measures. Empty fields narrow nothing.
type ElementFilter struct {
	DatasetID string
	Dataset   string // its name by itself, where the id is not known: see [ErrNotOne]
	Table     string // name, in any case and width
	Words     string // of the name or the description
}

// A ListedColumn is a column of the mirror, as lists show it.
type ListedColumn struct {
	DatasetID, Dataset string
	Table, Name        string
	DataType           DataType
	Description        string // Power BI's
	OwnDescription     string // the book's
	OwnVersion         int64  // of what the book says; 0 where it says nothing
	Expression         string // DAX of a calculated column
	Hidden             bool
	PII                bool // marked; seen by holders of pii_reader alone
}

// A ListedMeasure is a measure of the mirror, as lists show it.
type ListedMeasure struct {
	DatasetID, Dataset string
	Table, Name        string
	Description        string // Power BI's
	OwnDescription     string // the book's
	OwnVersion         int64
	Expression         string // DAX; empty where it is not known
	Format             string
	Hidden             bool
	PII                bool
}

// A HitKind is a kind of thing that search finds.
type HitKind string

const (
	HitDataset HitKind = "dataset"
	HitTable   HitKind = "table"
	HitColumn  HitKind = "column"
	HitMeasure HitKind = "measure"
)

// A Hit is something that search found.
type Hit struct {
	Kind                          HitKind
	DatasetID, Dataset, Workspace string
	Table, Name                   string
	Description                   string // Power BI's
	OwnDescription                string // the book's
	Endorsement                   string // of its dataset
	Rank                          float64
}

// A ListedTable is a table of the mirror with what the caller can see of it.
type ListedTable struct {
	Name, Description string // Power BI's
	OwnDescription    string // the book's
	OwnVersion        int64
	Hidden            bool
	Columns, Measures int
}
