package embedding

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// signs are read as words where they stand in a name, as in "Margin %".
var signs = map[rune]string{
	'%': "percent", '#': "number", '&': "and", '$': "dollars", '€': "euros", '£': "pounds", 'Δ': "change", '∆': "change", 'Σ': "sum", 'Ø': "average",
}

// longest is how many letters and digits a word has at most; longer ones fall into
// pieces.
const longest = 50

// words cuts a text into words of lower-case letters and digits. Accents are taken
// off; names in camel case and with underscores fall apart; so do a word and the
// digits after it, unless the glossary has the two together.
func (e *Embedder) words(text string) []string {
	var list []string
	var word []rune // of the original's case
	flush := func() {
		if len(word) > 0 {
			list = e.appendWord(list, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(unaccented(text))
	for i, r := range runes {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if i > 0 && len(word) > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && startsWord(runes[i:])) {
				flush()
			}
			if word = append(word, r); len(word) == longest {
				flush()
			}
		case (r == '\'' || r == '’') && len(word) > 0:
			// A possessive s is no word of its own, and "don't" is "dont".
			if i+1 < len(runes) && (runes[i+1] == 's' || runes[i+1] == 'S') && (i+2 == len(runes) || !unicode.IsLetter(runes[i+2])) {
				runes[i+1] = ' '
			}
		default:
			flush()
			if sign, ok := signs[r]; ok {
				list = append(list, sign)
			}
		}
	}
	flush()
	return list
}

// startsWord reports whether a capital begins a word rather than being the plural
// of what is before it: the N of "LYNet", and not the last letter of "KPIs".
func startsWord(r []rune) bool {
	return unicode.IsLower(r[1]) && !(r[1] == 's' && (len(r) == 2 || !unicode.IsLetter(r[2])))
}

// appendWord adds a word, cut where letters and digits meet unless it is known as
// it is, with abbreviations written out.
func (e *Embedder) appendWord(list []string, word string) []string {
	if full, ok := e.abbreviations[word]; ok {
		return append(list, full...)
	}
	if _, ok := e.table.Rank(word); ok {
		return append(list, word)
	}
	first, _ := utf8.DecodeRuneInString(word)
	digits := unicode.IsDigit(first)
	end := strings.IndexFunc(word, func(r rune) bool { return unicode.IsDigit(r) != digits })
	if end < 0 {
		return append(list, word)
	}
	return e.appendWord(e.appendWord(list, word[:end]), word[end:])
}

// unaccented folds the forms of a letter into one: full-width letters, ligatures
// and letters with accents.
func unaccented(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
}
