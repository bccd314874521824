package vocabulary_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample/embedding/vocabulary"
)

func TestWordsComeBack(t *testing.T) {
	file := vocabulary.Append(nil, 3, []vocabulary.Word{
		{Text: "sales", Rank: 500, Vector: []float64{1, -0.5, 0.25}},
		{Text: "turnover", Rank: 3842, Vector: []float64{0, 0, -0.001}},
	})
	table, err := vocabulary.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if rank, ok := table.Rank("turnover"); rank != 3842 || !ok {
		t.Errorf("the rank is %d, %v", rank, ok)
	}
	if _, ok := table.Rank("sale"); ok {
		t.Error("a word is there that was not written")
	}
	sum := []float64{1, 1, 1}
	if !table.Add(sum, "sales", 2) || table.Add(sum, "sale", 2) {
		t.Error("Add found the wrong words")
	}
	for i, want := range []float64{3, 0, 1.5} {
		if math.Abs(sum[i]-want) > 2.0/127 {
			t.Errorf("the sum is %v", sum)
		}
	}
	for name, broken := range map[string][]byte{
		"nothing": nil, "another file": slices.Repeat([]byte("x"), 100), "a part": file[:len(file)-1], "more": append(slices.Clone(file), 0),
		"a word twice": vocabulary.Append(nil, 1, []vocabulary.Word{{Text: "a", Vector: []float64{1}}, {Text: "a", Vector: []float64{1}}}),
	} {
		if _, err := vocabulary.Read(broken); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestReadGlossary(t *testing.T) {
	terms, err := vocabulary.ReadGlossary("# Amounts\nqty = quantity\n\nchurn ~ lost customers\n")
	if err != nil || len(terms) != 2 || !terms[0].Abbreviation || terms[1].Abbreviation || strings.Join(terms[1].Means, " ") != "lost customers" {
		t.Errorf("%+v, %v", terms, err)
	}
	for text, want := range map[string]string{
		"a = b\nqty quantity one": "line 2", "qty =": "line 1", "a = b\na ~ c": "a is there twice",
	} {
		if _, err := vocabulary.ReadGlossary(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
