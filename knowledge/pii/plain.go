package pii

import (
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/pbmb/pbmb/knowledge"
)

// plain is a word folded and without accents. It is for finding words alone:
// whether two names are one, [knowledge.Fold] decides.
func plain(word string) string {
	bare, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), word)
	if err != nil {
		bare = word
	}
	return strings.NewReplacer("ß", "ss", "ø", "o", "æ", "ae", "å", "a").Replace(knowledge.Fold(bare))
}
