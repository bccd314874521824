package dax_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"unicode"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// A place is where in a text a character may stand.
type place struct{ name, before, after string }

var places = []place{
	{"between", "1 ", "+ 1"},
	{"in a word", "a", "b"},
	{"line comment", "1 // x ", " y\n+ 1"},
	{"dash comment", "1 -- x ", " y\n+ 1"},
	{"block comment", "1 /* x ", " y */ + 1"},
	{"text", "\"x", "y\""},
	{"table", "'x", "y'[z]"},
	{"column", "[x", "y]"},
}

// An oddClass is a set of characters that readers of DAX treat differently, that
// show nothing, or that reorder what is shown. In texts and in quoted names every
// character is data, whose end only the closing quote makes: there all are
// allowed but NUL. Elsewhere they are refused by name.
type oddClass struct {
	name    string
	has     func(r rune) bool
	allowed string // the places, beside text, table and column
	says    string // what the error calls it
}

func oneOf(list ...rune) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(string(list), r) }
}

var oddClasses = []oddClass{
	{"NUL", oneOf(0), "none", ""},
	{"line ends that all know", oneOf('\n'), "between, block comment", ""},
	// Some end a line there, some do not.
	{"CR without LF", oneOf('\r'), "between, block comment", "line end U+000D in a comment"},
	{"vertical blanks", oneOf('\v', '\f'), "between, block comment", "line end U+000"},
	{"line ends that some know", oneOf(0x85, 0x2028, 0x2029), "", "line end U+"},
	{"blanks that all know", func(r rune) bool {
		return oneOf(0xA0, 0x1680, 0x202F, 0x205F, 0x3000)(r) || 0x2000 <= r && r <= 0x200A && r != 0x2007
	}, "between, line comment, dash comment, block comment", ""},
	{"blanks that some know", oneOf(0x2007, 0x180E), "line comment, dash comment, block comment", "invisible character U+"},
	{"bidirectional marks", func(r rune) bool {
		return oneOf(0x61C, 0x200E, 0x200F)(r) || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
	}, "", "character U+"},
	{"joiners and the byte order mark", oneOf(0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD), "line comment, dash comment, block comment", "invisible character U+"},
	{"fillers", oneOf(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0), "line comment, dash comment, block comment", "invisible character U+"},
	{"variation selectors", func(r rune) bool { return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF }, "line comment, dash comment, block comment", "invisible character U+"},
	{"tags", func(r rune) bool { return 0xE0000 <= r && r <= 0xE007F }, "line comment, dash comment, block comment", "invisible character U+"},
	{"private use", func(r rune) bool { return unicode.Is(unicode.Co, r) }, "line comment, dash comment, block comment", "invisible character U+"},
	{"control characters", func(r rune) bool { return unicode.Is(unicode.Cc, r) && r != '\t' }, "line comment, dash comment, block comment", "invisible character U+"},
	{"format characters", func(r rune) bool { return unicode.Is(unicode.Cf, r) }, "line comment, dash comment, block comment", "invisible character U+"},
	{"quotation marks of typesetters", oneOf('“', '”', '„', '«', '»', '‘', '’', '‚', '`', '´'), "line comment, dash comment, block comment", "typographic quotation mark"},
	{"dashes of typesetters", oneOf('–', '—', '−'), "line comment, dash comment, block comment", "typographic dash"},
}

