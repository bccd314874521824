package embedding

import (
	"hash/fnv"
	"math"
	"strings"
)

// unknownWeight is that of a word of which nothing is known: names mostly, which
// say a lot.
const unknownWeight = 1

// spelling is the part that the letters have in the vector of an unknown word of
// which something is known by its parts.
const spelling = 0.4

// addUnknown adds a word that the table lacks: what its stem or its parts mean,
// and its spelling, so that it is nearest to itself and near to its own forms.
func (e *Embedder) addUnknown(sum []float64, word string) {
	own := make([]float64, Dimensions)
	e.addSpelling(own, word)
	if parts := e.parts(word); len(parts) > 0 {
		meaning := make([]float64, Dimensions)
		for _, part := range parts {
			e.table.Add(meaning, part, e.weight(part))
		}
		scaleTo(meaning, 1)
		scaleTo(own, spelling)
		add(own, meaning)
	}
	scaleTo(own, unknownWeight)
	add(sum, own)
}

// parts are the known words by which an unknown one is understood, or none.
func (e *Embedder) parts(word string) []string {
	if !isLatin(word) {
		return nil
	}
	if stem, ok := e.stem(word); ok {
		return []string{stem}
	}
	if parts, _ := e.compound(word, 3); parts != nil {
		return parts
	}
	if near, ok := e.misspelt(word); ok {
		return []string{near}
	}
	return nil
}

func isLatin(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// endings are the ends of words with what stands for them in the words that they
// are made of, the most telling first.
var endings = []struct{ end, instead string }{
	{"isations", "ization"}, {"isation", "ization"}, {"ising", "izing"}, {"ised", "ized"}, {"ise", "ize"}, {"our", "or"}, {"ours", "ors"},
	{"ies", "y"}, {"es", "e"}, {"es", ""}, {"s", ""},
	{"ing", "e"}, {"ing", ""}, {"ed", "e"}, {"ed", ""}, {"ers", "e"}, {"ers", ""}, {"er", "e"}, {"er", ""},
	{"ly", ""}, {"ness", ""}, {"ments", ""}, {"ment", ""}, {"ability", "able"}, {"able", "e"}, {"able", ""},
}

// stem is the known word that an unknown one is a form of.
func (e *Embedder) stem(word string) (string, bool) {
	for _, x := range endings {
		stem, ok := strings.CutSuffix(word, x.end)
		if !ok || len(stem) < 3 {
			continue
		}
		if _, ok := e.table.Rank(stem + x.instead); ok {
			return stem + x.instead, true
		}
		// The doubled letter of "upselling" without its ending.
		if n := len(stem); x.instead == "" && n > 3 && stem[n-1] == stem[n-2] {
			if _, ok := e.table.Rank(stem[:n-1]); ok {
				return stem[:n-1], true
			}
		}
	}
	return "", false
}

// shortParts is how frequent a word of two letters has to be to be a part of others.
const shortParts = 150

// compound cuts a word into at most limit known ones, as "backorder" into back and
// order: those whose frequencies multiply to most. The number is that product's
// inverse. A single word of the table is a compound of one.
func (e *Embedder) compound(word string, limit int) ([]string, float64) {
	if rank, ok := e.part(word); ok {
		return []string{word}, float64(rank + 1)
	}
	var best []string
	least := math.Inf(1)
	if limit == 1 {
		return nil, least
	}
	for i := 2; i <= len(word)-2; i++ {
		rank, ok := e.part(word[:i])
		if !ok {
			continue
		}
		rest, cost := e.compound(word[i:], limit-1)
		if cost *= float64(rank + 1); rest != nil && cost < least {
			best, least = append([]string{word[:i]}, rest...), cost
		}
	}
	return best, least
}

// part is the rank of a word that others may be made of.
func (e *Embedder) part(word string) (int, bool) {
	rank, ok := e.table.Rank(word)
	return rank, ok && (len(word) > 2 || len(word) == 2 && rank < shortParts)
}

// misspelt is the most frequent known word that differs in one letter, or in the
// order of two, of a word long enough for that to mean something.
func (e *Embedder) misspelt(word string) (string, bool) {
	if len(word) < 6 || len(word) > 20 {
		return "", false
	}
	best, lowest := "", math.MaxInt
	try := func(candidate string) {
		if rank, ok := e.table.Rank(candidate); ok && rank < lowest {
			best, lowest = candidate, rank
		}
	}
	for i := range word {
		before, at, after := word[:i], word[i:i+1], word[i+1:]
		try(before + after)
		if after != "" {
			try(before + after[:1] + at + after[1:])
		}
		for c := byte('a'); c <= 'z'; c++ {
			try(before + string(c) + after)
			try(before + string(c) + at + after)
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		try(word + string(c))
	}
	return best, best != ""
}

// addSpelling adds a vector for each run of three to five letters of a word, its
// ends included: words that share many are near each other.
func (e *Embedder) addSpelling(sum []float64, word string) {
	runes := []rune("<" + word + ">")
	for size := 3; size <= 5; size++ {
		for i := 0; i+size <= len(runes); i++ {
			addRandom(sum, string(runes[i:i+size]))
		}
	}
	addRandom(sum, "<"+word+">")
}

// addRandom adds a direction that depends on a text alone.
func addRandom(sum []float64, text string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	state := h.Sum64()
	for i := range sum {
		// splitmix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		sum[i] += float64(int64(z)>>11) / (1 << 52)
	}
}
