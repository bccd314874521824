package knowledge

// A Model is a semantic model: the tables, measures, relationships and roles of
// one dataset, as TMDL, TMSL, the admin scanner or the mirror give them.
// Names are as the model spells them; compare them with [Fold].
type Model struct {
	Name          string
	Tables        []Table
	Relationships []Relationship
	Roles         []Role
	Functions     []Function // user-defined functions

	// RelationshipsKnown is false where nobody has read the relationships yet:
	// the scanner does not give them.
	RelationshipsKnown bool

	// What somebody may still be told of, and nobody has read of the schema as it
	// is: which tables are calculation groups, what their items do, and the
	// functions. All are false where Power BI refused to tell, and nobody will know.
	GroupsUnread, ItemsUnread, FunctionsUnread bool
}

// Unread reports whether anything of the model is worth reading before its
// queries are judged.
func (m *Model) Unread() bool {
	return !m.RelationshipsKnown || m.GroupsUnread || m.ItemsUnread || m.FunctionsUnread
}

// A Table of a model.
type Table struct {
	Name        string
	Description string
	Hidden      bool
	Expression  string // the DAX of a calculated table; empty for others
	Columns     []Column
	Measures    []Measure
	Group       bool              // a calculation group whose items may not be known
	Items       []CalculationItem // of a calculation group; empty for others
	Precedence  int               // of a calculation group: that of the highest is applied first
}

// A DataType is the type of a column.
type DataType string

const (
	String   DataType = "string"
	Int64    DataType = "int64"
	Double   DataType = "double"
	Decimal  DataType = "decimal" // fixed: four decimals
	Boolean  DataType = "boolean"
	DateTime DataType = "dateTime"
	Binary   DataType = "binary"
	Variant  DataType = "variant"
)

// A Column of a table.
type Column struct {
	Name         string
	Description  string
	DataType     DataType
	Hidden       bool
	Key          bool
	Expression   string // the DAX of a calculated column; empty for others
	SourceColumn string // the name in the source of the rows; empty means Name
	SortBy       string // the column of the same table that orders this one
	FormatString string
	Folder       string

	// Variations lead from this column to the columns of a hidden date table,
	// as T[c].[Year] does.
	Variations []Variation
}

// A Variation of a date column names the hidden date table behind it.
type Variation struct {
	Name         string
	Relationship string
	Table        string // the hidden date table
}

// A Measure of a table.
type Measure struct {
	Name         string
	Description  string
	Expression   string // DAX; empty where it is not known
	FormatString string
	Hidden       bool
	Folder       string
	DetailRows   string // DAX of the detail rows expression; empty where there is none
}

// A CalculationItem of a calculation group.
type CalculationItem struct {
	Name       string
	Expression string
	Ordinal    int
}

// A Function is a user-defined function of the model. Its expression starts with
// the parameter list.
type Function struct {
	Name       string
	Expression string
}

// A Relationship joins a column of one table (the many side, unless said
// otherwise) to a column of another.
type Relationship struct {
	Name       string
	FromTable  string
	FromColumn string
	ToTable    string
	ToColumn   string
	Inactive   bool
	BothFilter bool // filters flow both ways
	BothSecure bool // row-level security filters flow both ways
	FromOne    bool // the from side is unique too: one to one
	ToMany     bool // the to side is not unique: many to many
}

// A Role of a model's row-level and object-level security.
type Role struct {
	Name    string
	Members []RoleMember
	Tables  []TablePermission
}

// A RoleMember is a person or group that a role is given to.
type RoleMember struct {
	Name     string // UPN or display name
	ObjectID string
	Kind     string // User, Group or App
}

// A TablePermission restricts what a role sees of a table.
type TablePermission struct {
	Table         string
	Filter        string   // DAX; empty means no row filter
	Hidden        bool     // object-level security: the table does not exist
	HiddenColumns []string // object-level security: these columns do not exist
}
