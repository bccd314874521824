package knowledge

// An ElementKind is what of a dataset an [ElementRef] names.
type ElementKind string

const (
	TheDataset ElementKind = "dataset"
	ATable     ElementKind = "table"
	AColumn    ElementKind = "column"
	AMeasure   ElementKind = "measure"
)

// An ElementRef names a dataset or something in it, as people write its names.
type ElementRef struct {
	Kind      ElementKind
	DatasetID string
	Table     string // of a table and a column; of a measure it may be empty
	Name      string // of a column and a measure
}

// String writes the reference as DAX does; it is empty for the dataset itself.
func (r ElementRef) String() string {
	switch r.Kind {
	case ATable:
		return r.Table
	case AColumn, AMeasure:
		return r.Table + "[" + r.Name + "]"
	}
	return ""
}

// OwnText is what the book itself says of a dataset or something in it, beside
// what Power BI says.
type OwnText struct {
	Description string
	Custom      map[string]string // in a write: those to change; an empty text takes a field away
	Version     int64             // 0 where nothing was written yet; in a write the one that it is based on
}

// A VersionError is returned, wrapping [ErrConflict], for a write that is based on
// another version than the current one.
type VersionError struct{ Current int64 }

func (e *VersionError) Error() string { return "it is at another version" }
func (e *VersionError) Unwrap() error { return ErrConflict }
