package dax

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A FunctionKind says where a function of the language may stand.
type FunctionKind string

const (
	ScalarFunction  FunctionKind = "scalar"
	TableFunction   FunctionKind = "table"
	EitherFunction  FunctionKind = "scalar|table" // gives back what it is given
	FilterModifier  FunctionKind = "filter_modifier"
	GroupModifier   FunctionKind = "group_modifier"
	WindowSpec      FunctionKind = "window_spec"
	ReferenceResult FunctionKind = "reference"
	StatementWord   FunctionKind = "statement" // a word of DEFINE, listed with the functions
)

// Reads says what a function reads beyond what its arguments name.
type Reads string

const (
	ReadsArguments    Reads = ""
	ReadsMetadata     Reads = "metadata"     // the definition of the model
	ReadsEveryColumn  Reads = "every column" // values of columns that the text does not name
	ReadsDateColumns  Reads = "date columns" // the range of every date column
	ReadsStored       Reads = "stored"       // evaluates an expression that is stored in the model
	ReadsRemote       Reads = "remote"       // evaluates a measure of another model, named by a text
	ReadsWholeTable   Reads = "whole table"  // the table of the column or measure that is named
	ReadsVisual       Reads = "visual"       // the matrix of a visual; works only in WITH VISUAL SHAPE
	ReadsIdentity     Reads = "identity"     // who asks
	ReadsUndocumented Reads = "undocumented" // nobody says
	ReadsMParameter   Reads = "m parameter"  // sets a parameter of the queries that load the data
)

// A Function is a built-in function.
type Function struct {
	Name  string
	Kind  FunctionKind
	Reads Reads

	params []funcParam
	// The parameters from one to the other may repeat; no others where the two
	// are equal.
	repeatFrom, repeatTo int
	repeatNone           bool // they may also be left out
}

// A funcParam is a parameter of a built-in function.
//
// Its letter is t for a table, c for a column, s for a scalar, x for any of these,
// o for any of these or a bare word, r for an expression in the row context of the
// table or column before it, f for a filter of CALCULATE, n for the name of a new
// column, w for a bare word and m for a measure. A capital letter means that the
// result can hold values of the argument; for functions that give tables, the
// rules are those of [Resolve].
type funcParam struct {
	name     string
	letter   byte
	optional bool
}

// LookupFunction finds a built-in function by its name, however it is written.
func LookupFunction(name string) (*Function, bool) {
	f, ok := functionTable[knowledge.Fold(name)]
	return f, ok
}

// Functions are all built-in functions, by name.
func Functions() iter.Seq[*Function] {
	return func(yield func(*Function) bool) {
		for _, key := range slices.Sorted(maps.Keys(functionTable)) {
			if !yield(functionTable[key]) {
				return
			}
		}
	}
}

// param is the parameter that argument i is for; nil where the function takes no
// such argument.
func (f *Function) param(i int) *funcParam {
	if size := f.repeatTo - f.repeatFrom; size > 0 && i >= f.repeatTo {
		i = f.repeatFrom + (i-f.repeatFrom)%size
	}
	if i >= len(f.params) {
		return nil
	}
	return &f.params[i]
}

// Arg is the letter of argument i, in upper case if the result can hold its
// values; 0 where the function takes no such argument.
func (f *Function) Arg(i int) byte {
	if p := f.param(i); p != nil {
		return p.letter
	}
	return 0
}

// takes tells whether the function can be called with n arguments.
func (f *Function) takes(n int) bool {
	least, most, groupLeast := 0, 0, 0
	for i, p := range f.params {
		switch repeats := i >= f.repeatFrom && i < f.repeatTo; {
		case repeats && !p.optional:
			groupLeast++
		case repeats:
		case p.optional:
			most++
		default:
			least++
			most++
		}
	}
	size := f.repeatTo - f.repeatFrom
	if size == 0 {
		return least <= n && n <= most
	}
	if !f.repeatNone {
		least, most = least+groupLeast, most+size
	}
	for ; least <= n; least, most = least+groupLeast, most+size {
		if n <= most {
			return true
		}
	}
	return false
}

// signature shows how the function is called, as in
// SWITCH ( expression, value, result, …, [else] ).
func (f *Function) signature() string {
	var parts []string
	for i, p := range f.params {
		s := p.name
		if p.optional || f.repeatNone && i >= f.repeatFrom && i < f.repeatTo {
			s = "[" + s + "]"
		}
		parts = append(parts, s)
		if f.repeatTo > f.repeatFrom && i == f.repeatTo-1 {
			parts = append(parts, "…")
		}
	}
	return signature(f.Name, parts)
}

func signature(name string, params []string) string {
	if params == nil {
		return name + " ()"
	}
	return name + " ( " + strings.Join(params, ", ") + " )"
}

// takes tells whether a FUNCTION can be called with n arguments.
func (d *Definition) takes(n int) bool {
	least := 0
	for i, p := range d.Params {
		if p.Default == nil {
			least = i + 1
		}
	}
	return least <= n && n <= len(d.Params)
}

// signature shows how a FUNCTION is called.
func (d *Definition) signature() string {
	var parts []string
	for _, p := range d.Params {
		if p.Default != nil {
			parts = append(parts, "["+p.Name+"]")
		} else {
			parts = append(parts, p.Name)
		}
	}
	return signature(d.Name, parts)
}

//go:embed functions.txt
var functionList string

var functionTable = parseFunctions(functionList)

// parseFunctions reads functions.txt, whose own comment says what a line is.
func parseFunctions(list string) map[string]*Function {
	table := map[string]*Function{}
	var kind FunctionKind
	var reads Reads
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			k, r, _ := strings.Cut(strings.Trim(line, "[]"), ", ")
			kind, reads = FunctionKind(k), Reads(r)
		default:
			words := strings.Fields(line)
			key := knowledge.Fold(words[0])
			if table[key] != nil {
				panic("dax: function " + words[0] + " is listed twice")
			}
			f := &Function{Name: words[0], Kind: kind, Reads: reads}
			for _, w := range words[1:] {
				f.parseParam(w)
			}
			table[key] = f
		}
	}
	return table
}

func (f *Function) parseParam(word string) {
	switch word {
	case "(":
		f.repeatFrom = len(f.params)
	case ")+", ")*":
		f.repeatTo = len(f.params)
		f.repeatNone = word == ")*"
	default:
		inner, optional := strings.CutPrefix(strings.TrimSuffix(word, "]"), "[")
		letter, name, ok := strings.Cut(inner, ":")
		if !ok || len(letter) != 1 {
			panic("dax: function " + f.Name + " has the parameter " + word)
		}
		f.params = append(f.params, funcParam{name: name, letter: letter[0], optional: optional})
	}
}
