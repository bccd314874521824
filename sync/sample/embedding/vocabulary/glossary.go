package vocabulary

import (
	"fmt"
	"strings"
)

// A Term is a word that means something else in a field than in the language at
// large.
type Term struct {
	Word  string
	Means []string // known words

	// Abbreviation is whether the term is read as what it means. Otherwise that
	// is added to what the word means anyway.
	Abbreviation bool
}

// ReadGlossary reads lines of the forms "word = words", an abbreviation, and
// "word ~ words". Empty lines and those that start with # are left out.
func ReadGlossary(text string) ([]Term, error) {
	var list []Term
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 || fields[1] != "=" && fields[1] != "~" {
			return nil, fmt.Errorf("line %d of the glossary: want word = words or word ~ words", n)
		}
		if seen[fields[0]] {
			return nil, fmt.Errorf("line %d of the glossary: %s is there twice", n, fields[0])
		}
		seen[fields[0]] = true
		list = append(list, Term{Word: fields[0], Means: fields[2:], Abbreviation: fields[1] == "="})
	}
	return list, nil
}
