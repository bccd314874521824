package embedding

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

// Model is the model's name, Dimensions the length of its vectors.
const (
	Model      = "sample-embedding-100d"
	Dimensions = 100
)

var (
	//go:embed words.bin
	wordsFile []byte
	//go:embed glossary.txt
	glossaryFile string
)

// An Embedder computes vectors. Its methods may be called at the same time.
type Embedder struct {
	table         *vocabulary.Table
	abbreviations map[string][]string
}

// New reads the words, which takes some milliseconds and memory.
func New() (*Embedder, error) {
	table, err := vocabulary.Read(wordsFile)
	if err != nil {
		return nil, err
	}
	if table.Dimensions != Dimensions {
		return nil, fmt.Errorf("words.bin has %d dimensions, want %d", table.Dimensions, Dimensions)
	}
	terms, err := vocabulary.ReadGlossary(glossaryFile)
	if err != nil {
		return nil, err
	}
	e := &Embedder{table: table, abbreviations: map[string][]string{}}
	for _, t := range terms {
		if t.Abbreviation {
			e.abbreviations[t.Word] = t.Means
		}
	}
	return e, nil
}

// Tokens is how many words are read of a text, 1 at least.
func (e *Embedder) Tokens(text string) int { return max(1, len(e.words(text))) }

// Embed computes the vector of a text, which has length 1. Any text has one.
func (e *Embedder) Embed(text string) []float32 {
	sum := make([]float64, Dimensions)
	for _, word := range e.words(text) {
		if !e.table.Add(sum, word, e.weight(word)) {
			e.addUnknown(sum, word)
		}
	}
	if length(sum) == 0 { // of signs alone, or of nothing
		addRandom(sum, strings.TrimSpace(text))
	}
	scaleTo(sum, 1)
	vector := make([]float32, Dimensions)
	for i, x := range sum {
		vector[i] = float32(x)
	}
	return vector
}

// Cut shortens a vector to its first dimensions, which say most, and makes it of
// length 1 again.
func Cut(vector []float32, dimensions int) []float32 {
	if dimensions >= len(vector) {
		return vector
	}
	sum := make([]float64, dimensions)
	for i := range sum {
		sum[i] = float64(vector[i])
	}
	scaleTo(sum, 1)
	cut := make([]float32, dimensions)
	for i, x := range sum {
		cut[i] = float32(x)
	}
	return cut
}

// smoothness is how seldom a word is whose vector counts half: once in a thousand
// words.
const smoothness = 1e-3

// weight is how much a known word says: little where it is frequent (smooth
// inverse frequency). A word's frequency follows from its rank, by Zipf's law over
// a language of some 350,000 words.
func (e *Embedder) weight(word string) float64 {
	rank, _ := e.table.Rank(word)
	frequency := 1 / (13.3 * float64(rank+2))
	return smoothness / (smoothness + frequency)
}

func add(sum, x []float64) {
	for i := range sum {
		sum[i] += x[i]
	}
}

func length(x []float64) float64 {
	sum := 0.0
	for _, y := range x {
		sum += float64(y * y) // converted, so that no machine fuses the two
	}
	return math.Sqrt(sum)
}

// scaleTo gives a vector a length. One of length 0 stays.
func scaleTo(x []float64, to float64) {
	n := length(x)
	if n == 0 {
		return
	}
	for i := range x {
		x[i] = x[i] / n * to
	}
}
