package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

const (
	frequent = 24_000  // words that are taken because they are frequent
	ofField  = 6_000   // words that are taken because they are near those of the glossary
	rarest   = 200_000 // rank of the rarest word of the latter; rarer ones have poor vectors
	near     = 3       // words of the glossary that a word has to be near to
)

// choose returns the words that are worth their place, the most frequent first:
// every word that the glossary uses, the frequent ones, and those of the field.
func choose(all []vocabulary.Word, terms []vocabulary.Term) ([]vocabulary.Word, error) {
	slices.SortFunc(all, func(a, b vocabulary.Word) int { return cmp.Compare(a.Rank, b.Rank) })
	byText := map[string]int{}
	for i, w := range all {
		byText[w.Text] = i
	}
	taken := map[int]bool{}
	var field [][]float64
	for _, t := range terms {
		for _, text := range t.Means {
			i, ok := byText[text]
			if !ok {
				return nil, fmt.Errorf("the glossary explains %s by %s, which has no vector", t.Word, text)
			}
			if !taken[i] && all[i].Rank > 300 { // not "of" and "the"
				field = append(field, unit(all[i].Vector))
			}
			taken[i] = true
		}
		if i, ok := byText[t.Word]; ok && !t.Abbreviation {
			taken[i] = true
		}
	}
	for i := range frequent {
		taken[i] = true
	}
	type candidate struct {
		at   int
		near float64
	}
	var rest []candidate
	for i, w := range all[frequent:] {
		if w.Rank > rarest || taken[frequent+i] {
			continue
		}
		v := unit(w.Vector)
		best := make([]float64, near) // the greatest, rising
		for _, f := range field {
			if x := dot(v, f); x > best[0] {
				best[0] = x
				slices.Sort(best)
			}
		}
		rest = append(rest, candidate{frequent + i, dot(best, []float64{1, 1, 1})})
	}
	slices.SortStableFunc(rest, func(a, b candidate) int { return cmp.Compare(b.near, a.near) })
	for _, c := range rest[:min(ofField, len(rest))] {
		taken[c.at] = true
	}
	var words []vocabulary.Word
	for i, w := range all {
		if taken[i] {
			words = append(words, w)
		}
	}
	return words, nil
}
