package eval

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

const (
	// maxText bounds what makes a text many times as long as what it is made of.
	maxText = 16 << 20

	// maxTexts bounds the texts that one query makes, of which only those count
	// that are longer than shortText.
	maxTexts  = 256 << 20
	shortText = 1 << 10

	// maxPattern bounds what is gone through again for each of its characters.
	maxPattern = 4 << 10
)

// made counts a text that the query made, before there is another.
func (q *query) made(v value.Value) value.Value {
	if n := v.TextLen(); n > shortText {
		if q.texts += n; q.texts > maxTexts {
			fail(Evaluation, "The texts of the query are too long.")
		}
	}
	return v
}

// textFunctions work on text. Positions count characters from 1.
func textFunctions() map[string]function {
	text := func(f func(string) string) function {
		return plain(1, func(a []value.Value) value.Value {
			if a[0].IsBlank() {
				return a[0]
			}
			return value.OfText(f(a[0].String()))
		})
	}
	return map[string]function{
		"concatenate": plain(2, func(a []value.Value) value.Value { return value.Concat(a[0], a[1]) }),
		"combinevalues": variadic(3, -1, func(a []value.Value) value.Value {
			parts := make([]string, len(a)-1)
			for i, v := range a[1:] {
				parts[i] = v.String()
			}
			return value.OfText(strings.Join(parts, a[0].String()))
		}),
		"upper": text(strings.ToUpper),
		"lower": text(strings.ToLower),
		"trim": text(func(s string) string {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
		}),
		"len": plain(1, func(a []value.Value) value.Value { return value.OfInt(int64(utf8.RuneCountInString(a[0].String()))) }),
		"left": variadic(1, 2, func(a []value.Value) value.Value {
			r := []rune(a[0].String())
			return value.OfText(string(r[:min(count(a, 1, 1), len(r))]))
		}),
		"right": variadic(1, 2, func(a []value.Value) value.Value {
			r := []rune(a[0].String())
			return value.OfText(string(r[len(r)-min(count(a, 1, 1), len(r)):]))
		}),
		"mid": plain(3, func(a []value.Value) value.Value {
			r := []rune(a[0].String())
			start := whole(a[1])
			if start < 1 {
				fail(Evaluation, "An argument of function 'MID' has the wrong data type or has an invalid value.")
			}
			from := min(int(start)-1, len(r))
			return value.OfText(string(r[from:min(from+count(a, 2, 0), len(r))]))
		}),
		"substitute": variadic(3, 4, substitute),
		"replace": plain(4, func(a []value.Value) value.Value {
			r := []rune(a[0].String())
			start := whole(a[1])
			if start < 1 {
				fail(Evaluation, "An argument of function 'REPLACE' has the wrong data type or has an invalid value.")
			}
			from := min(int(start)-1, len(r))
			to := min(from+count(a, 2, 0), len(r))
			return value.OfText(string(r[:from]) + a[3].String() + string(r[to:]))
		}),
		"rept": plain(2, func(a []value.Value) value.Value {
			text, n := a[0].String(), count(a, 1, 0)
			if n > 0 && len(text) > maxText/n {
				fail(Evaluation, "The text of REPT would be too long.")
			}
			return value.OfText(strings.Repeat(text, n))
		}),
		"search": scalarFunction(2, 4, func(c *compiler, s *scope, x *dax.Call) node { return c.position(s, x, false) }),
		"find":   scalarFunction(2, 4, func(c *compiler, s *scope, x *dax.Call) node { return c.position(s, x, true) }),
		"exact":  plain(2, func(a []value.Value) value.Value { return value.OfBool(a[0].String() == a[1].String()) }),
		"containsstring": plain(2, func(a []value.Value) value.Value {
			return value.OfBool(wildcard(value.FoldCase(a[0].String()), value.FoldCase(a[1].String()), 0) >= 0)
		}),
		"containsstringexact": plain(2, func(a []value.Value) value.Value {
			return value.OfBool(strings.Contains(a[0].String(), a[1].String()))
		}),
		"value": plain(1, func(a []value.Value) value.Value {
			if a[0].IsBlank() {
				return a[0]
			}
			n := must(value.Number(a[0]))
			if n.Kind() == value.Date {
				return value.OfDouble(n.Float())
			}
			return n
		}),
		"unichar": plain(1, func(a []value.Value) value.Value {
			r := rune(small(a[0]))
			if r < 1 || !utf8.ValidRune(r) || r&0xFFFE == 0xFFFE {
				finite("UNICHAR", math.NaN())
			}
			return value.OfText(string(r))
		}),
		"unicode": plain(1, func(a []value.Value) value.Value {
			text := a[0].String()
			if text == "" {
				finite("UNICODE", math.NaN())
			}
			r, _ := utf8.DecodeRuneInString(text)
			return value.OfInt(int64(r))
		}),
		"format": variadic(2, 3, format),
		"fixed": variadic(1, 3, func(a []value.Value) value.Value {
			digits := 2
			if len(a) > 1 && !a[1].IsBlank() {
				digits = min(small(a[1]), 100)
			}
			plainDigits := len(a) > 2 && must(value.Truth(a[2]))
			pattern := "#,##0"
			if plainDigits {
				pattern = "0"
			}
			v := roundTo(must(value.Number(a[0])).Float(), digits)
			if digits > 0 {
				pattern += "." + strings.Repeat("0", digits)
			}
			return value.OfText(value.Format(value.OfDouble(v), pattern, value.USEnglish))
		}),
	}
}

