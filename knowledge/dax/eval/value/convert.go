package value

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// String is the text that & and CONCATENATE make of v: the general format of
// its kind.
func (v Value) String() string {
	switch v.kind {
	case Bool:
		if v.n != 0 {
			return "True"
		}
		return "False"
	case Int:
		return strconv.FormatInt(v.n, 10)
	case Decimal:
		return trimDecimals(strconv.FormatFloat(v.Float(), 'f', 4, 64))
	case Double:
		return formatDouble(v.Float())
	case Date:
		return formatGeneralDate(v.Time())
	}
	return v.s
}

func trimDecimals(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// formatDouble writes up to 15 significant digits.
func formatDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "∞"
	case math.IsInf(f, -1):
		return "-∞"
	}
	if a := math.Abs(f); a != 0 && (a >= 1e15 || a < 1e-4) {
		s := strconv.FormatFloat(f, 'E', 14, 64)
		mantissa, exponent, _ := strings.Cut(s, "E")
		return trimDecimals(mantissa) + "E" + exponent
	}
	s, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64) // own output parses
	return strconv.FormatFloat(s, 'f', -1, 64)
}

func formatGeneralDate(t time.Time) string {
	day := t.Format("1/2/2006")
	clock := t.Format("3:04:05 PM")
	switch {
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return day
	case t.Year() == 1899 && t.Month() == time.December && t.Day() == 30:
		return clock
	}
	return day + " " + clock
}

func parsePlain(s string) (Value, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return OfInt(n), true
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", rune(c)) {
			return Value{}, false // strconv would take "inf", "0x1p3" and "1_000"
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Value{}, false
	}
	return OfDouble(f), true
}

// dateLayouts are the ways in which dates are written in data, in dt"…" literals
// and in text given to DATEVALUE, the usual ones first.
var dateLayouts = []string{
	"2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04:05.999", "2006-01-02 15:04:05", "2006-01-02 15:04:05.999",
	"2006-01-02T15:04:05Z07:00", "2006-1-2", "2006-1-2T15:4:5", "2006-1-2 15:4:5", "2006-1-2 15:4", "2006-1-2T15:4",
	"1/2/2006", "1/2/2006 15:04:05", "1/2/2006 3:04:05 PM", "1/2/2006 15:04", "1/2/2006 3:04 PM", "2006/1/2", "2006/1/2 15:04:05",
	"2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006", "2-Jan-2006", "Jan 2006", "January 2006", "20060102",
}

var timeLayouts = []string{"15:04:05", "15:04", "3:04 PM", "3:04:05 PM"}

// ParseDate reads the text of a date, a date with a time, or a time alone, which
// falls on 1899-12-30.
func ParseDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return time.Date(1899, 12, 30, t.Hour(), t.Minute(), t.Second(), 0, time.UTC), true
		}
	}
	return time.Time{}, false
}

// Convert gives v in the kind that a column or CONVERT wants. Blank stays blank.
func Convert(v Value, to Kind) (Value, error) {
	if v.kind == Blank || v.kind == to {
		return v, nil
	}
	if to == Text {
		return OfText(v.String()), nil
	}
	if to == Bool {
		b, err := Truth(v)
		return OfBool(b), err
	}
	n, err := Number(v)
	if err != nil {
		if to == Date {
			return Value{}, errorf("Cannot convert value '%s' of type Text to type Date.", v.s)
		}
		return Value{}, err
	}
	f := n.Float()
	switch to {
	case Int:
		if n.kind == Int {
			return n, nil
		}
		if math.IsNaN(f) || math.Abs(f) > math.MaxInt64/2 {
			return Value{}, errorf("Cannot convert value '%s' to type Integer.", v.String())
		}
		return OfInt(int64(math.RoundToEven(f))), nil
	case Decimal:
		if math.IsNaN(f) || math.Abs(f) > math.MaxInt64/scale/2 {
			return Value{}, errorf("Cannot convert value '%s' to type Currency.", v.String())
		}
		return OfDecimal(f), nil
	case Double:
		return OfDouble(f), nil
	case Date:
		return dated(f)
	}
	return v, nil
}
