package dax

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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

// Names and values for trees that are built instead of parsed. With [Write] they
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
// [time.Time], or nil for BLANK(). ok is false for other types, and for values
// that DAX has no literal for: a string with NUL or bytes that are not UTF-8, a
// number that is infinite or none, a time outside the years 1 to 9999 or with
// parts of a second. Dates have no zone: the clock of the time is written.
func Value(v any) (x Expr, ok bool) {
	switch v := v.(type) {
	case nil:
		return Fn("BLANK"), true
	case string:
		return &Text{Value: v}, utf8.ValidString(v) && strings.IndexByte(v, 0) < 0
	case bool:
		return Fn(upper(strconv.FormatBool(v))), true
	case int:
		return integer(int64(v)), true
	case int64:
		return integer(v), true
	case float64:
		return number(strconv.FormatFloat(v, 'G', -1, 64)), !math.IsNaN(v) && !math.IsInf(v, 0)
	case time.Time:
		return &Date{Value: v.Format("2006-01-02T15:04:05")}, 1 <= v.Year() && v.Year() <= 9999 && v.Nanosecond() == 0
	}
	return nil, false
}

// integer is the literal of a whole number. The smallest one is a difference, as
// its digits alone are more than a whole number holds.
func integer(v int64) Expr {
	if v == math.MinInt64 {
		return &Binary{Op: "-", X: integer(v + 1), Y: number("1")}
	}
	return number(strconv.FormatInt(v, 10))
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

// Write is [Format] for queries that are built: it reads what it wrote, and gives
// an error where that is no query or another one than q. So no name or value can
// become code, whatever it holds and wherever in the tree it stands.
func Write(q *Query) (string, error) {
	text := Format(q)
	again, err := ParseQuery(text)
	if err != nil {
		return "", fmt.Errorf("writing DAX: %w", err)
	}
	if outline(again) != outline(q) {
		return "", errors.New("writing DAX: a name or value of the query reads as something else")
	}
	return text, nil
}
