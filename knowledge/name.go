package knowledge

import (
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Fold returns the form in which two names of a model are compared: letter case
// and character width do not matter, while accents, spaces and punctuation do.
// It is the one folding function: the mirror, the DAX resolver and the rules on
// personal data all use it.
func Fold(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] >= 0x80 {
			// Width first: a full-width capital has its lower-case partner only
			// after narrowing. A half-width katakana with a voiced sound mark is
			// two characters, which are then one. Case is last, as composing can
			// make a letter that has one.
			return cases.Fold().String(norm.NFC.String(width.Fold.String(name)))
		}
	}
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
