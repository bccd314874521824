// Package value is the scalar values of DAX: blank, true and false, integers,
// fixed decimals, doubles, dates and text, with the operators over them, their
// order, their conversions and the text that FORMAT makes of them. Columns of
// values are in package column.
package value

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// A Kind is the type of one value. Columns are typed, expressions are not: an IF
// may give text for one row and a number for the next.
type Kind uint8

// The kinds. Blank is the zero Kind, so that the zero Value is BLANK().
const (
	Blank Kind = iota
	Bool
	Int
	Decimal // fixed, four decimals
	Double
	Date
	Text
)

// Name is how error messages call the kind.
func (k Kind) Name() string {
	switch k {
	case Bool:
		return "True/False"
	case Int:
		return "Integer"
	case Decimal:
		return "Currency"
	case Double:
		return "Number"
	case Date:
		return "Date"
	case Text:
		return "Text"
	}
	return "Blank"
}

// A Value is one scalar. The zero Value is BLANK().
type Value struct {
	kind Kind
	n    int64 // a Bool is 0 or 1, a Decimal in ten-thousandths, a Double or Date the bits of the float
	s    string
}

// The values that have no parameter.
var (
	True  = Value{kind: Bool, n: 1}
	False = Value{kind: Bool}
)

// scale is what a fixed decimal is multiplied by to be kept as an integer.
const scale = 10_000

// OfBool, OfInt, OfDouble, OfText and OfTime wrap what Go has.
func OfBool(b bool) Value {
	if b {
		return True
	}
	return False
}

func OfInt(n int64) Value      { return Value{kind: Int, n: n} }
func OfDouble(f float64) Value { return Value{kind: Double, n: int64(math.Float64bits(f))} }
func OfText(s string) Value    { return Value{kind: Text, s: s} }

// TextLen is how many bytes of text v holds.
func (v Value) TextLen() int { return len(v.s) }

// OfDecimal rounds f to four decimals, halves away from zero.
func OfDecimal(f float64) Value { return Value{kind: Decimal, n: int64(math.Round(f * scale))} }

// OfScaled is the fixed decimal of n ten-thousandths.
func OfScaled(n int64) Value { return Value{kind: Decimal, n: n} }

// OfSerial is the date of a number of days since 1899-12-30.
func OfSerial(days float64) Value { return Value{kind: Date, n: int64(math.Float64bits(days))} }

// OfTime is the date of the clock reading of t, whose zone is dropped: models
// keep dates without one.
func OfTime(t time.Time) Value { return OfSerial(Serial(t)) }

const dayMillis = 24 * 60 * 60 * 1000

// epochUnixDays is the number of days from 1899-12-30 to 1970-01-01.
const epochUnixDays = 25569

// The first and the last day that a date can have, as serial numbers.
const (
	MinSerial = -693593 // 0001-01-01
	MaxSerial = 2958466 // the day after 9999-12-31
)

// Serial is the number of days from 1899-12-30 to the clock reading of t.
func Serial(t time.Time) float64 {
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	return float64(t.UnixMilli()+epochUnixDays*dayMillis) / dayMillis
}

// SerialTime is the inverse of [Serial], to the millisecond.
func SerialTime(days float64) time.Time {
	return time.UnixMilli(int64(math.Round(days*dayMillis)) - epochUnixDays*dayMillis).UTC()
}

// Kind is the type of v.
func (v Value) Kind() Kind { return v.kind }

// IsBlank says whether v is BLANK().
func (v Value) IsBlank() bool { return v.kind == Blank }

// IsNumber says whether v counts as a number in aggregations: dates do, booleans
// do not.
func (v Value) IsNumber() bool {
	return v.kind == Int || v.kind == Double || v.kind == Decimal || v.kind == Date
}

// Float is the number that v is, without conversion of text: 0 for text and
// blank.
func (v Value) Float() float64 {
	switch v.kind {
	case Bool, Int:
		return float64(v.n)
	case Decimal:
		return float64(v.n) / scale
	case Double, Date:
		return math.Float64frombits(uint64(v.n))
	}
	return 0
}

// Scaled is the number of ten-thousandths of a Decimal.
func (v Value) Scaled() int64 { return v.n }

// Int is the integer of an Int or Bool, and the rounded number of others.
func (v Value) Int() int64 {
	switch v.kind {
	case Bool, Int:
		return v.n
	}
	return int64(math.Round(v.Float()))
}

// Time is the clock reading of a date, in UTC.
func (v Value) Time() time.Time { return SerialTime(v.Float()) }

// Str is the text of a Text value; empty for others. See [Value.String] for
// conversion.
func (v Value) Str() string { return v.s }

// Any is v as encoding/json and callers want it: nil, bool, int64, float64,
// string or time.Time.
func (v Value) Any() any {
	switch v.kind {
	case Bool:
		return v.n != 0
	case Int:
		return v.n
	case Decimal, Double:
		return v.Float()
	case Date:
		return v.Time()
	case Text:
		return v.s
	}
	return nil
}

// A Key is a value in a form that Go compares as DAX does with `==`: text
// without letter case, numbers by their size whatever their kind.
type Key struct {
	class byte
	n     uint64
	s     string
}

// Key of v. Blank is a key of its own.
func (v Value) Key() Key {
	switch v.kind {
	case Blank:
		return Key{}
	case Bool:
		return Key{class: 'b', n: uint64(v.n)}
	case Text:
		return Key{class: 't', s: FoldCase(v.s)}
	case Int:
		if v.n > 1<<53 || v.n < -1<<53 {
			return Key{class: 'i', n: uint64(v.n)}
		}
	}
	f := v.Float()
	if f == 0 {
		f = 0 // minus zero
	}
	return Key{class: 'n', n: math.Float64bits(f)}
}

// FoldCase is the form in which two texts are compared.
func FoldCase(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

// CompareText orders two texts without letter case.
func CompareText(a, b string) int { return strings.Compare(FoldCase(a), FoldCase(b)) }

// Order is the order of ORDER BY, RANKX and MIN: blanks first, then booleans,
// numbers and dates, then text.
func Order(a, b Value) int {
	ra, rb := rank(a), rank(b)
	if ra != rb {
		return ra - rb
	}
	switch ra {
	case 0:
		return 0
	case 3:
		return CompareText(a.s, b.s)
	}
	if a.kind == b.kind && (a.kind == Int || a.kind == Decimal) {
		return compareInt(a.n, b.n)
	}
	return compareFloat(a.Float(), b.Float())
}

func rank(v Value) int {
	switch v.kind {
	case Blank:
		return 0
	case Bool:
		return 1
	case Text:
		return 3
	}
	return 2
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// AppendKey appends [Value.Key] to buf in a form in which the keys of several
// values can follow each other.
func (v Value) AppendKey(buf []byte) []byte {
	k := v.Key()
	buf = append(buf, k.class)
	if k.class == 't' {
		buf = binary.AppendUvarint(buf, uint64(len(k.s)))
		return append(buf, k.s...)
	}
	return binary.LittleEndian.AppendUint64(buf, k.n)
}
