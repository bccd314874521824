package pii

import (
	"fmt"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A Kind says what a rule names.
type Kind string

const (
	Table   Kind = "table"
	Column  Kind = "column"
	Measure Kind = "measure"
)

// A Ref is the name of a table, or of a column or measure with its table.
type Ref struct {
	Kind  Kind
	Table string
	Name  string // empty for a table
}

// String writes the reference as people do: Customer, Customer[Region]. The names
// are as they are, without quotes.
func (r Ref) String() string {
	if r.Kind == Table {
		return r.Table
	}
	return r.Table + "[" + r.Name + "]"
}

// Key is equal for references that are one rule: letter case and width do not
// matter.
func (r Ref) Key() string {
	return string(r.Kind) + "\x00" + knowledge.Fold(r.Table) + "\x00" + knowledge.Fold(r.Name)
}

// A ReferenceError says what is wrong with a reference.
type ReferenceError struct {
	Text   string
	Reason string
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("%q is not a reference: %s; write a table as Customer or 'Order lines', a column as Customer[Region], "+
		"and a measure, with the measure option, as Sales[Net sales]", e.Text, e.Reason)
}

// ParseReference reads a reference: Customer is a table, Customer[Region] a
// column or, where a measure is wanted, a measure. A table name may be in quotes;
// inside brackets ]] stands for a bracket.
func ParseReference(text string, measure bool) (Ref, error) {
	bad := func(reason string) (Ref, error) { return Ref{}, &ReferenceError{Text: text, Reason: reason} }
	rest := strings.TrimSpace(text)
	r := Ref{Kind: Table}
	if strings.HasPrefix(rest, "'") {
		name, after, ok := quoted(rest[1:], '\'')
		if !ok {
			return bad("the table name has no closing quote")
		}
		r.Table, rest = name, strings.TrimSpace(after)
	} else {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			i = len(rest)
		}
		r.Table, rest = strings.TrimSpace(rest[:i]), rest[i:]
		if strings.ContainsAny(r.Table, "]'\"") {
			return bad("the table name holds a quote or bracket; put it in single quotes")
		}
	}
	switch {
	case strings.TrimSpace(r.Table) == "" && rest != "":
		return bad("it has no table")
	case strings.TrimSpace(r.Table) == "":
		return bad("it is empty")
	case rest == "" && measure:
		return bad("a measure needs its table and its name in brackets")
	case rest == "":
		return r, nil
	case rest[0] != '[':
		return bad("something other than [ follows the table name")
	}
	name, after, ok := quoted(rest[1:], ']')
	switch {
	case !ok:
		return bad("the name in brackets has no closing ]")
	case strings.TrimSpace(name) == "":
		return bad("the name in brackets is empty")
	case strings.TrimSpace(after) != "":
		return bad("something follows the closing ]")
	}
	r.Kind, r.Name = Column, name
	if measure {
		r.Kind = Measure
	}
	return r, nil
}

// quoted reads up to the closing character, which is doubled to stand for itself.
func quoted(s string, closing byte) (value, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == closing {
			if i+1 == len(s) || s[i+1] != closing {
				return b.String(), s[i+1:], true
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
