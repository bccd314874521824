package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

func TestDecodeReadsThePackagesFormat(t *testing.T) {
	numbers := strings.Repeat("0.5,", embedding.Dimensions) + "5,"
	words, err := decode(strings.NewReader(`{"precision":8,"words":["vectors","{"],"vectors":{"vectors":[` + numbers + `7],",":[` + numbers + `1]},"unkVector":[0]}`))
	if err != nil || len(words) != 1 || words[0].Text != "vectors" || words[0].Rank != 7 || len(words[0].Vector) != embedding.Dimensions {
		t.Errorf("%+v, %v", words, err)
	}
	for _, broken := range []string{`{}`, `{"vectors":{"a":[1,2]}}`, `{"vectors":{"a":"b"}}`, `[`} {
		if _, err := decode(strings.NewReader(broken)); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}

func TestPrincipalFindsTheAxes(t *testing.T) {
	// Variances of 9 and 1 along the diagonals.
	got := principal([][]float64{{5, 4}, {4, 5}})
	for i, want := range []direction{{9, []float64{1, 1}}, {1, []float64{1, -1}}} {
		along := math.Abs(dot(got[i].axis, unit(want.axis)))
		if math.Abs(got[i].variance-want.variance) > 1e-9 || math.Abs(along-1) > 1e-9 {
			t.Errorf("direction %d is %+v", i, got[i])
		}
	}
}

// What two words have in common with all others is gone, and the lengths are one.
func TestPrepareTakesOutWhatIsCommon(t *testing.T) {
	var words []vocabulary.Word
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		v := make([]float64, embedding.Dimensions)
		all := 20 * random.Float64()
		for j := range v {
			v[j] = 3 + random.NormFloat64() + all
		}
		words = append(words, vocabulary.Word{Vector: v})
	}
	before := dot(unit(words[0].Vector), unit(words[5].Vector))
	prepare(words)
	after := dot(words[0].Vector, words[5].Vector)
	if before < 0.8 || math.Abs(after) > 0.4 {
		t.Errorf("alike by %.2f before and %.2f after", before, after)
	}
	for _, w := range words {
		if math.Abs(dot(w.Vector, w.Vector)-1) > 1e-9 || w.Vector[embedding.Dimensions-1] != 0 {
			t.Fatalf("%v", w.Vector)
		}
	}
}

func TestAddSensesMovesAWord(t *testing.T) {
	axis := func(i int) []float64 {
		v := make([]float64, embedding.Dimensions)
		v[i] = 1
		return v
	}
	words := []vocabulary.Word{{Text: "churn", Vector: axis(0)}, {Text: "lost", Vector: axis(1)}, {Text: "milk", Vector: axis(2)}}
	if err := addSenses(words, []vocabulary.Term{{Word: "churn", Means: []string{"lost"}}, {Word: "qty", Means: []string{"lost"}, Abbreviation: true}}); err != nil {
		t.Fatal(err)
	}
	if got := dot(words[0].Vector, words[1].Vector); math.Abs(got-math.Sqrt(0.5)) > 1e-9 {
		t.Errorf("churn and lost are %.3f alike", got)
	}
	if !slices.Equal(words[1].Vector, axis(1)) || !slices.Equal(words[2].Vector, axis(2)) {
		t.Error("other words moved")
	}
	if err := addSenses(words, []vocabulary.Term{{Word: "rls", Means: []string{"lost"}}}); err == nil {
		t.Error("a word without a vector got a sense")
	}
}