// characters are those of Unicode: all where their kinds change from one to the
// next, and some of the long rows of letters and of private use.
func characters() iter.Seq[rune] {
	return func(yield func(rune) bool) {
		for r := rune(0); r <= unicode.MaxRune; r++ {
			switch {
			case r == 0xD800:
				r = 0xE000
			case 0x3400 <= r && r < 0xA000, 0xAC00 <= r && r < 0xD700, 0xE000 <= r && r < 0xF900, 0x12000 <= r && r < 0xE0000, 0xE1000 <= r:
				r += 96
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Every such character that a class has, at every place. PII-90, PII-101
func TestOddCharacters(t *testing.T) {
	seen := map[string]int{}
	for r := range characters() {
		for _, class := range oddClasses {
			if !class.has(r) {
				continue
			}
			seen[class.name]++
			for _, p := range places {
				data := p.name == "text" || p.name == "table" || p.name == "column"
				want := class.allowed != "none" && data || strings.Contains(class.allowed, p.name)
				// A blank cuts a word in two, which is an error of its own.
				cuts := p.name == "in a word" && strings.Contains(class.allowed, "between")
				text := p.before + string(r) + p.after
				x, err := dax.ParseExpr(text)
				switch {
				case (err == nil) != want:
					t.Errorf("%s, U+%04X, %s: got %v", class.name, r, p.name, err)
				case err == nil && data && !strings.ContainsRune(fmt.Sprintf("%s", dax.Format(x)), r):
					t.Errorf("%s, U+%04X, %s: is lost", class.name, r, p.name)
				case err != nil && class.says != "" && !cuts && !strings.Contains(err.Error(), class.says):
					t.Errorf("%s, U+%04X, %s: the error does not name it: %v", class.name, r, p.name, err)
				}
			}
			break
		}
	}
	for _, class := range oddClasses {
		if seen[class.name] == 0 {
			t.Errorf("no character is of the class %s", class.name)
		}
	}
	t.Logf("%v", seen)
}

// No character is invisible to the scanner: each is data in a text, and elsewhere
// it is a blank of the list above, part of a word that shows, a sign, or refused.
func TestEveryCharacterIsSomething(t *testing.T) {
	for r := range characters() {
		x, err := dax.ParseExpr("a" + string(r) + "b")
		if err != nil {
			continue
		}
		name, ok := x.(*dax.Name)
		if !ok {
			if !strings.ContainsRune("+-*/^&=<>", r) {
				t.Errorf("U+%04X between a and b gives %T", r, x)
			}
			continue
		}
		if name.Value != "a"+string(r)+"b" || !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && r != '_' || unicode.In(r, unicode.Cf, unicode.Co) {
			t.Errorf("U+%04X is part of the word %q", r, name.Value)
		}
	}
}

// What is refused in a comment is refused wherever in it. Nested comments and other
// traps that readers of DAX take differently.
func TestReadersDisagree(t *testing.T) {
	for text, want := range map[string]string{
		"1 /* a /* b */":       "a comment starts inside a comment",
		"1 /* /* */ */":        "a comment starts inside a comment",
		"1 /*/* */":            "a comment starts inside a comment",
		"1 /*/ */":             "",
		"1 // /* x\n":          "",
		"1 -- /* x\n":          "",
		"1 /* // */ + 1":       "",
		"1 /* ' \" [ */ + 1":   "",
		"\"/* \" & \" */\"":    "",
		"'// x'[a]":            "",
		"[-- x]":               "",
		"1 // \\\n+ 1":         "", // a backslash continues nothing
		"\"a\\\"":              "", // nor does it escape anything
		"\"a\\\" & 1":          "",
		"'a\"b'[c\"d]":         "",
		"1; 2":                 "; is not a sign",
		"1 // x\u2028+ 2":      "line end U+2028",
		"1 /* x\u2028 */ + 2":  "line end U+2028",
		"{ 1 } // \u0085ORDER": "line end U+0085",
		"1 /* \u202e */ + 2":   "character U+202E in a comment",
		"1 // \ufffd\n+ 1":     "",
		"1 // \xff\n+ 1":       "not valid UTF-8",
		"\"\xff\"":             "not UTF-8",
		"'\x00'[a]":            "NUL",
		"Sales\u200b[a]":       "invisible character U+200B",
		"Sales\u00a0[a]":       "",
		"\ufeff1":              "",
		"1 \ufeff":             "invisible character U+FEFF",
		"1 +\u00ad2":           "invisible character U+00AD",
	} {
		_, err := dax.ParseExpr(text)
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
