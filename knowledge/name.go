package knowledge

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Fold returns the form in which two names of a model are compared: letter case
// and character width do not matter, while accents, spaces and punctuation do.
// It is the one folding function: the mirror, the DAX resolver and the rules on
// personal data all use it.
func Fold(name string) string {
	upper := -1 // the first capital
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 0x80:
			// Width first: a full-width capital has its lower-case partner only
			// after narrowing. A half-width katakana with a voiced sound mark is
			// two characters, which are then one. Case is last, as composing can
			// make a letter that has one.
			return cases.Fold().String(norm.NFC.String(width.Fold.String(name)))
		case upper < 0 && 'A' <= c && c <= 'Z':
			upper = i
		}
	}
	if upper < 0 {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	b.WriteString(name[:upper])
	for _, c := range []byte(name[upper:]) {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
