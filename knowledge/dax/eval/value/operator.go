package value

import (
	"fmt"
	"math"
	"strings"
)

// An Error is an operation that the values do not allow.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func errorf(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// Number converts v for arithmetic: text that reads as a number or a date is
// one, blank is an integer zero.
func Number(v Value) (Value, error) {
	switch v.kind {
	case Blank:
		return Value{kind: Int}, nil
	case Bool:
		return Value{kind: Int, n: v.n}, nil
	case Text:
		if n, ok := ParseNumber(v.s); ok {
			return n, nil
		}
		if t, ok := ParseDate(v.s); ok {
			return OfTime(t), nil
		}
		return Value{}, errorf("Cannot convert value '%s' of type Text to type Number.", v.s)
	}
	return v, nil
}

// Truth converts v for a condition: blank and zero are false.
func Truth(v Value) (bool, error) {
	switch v.kind {
	case Blank:
		return false, nil
	case Text:
		switch FoldCase(v.s) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, errorf("Cannot convert value '%s' of type Text to type True/False.", v.s)
	}
	return v.Float() != 0, nil
}

// Add, Sub, Mul and Div are the arithmetic operators. A blank on both sides of
// + and -, or on one side of *, gives blank, as does a blank numerator.
func Add(a, b Value) (Value, error) { return arithmetic('+', a, b) }
func Sub(a, b Value) (Value, error) { return arithmetic('-', a, b) }
func Mul(a, b Value) (Value, error) { return arithmetic('*', a, b) }

func arithmetic(op byte, a, b Value) (Value, error) {
	if a.kind == Blank && b.kind == Blank || op == '*' && (a.kind == Blank || b.kind == Blank) {
		return Value{}, nil
	}
	a, err := Number(a)
	if err != nil {
		return Value{}, err
	}
	b, err = Number(b)
	if err != nil {
		return Value{}, err
	}
	if a.kind == Int && b.kind == Int {
		if n, ok := intOp(op, a.n, b.n); ok {
			return OfInt(n), nil
		}
		return Value{}, errorf("An arithmetic overflow happened while computing with integers.")
	}
	if op != '*' && exact(a.kind) && exact(b.kind) {
		if n, ok := intOp(op, scaled(a), scaled(b)); ok {
			return OfScaled(n), nil
		}
	}
	x, y := a.Float(), b.Float()
	var f float64
	switch op {
	case '+':
		f = x + y
	case '-':
		f = x - y
	case '*':
		f = x * y
		// A date times a number is no date; one fixed decimal makes the product
		// fixed, two do not.
		if (a.kind == Decimal) != (b.kind == Decimal) && math.Abs(f) < math.MaxInt64/scale {
			return OfDecimal(f), nil
		}
		return OfDouble(f), nil
	}
	if a.kind == Date || b.kind == Date {
		return dated(f)
	}
	return OfDouble(f), nil
}

// dated is the date with that serial number, where there is one.
func dated(serial float64) (Value, error) {
	if serial >= MinSerial && serial < MaxSerial {
		return OfSerial(serial), nil
	}
	return Value{}, errorf("The result is not a date between the years 1 and 9999.")
}

func exact(k Kind) bool { return k == Int || k == Decimal }

func scaled(v Value) int64 {
	if v.kind == Int {
		return v.n * scale
	}
	return v.n
}

func intOp(op byte, a, b int64) (int64, bool) {
	switch op {
	case '+':
		c := a + b
		return c, (c > a) == (b > 0)
	case '-':
		c := a - b
		return c, (c < a) == (b > 0)
	}
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// Div is the operator /. A division by zero gives infinity, and zero by zero no
// number, as the engine does it; DIVIDE is what people use to avoid that.
func Div(a, b Value) (Value, error) {
	if a.kind == Blank && b.kind != Blank {
		if n, err := Number(b); err != nil || n.Float() != 0 {
			return Value{}, err
		}
		return OfDouble(math.NaN()), nil
	}
	if a.kind == Blank && b.kind == Blank {
		return Value{}, nil
	}
	a, err := Number(a)
	if err != nil {
		return Value{}, err
	}
	b, err = Number(b)
	if err != nil {
		return Value{}, err
	}
	f := a.Float() / b.Float()
	if a.kind == Decimal && b.kind == Int && b.n != 0 {
		return OfDecimal(f), nil
	}
	return OfDouble(f), nil
}

// Pow is the operator ^.
func Pow(a, b Value) (Value, error) {
	if a.kind == Blank && b.kind == Blank {
		return Value{}, nil
	}
	x, err := Number(a)
	if err != nil {
		return Value{}, err
	}
	y, err := Number(b)
	if err != nil {
		return Value{}, err
	}
	f := math.Pow(x.Float(), y.Float())
	if math.IsNaN(f) {
		return Value{}, errorf("An argument of function 'POWER' has the wrong data type or the result is too large or too small.")
	}
	return OfDouble(f), nil
}

// Neg is the unary minus.
func Neg(v Value) (Value, error) {
	if v.kind == Blank {
		return v, nil
	}
	n, err := Number(v)
	if err != nil {
		return Value{}, err
	}
	switch n.kind {
	case Int, Decimal:
		if n.n == math.MinInt64 {
			return Value{}, errorf("An arithmetic overflow happened while computing with integers.")
		}
		return Value{kind: n.kind, n: -n.n}, nil
	case Date:
		return dated(-n.Float())
	}
	return OfDouble(-n.Float()), nil
}

// Concat is the operator &.
func Concat(a, b Value) Value { return OfText(a.String() + b.String()) }

// Same is the operator ==, and how SWITCH, IN and filters compare: blank equals
// only blank.
func Same(a, b Value) (bool, error) {
	if a.kind == Blank || b.kind == Blank {
		return a.kind == b.kind, nil
	}
	c, err := Compare(a, b)
	return c == 0, err
}

// Compare orders a and b for = <> < > <= >=: a blank takes the zero of the
// other side's type. Text against a number, and truth against either, is an
// error and no conversion.
func Compare(a, b Value) (int, error) {
	if a.kind == b.kind {
		return Order(a, b), nil
	}
	if a.kind == Blank {
		a = zero(b.kind)
	} else if b.kind == Blank {
		b = zero(a.kind)
	}
	if class(a.kind) != class(b.kind) {
		return 0, errorf("DAX comparison operations do not support comparing values of type %s with values of type %s. Consider using the VALUE or FORMAT function to convert one of the values.", a.kind.Name(), b.kind.Name())
	}
	return Order(a, b), nil
}

func zero(k Kind) Value {
	if k == Text {
		return OfText("")
	}
	return Value{kind: k}
}

func class(k Kind) int { return rank(Value{kind: k}) }

// ParseNumber reads the text of a number: with thousands commas, a leading
// currency sign or a percent sign, as VALUE does.
func ParseNumber(s string) (Value, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return Value{}, false
	}
	negative := false
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		negative, s = true, s[1:len(s)-1]
	}
	s = strings.TrimPrefix(s, "$")
	percent := strings.HasSuffix(s, "%")
	s = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	if strings.Contains(s, ",") {
		s = strings.ReplaceAll(s, ",", "")
	}
	v, ok := parsePlain(s)
	if !ok {
		return Value{}, false
	}
	if percent {
		v = OfDouble(v.Float() / 100)
	}
	if negative {
		v, _ = Neg(v) // a number always has a negative
	}
	return v, true
}
