package eval

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// whole is an argument as a whole number.
func whole(v value.Value) int64 {
	f := math.Trunc(must(value.Number(v)).Float())
	if !(math.Abs(f) < 1<<62) { // no number is out of range too
		fail(Evaluation, "The number %s is too large here.", v)
	}
	return int64(f)
}

// small is an argument as a whole number of a size that numbers of days, months
// and decimals have.
func small(v value.Value) int {
	n := whole(v)
	if n < -10_000_000 || n > 10_000_000 {
		fail(Evaluation, "The number %s is too large here.", v)
	}
	return int(n)
}

// mathFunctions work on numbers.
func mathFunctions() map[string]function {
	all := map[string]function{
		"divide":    scalarFunction(2, 3, (*compiler).divide),
		"round":     rounding(2, math.Round),
		"roundup":   rounding(2, func(f float64) float64 { return math.Copysign(math.Ceil(math.Abs(f)), f) }),
		"rounddown": rounding(2, math.Trunc),
		"trunc":     rounding(1, math.Trunc),
		"int":       keepsBlank(1, func(f []float64) float64 { return math.Floor(f[0]) }, true),
		"even":      keepsBlank(1, func(f []float64) float64 { return math.Copysign(2*math.Ceil(math.Abs(f[0])/2), f[0]) }, true),
		"odd":       keepsBlank(1, odd, true),
		"mod":       plain(2, mod),
		"quotient":  plain(2, quotient),
		"abs":       plain(1, abs),
		"sign":      keepsBlank(1, sign, true),
		"power":     plain(2, func(a []value.Value) value.Value { return must(value.Pow(a[0], a[1])) }),
		"ceiling": toMultiple("CEILING", 2, func(n, step float64) float64 {
			if n > 0 && step < 0 {
				return math.NaN()
			}
			return scaledTo(n/step, 0, math.Ceil) * step
		}),
		"iso.ceiling": toMultiple("ISO.CEILING", 1, func(n, step float64) float64 {
			return scaledTo(n/math.Abs(step), 0, math.Ceil) * math.Abs(step)
		}),
		"floor":  toMultiple("FLOOR", 2, sameSign(math.Floor)),
		"mround": toMultiple("MROUND", 2, sameSign(func(f float64) float64 { return math.Floor(f + 0.5) })),
		"log": variadic(1, 2, func(a []value.Value) value.Value {
			f := must(value.Number(a[0])).Float()
			if len(a) == 1 {
				return finite("LOG", math.Log10(f))
			}
			return finite("LOG", math.Log(f)/math.Log(must(value.Number(a[1])).Float()))
		}),
		"pi":       plain(0, func([]value.Value) value.Value { return value.OfDouble(math.Pi) }),
		"rand":     plain(0, func([]value.Value) value.Value { return value.OfDouble(1 - rand.Float64()) }), // never 0
		"currency": plain(1, func(a []value.Value) value.Value { return must(value.Convert(a[0], value.Decimal)) }),
		"convert":  scalarFunction(2, 2, (*compiler).convert),
		"gcd":      plain(2, func(a []value.Value) value.Value { return value.OfInt(gcd(natural("GCD", a[0]), natural("GCD", a[1]))) }),
		"lcm": plain(2, func(a []value.Value) value.Value {
			x, y := natural("LCM", a[0]), natural("LCM", a[1])
			if x == 0 || y == 0 {
				return value.OfInt(0)
			}
			x /= gcd(x, y)
			return value.OfInt(natural("LCM", value.OfDouble(float64(x)*float64(y))))
		}),
		"fact": calculation("FACT", 1, 1, func(a arguments) float64 {
			return products(float64(natural("FACT", a[0])), func(i float64) float64 { return i + 1 })
		}),
		"randbetween": plain(2, func(a []value.Value) value.Value {
			low, high := whole(a[0]), whole(a[1])
			if high < low {
				fail(Evaluation, "The bottom of RANDBETWEEN must not be greater than the top.")
			}
			return value.OfInt(low + rand.Int64N(high-low+1))
		}),
	}
	for name, f := range map[string]func(float64) float64{
		"sqrt": math.Sqrt, "exp": math.Exp, "ln": math.Log, "log10": math.Log10,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
		"degrees": func(f float64) float64 { return f * 180 / math.Pi },
		"radians": func(f float64) float64 { return f * math.Pi / 180 },
		"sqrtpi":  func(f float64) float64 { return math.Sqrt(f * math.Pi) },
		"asinh":   math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
		"cot":   func(f float64) float64 { return 1 / math.Tan(f) },
		"coth":  func(f float64) float64 { return 1 / math.Tanh(f) },
		"acot":  func(f float64) float64 { return math.Pi/2 - math.Atan(f) },
		"acoth": func(f float64) float64 { return math.Atanh(1 / f) },
	} {
		upper := strings.ToUpper(name)
		all[name] = plain(1, func(a []value.Value) value.Value {
			if a[0].IsBlank() && f(0) == 0 {
				return a[0]
			}
			return finite(upper, f(must(value.Number(a[0])).Float()))
		})
	}
	return all
}

func finite(function string, f float64) value.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		fail(Evaluation, "An argument of function '%s' has the wrong data type or the result is too large or too small.", function)
	}
	return value.OfDouble(f + 0) // no minus zero
}

// keepsBlank is a function of numbers that gives blank for a blank.
func keepsBlank(arity int, f func([]float64) float64, integer bool) function {
	return plain(arity, func(a []value.Value) value.Value {
		numbers := make([]float64, len(a))
		for i, v := range a {
			if v.IsBlank() {
				return v
			}
			numbers[i] = must(value.Number(v)).Float()
		}
		r := f(numbers)
		if integer && math.Abs(r) < 1<<62 {
			return value.OfInt(int64(r))
		}
		return value.OfDouble(r)
	})
}

