package value

import (
	"math"
	"strconv"
	"strings"
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
		return USEnglish.general(v.Time())
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
