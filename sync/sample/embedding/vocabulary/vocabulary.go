// Package vocabulary is a table of words, each with how frequent it is and a
// vector, in one compact file.
//
// The file is, in little-endian numbers of 32 bits: the signature, the number of
// words, the dimensions, the length of the words in bytes; the words, each ended
// by a line feed; their ranks; their scales as floats; and the vectors as one
// signed byte for each dimension, to be multiplied by the word's scale.
package vocabulary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

const (
	signature  = "pbmbvec1"
	headerSize = len(signature) + 3*4
)

// A Table is a set of words. Its methods may be called at the same time.
type Table struct {
	Dimensions int

	index   map[string]int32
	ranks   []byte
	scales  []byte
	vectors []byte
}

// A Word is one that goes into a file.
type Word struct {
	Text   string
	Rank   int       // 0 for the most frequent word of the language
	Vector []float64 // of any length above 0
}

// Append writes a file of words, whose vectors all have the given dimensions, to
// the end of b.
func Append(b []byte, dimensions int, words []Word) []byte {
	length := 0
	for _, w := range words {
		length += len(w.Text) + 1
	}
	b = append(b, signature...)
	for _, n := range []int{len(words), dimensions, length} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, w := range words {
		b = append(append(b, w.Text...), '\n')
	}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(w.Rank))
	}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(scale(w.Vector))))
	}
	for _, w := range words {
		s := scale(w.Vector)
		for _, x := range w.Vector {
			b = append(b, byte(int8(math.Round(x/s))))
		}
	}
	return b
}

// scale is what one step of a vector's bytes stands for.
func scale(vector []float64) float64 {
	largest := 0.0
	for _, x := range vector {
		largest = max(largest, math.Abs(x))
	}
	return largest / math.MaxInt8
}

// Read reads a file that [Append] wrote. The table keeps file, which must not
// change any more.
func Read(file []byte) (*Table, error) {
	if len(file) < headerSize || string(file[:len(signature)]) != signature {
		return nil, errors.New("reading a vocabulary: the file is none")
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint32(file[len(signature)+4*i:])) }
	count, dimensions, length := number(0), number(1), number(2)
	if want := headerSize + length + count*(8+dimensions); len(file) != want {
		return nil, fmt.Errorf("reading a vocabulary: the file has %d bytes and should have %d", len(file), want)
	}
	rest := file[headerSize:]
	cut := func(n int) []byte {
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	t := &Table{Dimensions: dimensions, index: make(map[string]int32, count)}
	for word := range strings.SplitSeq(strings.TrimSuffix(string(cut(length)), "\n"), "\n") {
		t.index[word] = int32(len(t.index))
	}
	if len(t.index) != count {
		return nil, fmt.Errorf("reading a vocabulary: %d different words, and should be %d", len(t.index), count)
	}
	t.ranks, t.scales, t.vectors = cut(4*count), cut(4*count), rest
	return t, nil
}

// Rank is how many words of the language are more frequent, and false for a word
// that is not in the table.
func (t *Table) Rank(word string) (int, bool) {
	i, ok := t.index[word]
	if !ok {
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(t.ranks[4*i:])), true
}

// Add adds a word's vector, multiplied by weight, to sum. It reports whether the
// table has the word. The result is the same on every machine.
func (t *Table) Add(sum []float64, word string, weight float64) bool {
	i, ok := t.index[word]
	if !ok {
		return false
	}
	weight *= float64(math.Float32frombits(binary.LittleEndian.Uint32(t.scales[4*i:])))
	for j, x := range t.vectors[int(i)*t.Dimensions : (int(i)+1)*t.Dimensions] {
		sum[j] += float64(weight * float64(int8(x))) // converted, so that no machine fuses the two
	}
	return true
}