func odd(f []float64) float64 {
	n := math.Ceil(math.Abs(f[0]))
	if math.Mod(n, 2) == 0 {
		n++
	}
	return math.Copysign(n, f[0])
}

func sign(f []float64) float64 {
	switch {
	case f[0] > 0:
		return 1
	case f[0] < 0:
		return -1
	}
	return 0
}

func abs(a []value.Value) value.Value {
	if a[0].IsBlank() {
		return a[0]
	}
	n := must(value.Number(a[0]))
	if n.Float() < 0 {
		return must(value.Neg(n))
	}
	return n
}

// mod has the sign of the divisor.
func mod(a []value.Value) value.Value {
	x, y := must(value.Number(a[0])), must(value.Number(a[1]))
	if y.Float() == 0 {
		fail(Evaluation, "An attempt was made to divide by zero in a MOD function.")
	}
	if x.Kind() == value.Int && y.Kind() == value.Int {
		r := x.Int() % y.Int()
		if r != 0 && (r < 0) != (y.Int() < 0) {
			r += y.Int()
		}
		return value.OfInt(r)
	}
	f := x.Float() - y.Float()*math.Floor(x.Float()/y.Float())
	if x.Kind() == value.Decimal {
		return value.OfDecimal(f)
	}
	return value.OfDouble(f)
}

func quotient(a []value.Value) value.Value {
	x, y := must(value.Number(a[0])).Float(), must(value.Number(a[1])).Float()
	if y == 0 {
		fail(Evaluation, "An attempt was made to divide by zero in a QUOTIENT function.")
	}
	return value.OfInt(whole(value.OfDouble(x / y)))
}

// natural is a whole number that is not negative and that a double holds exactly.
func natural(function string, v value.Value) int64 {
	n := whole(v)
	if n < 0 || n >= 1<<53 {
		finite(function, math.NaN())
	}
	return n
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// divide is DIVIDE: a division by zero or blank gives the alternate result.
func (c *compiler) divide(s *scope, x *dax.Call) node {
	a, b := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	var alternate scalar
	if len(x.Args) > 2 {
		alternate = c.scalarOf(s, x.Args[2])
	}
	return node{scalar: func(e *env) value.Value {
		v, w := a(e), b(e)
		if d := must(value.Number(w)); d.Float() == 0 {
			return orBlank(e, alternate)
		}
		return must(value.Div(v, w))
	}}
}

// roundTo rounds half away from zero at a number of decimals. A number that is a
// half but for its representation counts as one.
func roundTo(f float64, digits int) float64 {
	return scaledTo(f, digits, math.Round)
}

func scaledTo(f float64, digits int, round func(float64) float64) float64 {
	switch {
	case digits > 308:
		return f
	case digits < -308:
		return 0
	}
	p := math.Pow(10, math.Abs(float64(digits)))
	x := f * p
	if digits < 0 {
		x = f / p
	}
	// 1.005 * 100 is a hair below 100.5: take off what 15 digits do not show.
	if n := math.Round(x*2) / 2; math.Abs(x-n) < math.Abs(x)*1e-14 {
		x = n
	}
	x = round(x) + 0 // no minus zero
	if digits < 0 {
		return x * p
	}
	return x / p
}

// rounding is ROUND and its relatives, which keep fixed decimals and integers
// what they are.
func rounding(min int, round func(float64) float64) function {
	return variadic(min, 2, func(a []value.Value) value.Value {
		if a[0].IsBlank() {
			return a[0]
		}
		digits := 0
		if len(a) > 1 {
			digits = small(a[1])
		}
		n := must(value.Number(a[0]))
		f := scaledTo(n.Float(), digits, round)
		return alike(f, n)
	})
}

// alike is f as the kind of number that the other is, where it fits.
func alike(f float64, other value.Value) value.Value {
	switch {
	case other.Kind() == value.Int && math.Abs(f) < 1<<62:
		return value.OfInt(int64(f))
	case other.Kind() == value.Decimal && math.Abs(f) < 1<<49:
		return value.OfDecimal(f)
	}
	return value.OfDouble(f)
}

// sameSign rounds to a multiple that has the sign of the number.
func sameSign(round func(float64) float64) func(n, step float64) float64 {
	return func(n, step float64) float64 {
		if n*step < 0 {
			return math.NaN()
		}
		return scaledTo(n/step, 0, round) * step
	}
}

// toMultiple is CEILING, FLOOR and MROUND.
func toMultiple(name string, min int, round func(n, step float64) float64) function {
	return variadic(min, 2, func(a []value.Value) value.Value {
		if a[0].IsBlank() {
			return a[0]
		}
		n, step := must(value.Number(a[0])), value.OfInt(1)
		if len(a) > 1 {
			step = must(value.Number(a[1]))
		}
		if step.Float() == 0 {
			return value.OfInt(0)
		}
		f := finite(name, round(n.Float(), step.Float()))
		if n.Kind() == value.Decimal || n.Kind() == step.Kind() {
			return alike(f.Float(), n)
		}
		return f
	})
}

// convert is CONVERT ( value, TYPE ).
func (c *compiler) convert(s *scope, x *dax.Call) node {
	kind, ok := typeKind(c.word(x.Args[1]))
	if !ok {
		c.fail(x.Args[1], Invalid, "CONVERT expects a data type: INTEGER, DOUBLE, STRING, BOOLEAN, CURRENCY or DATETIME.")
	}
	of := c.scalarOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value { return must(value.Convert(of(e), kind)) }}
}
