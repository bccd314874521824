package dax

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// QuoteTable writes the name of a table in quotes. It is always safe to paste
// into DAX, whatever the name holds.
func QuoteTable(name string) string { return quote(name) }

func quote(name string) string {
	return "'" + strings.ReplaceAll(name, "'", "''") + "'"
}

// QuoteBracket writes the name of a column or measure in brackets.
func QuoteBracket(name string) string {
	return "[" + strings.ReplaceAll(name, "]", "]]") + "]"
}

// QuoteColumn writes a reference to a column or measure with its table.
func QuoteColumn(table, column string) string { return quote(table) + QuoteBracket(column) }

// QuoteText writes a string literal.
func QuoteText(value string) string {
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// Names and values for trees that are built instead of parsed. With [Format] they
// make DAX out of names and values that may hold anything: each is written in
// quotes and cannot end early.

// TableName is a reference to a table.
func TableName(name string) *Name { return &Name{Value: name, Quoted: true} }

// Column is a reference to a column, or to a measure with its table.
func Column(table, name string) *Ref {
	return &Ref{Table: table, HasTable: true, Quoted: true, Name: name}
}

// Measure is a reference to a measure.
func Measure(name string) *Ref { return &Ref{Name: name} }

// Fn is a call of a built-in function. The name is code, never data.
func Fn(name string, args ...Expr) *Call { return &Call{Func: name, Args: args} }

// Equal is x = y for values of one type; x == y would tell blank from zero.
func Equal(x, y Expr) *Binary { return &Binary{Op: "=", X: x, Y: y} }

// Value is the literal of a Go value: string, bool, int, int64, float64 or
// [time.Time], or nil for BLANK(). It gives BLANK() for a number that DAX cannot
// write; ok is false for other types.
func Value(v any) (x Expr, ok bool) {
	switch v := v.(type) {
	case nil:
		return Fn("BLANK"), true
	case string:
		return &Text{Value: v}, true
	case bool:
		return Fn(upper(strconv.FormatBool(v))), true
	case int:
		return number(strconv.Itoa(v)), true
	case int64:
		return number(strconv.FormatInt(v, 10)), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Fn("BLANK"), true
		}
		return number(strconv.FormatFloat(v, 'G', -1, 64)), true
	case time.Time:
		return &Date{Value: v.Format("2006-01-02T15:04:05")}, true
	}
	return nil, false
}

func number(s string) Expr {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return &Unary{Op: "-", X: &Number{Text: rest}}
	}
	return &Number{Text: s}
}

// NewQuery is a query of one table.
func NewQuery(table Expr, order ...OrderTerm) *Query {
	return &Query{Evaluates: []*Evaluate{{Table: table, OrderBy: order}}}
}
