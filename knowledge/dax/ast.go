package dax

// A Pos is a place in a text: a byte offset, and the line and column, counted
// from 1 in characters, that people see.
type Pos struct {
	Offset, Line, Column int
}

// A Node is any part of a query or expression.
type Node interface {
	Pos() Pos // of the first character
	End() int // byte offset after the last character
}

// Span is the place of a node.
type Span struct {
	From Pos
	To   int // byte offset after the node
}

func (s Span) Pos() Pos { return s.From }
func (s Span) End() int { return s.To }

// An Expr is a scalar or table expression; which of the two shows only when it
// is resolved.
type Expr interface {
	Node
	expr()
}

type (
	// A Query is DEFINE … EVALUATE ….
	Query struct {
		Span
		Definitions []Definition
		Evaluates   []*Evaluate
	}

	// An Evaluate is one EVALUATE statement.
	Evaluate struct {
		Span
		Table   Expr
		OrderBy []OrderTerm
		StartAt []Expr // literals and parameters
	}

	// An OrderTerm is one term of ORDER BY.
	OrderTerm struct {
		Span
		Expr       Expr
		Descending bool
	}
)

// A DefinitionKind is the keyword that starts a definition.
type DefinitionKind string

const (
	DefineMeasure    DefinitionKind = "MEASURE"
	DefineColumn     DefinitionKind = "COLUMN"
	DefineTable      DefinitionKind = "TABLE"
	DefineVar        DefinitionKind = "VAR"
	DefineFunction   DefinitionKind = "FUNCTION"
	DefineMParameter DefinitionKind = "MPARAMETER"
)

// A Definition is one definition of a DEFINE block.
type Definition struct {
	Span
	Kind   DefinitionKind
	Table  string // of a MEASURE or COLUMN: the table it is put on
	Name   string // without quotes or brackets
	Params []Param
	Value  Expr // the body of a FUNCTION
	Shape  *VisualShape
	Doc    string // of a FUNCTION: the text of its /// comments
}

// A Param is a parameter of a FUNCTION.
type Param struct {
	Span
	Name    string
	Type    string // ANYVAL, SCALAR, TABLE, ANYREF, … upper case; empty when not given
	Subtype string // INT64, … upper case
	ByExpr  bool   // EXPR: evaluated where it is used
	Default Expr
}

// A VisualShape is the WITH VISUAL SHAPE clause of a TABLE definition.
type VisualShape struct {
	Span
	Axes    []Axis
	Densify string
}

// An Axis of a visual shape.
type Axis struct {
	Span
	Name    string
	Groups  []AxisGroup
	OrderBy []OrderTerm
}

// An AxisGroup is one GROUP of an axis, with its TOTAL column where it has one.
type AxisGroup struct {
	Span
	Columns []Expr
	Total   Expr
}

type (
	// A Number is a numeric literal; Text is as written.
	Number struct {
		Span
		Text string
	}

	// A Text is a string literal, unescaped.
	Text struct {
		Span
		Value string
	}

	// A Date is a dt"…" literal; Value is what stands between the quotes.
	Date struct {
		Span
		Value string
	}

	// A Bool is TRUE or FALSE written without parentheses.
	Bool struct {
		Span
		Value bool
	}

	// A Name is a bare or quoted name: a table, a variable, a parameter or an
	// enumeration word.
	Name struct {
		Span
		Value  string
		Quoted bool
	}

	// A Ref is [Name], Table[Name] or 'Table'[Name]: a column or a measure.
	Ref struct {
		Span
		Table     string // empty when not given
		HasTable  bool
		Quoted    bool // the table's name is in quotes
		Name      string
		Variation string // of T[c].[v]; empty for others
	}

	// A Call is Function ( arguments ). An empty argument is nil.
	Call struct {
		Span
		Func string // as written, without blanks around its dots
		Args []Expr
	}

	// A Unary is -x, +x or NOT x. Op is upper case.
	Unary struct {
		Span
		Op string
		X  Expr
	}

	// A Binary is x op y; Op is one of ^ * / + - & = == <> < > <= >= IN && ||.
	Binary struct {
		Span
		Op   string
		X, Y Expr
	}

	// A Paren is ( x ).
	Paren struct {
		Span
		X Expr
	}

	// A Tuple is ( a, b, … ), before IN or in a table constructor.
	Tuple struct {
		Span
		Items []Expr
	}

	// A TableConstructor is { row, … }; a row is a *Tuple or a scalar.
	TableConstructor struct {
		Span
		Rows []Expr
	}

	// A Vars is VAR … RETURN ….
	Vars struct {
		Span
		Vars   []VarDef
		Return Expr
	}

	// A VarDef is one VAR of a [Vars].
	VarDef struct {
		Span
		Name  string
		Value Expr
	}

	// A Parameter is @name.
	Parameter struct {
		Span
		Name string
	}
)

func (*Number) expr()           {}
func (*Text) expr()             {}
func (*Date) expr()             {}
func (*Bool) expr()             {}
func (*Name) expr()             {}
func (*Ref) expr()              {}
func (*Call) expr()             {}
func (*Unary) expr()            {}
func (*Binary) expr()           {}
func (*Paren) expr()            {}
func (*Tuple) expr()            {}
func (*TableConstructor) expr() {}
func (*Vars) expr()             {}
func (*Parameter) expr()        {}