// count is an argument that must not be negative; missing ones have a default.
func count(a []value.Value, i, missing int) int {
	if i >= len(a) {
		return missing
	}
	n := whole(a[i])
	if n < 0 {
		fail(Evaluation, "A number of characters cannot be negative.")
	}
	return int(min(n, 1<<30))
}

// format is FORMAT ( value, pattern, locale ).
func format(a []value.Value) value.Value {
	pattern, locale := a[1].String(), value.USEnglish
	if len(a) > 2 && !a[2].IsBlank() {
		if locale = value.FindLocale(a[2].String()); locale == nil {
			fail(Unsupported, "The locale '%s' of FORMAT is not supported here; en-US and en-GB are.", a[2])
		}
	}
	if len(pattern) > maxPattern {
		fail(Evaluation, "The format string of FORMAT is too long.")
	}
	return value.OfText(value.Format(a[0], pattern, locale))
}

func substitute(a []value.Value) value.Value {
	s, old, with := a[0].String(), a[1].String(), a[2].String()
	if old == "" {
		return value.OfText(s)
	}
	if len(a) < 4 {
		if n := strings.Count(s, old); n > 0 && len(with) > maxText/n {
			fail(Evaluation, "The text of SUBSTITUTE would be too long.")
		}
		return value.OfText(strings.ReplaceAll(s, old, with))
	}
	nth := whole(a[3])
	if nth < 1 {
		fail(Evaluation, "An argument of function 'SUBSTITUTE' has the wrong data type or has an invalid value.")
	}
	for at, seen := 0, int64(0); ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			return value.OfText(s)
		}
		at += i
		if seen++; seen == nth {
			return value.OfText(s[:at] + with + s[at+len(old):])
		}
		at += len(old)
	}
}

// position is SEARCH, which knows wildcards and no letter case, and FIND, the
// other way round.
func (c *compiler) position(s *scope, x *dax.Call, exact bool) node {
	what, in := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
	start := constant(value.OfInt(1)).scalar
	if len(x.Args) > 2 && x.Args[2] != nil {
		start = c.scalarOf(s, x.Args[2])
	}
	var missing scalar
	if len(x.Args) > 3 {
		missing = c.scalarOf(s, x.Args[3])
	}
	return node{scalar: func(e *env) value.Value {
		needle, text := what(e).String(), in(e).String()
		from := whole(start(e)) - 1
		if from < 0 {
			fail(Evaluation, "An argument of function '%s' has the wrong data type or has an invalid value.", strings.ToUpper(x.Func))
		}
		at := -1
		if r := []rune(text); from <= int64(len(r)) {
			from := int(from)
			if exact {
				if i := strings.Index(string(r[from:]), needle); i >= 0 {
					at = from + utf8.RuneCountInString(string(r[from:])[:i])
				}
			} else {
				at = wildcard(value.FoldCase(text), value.FoldCase(needle), from)
			}
		}
		if at >= 0 {
			return value.OfInt(int64(at + 1))
		}
		if missing == nil {
			fail(Evaluation, "The search Text provided to function '%s' could not be found in the given text.", strings.ToUpper(x.Func))
		}
		return missing(e)
	}}
}

// wildcard finds a pattern with ? and * in text, from a character on; ~ takes
// the meaning of what follows it away. It gives the character, or -1.
func wildcard(text, pattern string, from int) int {
	t, p := []rune(text), []rune(pattern)
	if len(p) > 0 && len(t) > maxCompared/len(p) {
		fail(Evaluation, "The texts to search are too long.")
	}
	for at := from; at <= len(t); at++ {
		found, gotToStar := matches(t[at:], p)
		if found {
			return at
		}
		if gotToStar {
			break // what follows the * is nowhere in the rest
		}
	}
	return -1
}

// maxCompared bounds the characters that one search compares.
const maxCompared = 256 << 20

// matches says whether t starts with the pattern, and whether the pattern matches
// as far as a *. Where a later part does not match, only what the last * stands
// for needs to grow: the earlier ones stand for as little as they can.
func matches(t, p []rune) (found, gotToStar bool) {
	i, k := 0, 0
	star, grown := -1, 0
	for k < len(p) {
		if p[k] == '*' {
			star, grown = k, i
			k++
			continue
		}
		literal, next := p[k] != '?', k+1
		if p[k] == '~' && next < len(p) && (p[next] == '*' || p[next] == '?' || p[next] == '~') {
			k, next = next, next+1
		}
		switch {
		case i < len(t) && (!literal || unicode.ToLower(t[i]) == unicode.ToLower(p[k])):
			i, k = i+1, next
		case star >= 0 && grown < len(t):
			grown++
			i, k = grown, star+1
		default:
			return false, star >= 0
		}
	}
	return true, star >= 0
}
