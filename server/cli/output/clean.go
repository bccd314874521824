package output

import (
	"strings"
	"unicode"
)

// Names and descriptions are anybody's text. On a terminal a control character in
// them could move the cursor, change what was written, or worse; a formatting one
// could turn the words around it.

// line is text on one line.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case acts(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// Clean is text that may have several lines.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && acts(r) {
			return -1
		}
		return r
	}, text)
}

func acts(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
