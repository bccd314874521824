package diff_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
)

// BOOK-10: whatever two texts hold, comparing them ends, is the same the other way
// round, and finds a text to be the same as itself and as its formatted form.
func FuzzCompare(f *testing.F) {
	b, err := os.ReadFile("testdata/pairs.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(b), "\n== ") {
		var texts []string
		for line := range strings.Lines(block) {
			if mark, text, _ := strings.Cut(strings.TrimSpace(line), " "); mark == "A" || mark == "B" || mark == "B'" {
				texts = append(texts, text)
			}
		}
		if len(texts) == 2 {
			f.Add(texts[0], texts[1])
		}
	}
	ix := dax.NewIndex(shop())
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, with := range []*dax.Index{ix, nil} {
			a, err := diff.Read(diff.Side{Text: first, Index: with, Table: "Sales"})
			if err != nil {
				return
			}
			b, err := diff.Read(diff.Side{Text: second, Index: with, Table: "Sales", Row: with != nil})
			if err != nil {
				return
			}
			c := diff.Compare(a, b)
			mirrored(t, first+"\n"+second, c, diff.Compare(b, a))
			if (c.Kind == diff.Same) != (a.Fingerprint() == b.Fingerprint()) {
				t.Fatalf("the fingerprints say otherwise:\n%s", render(c))
			}
			for _, d := range c.Differences {
				for text, p := range map[string]diff.Part{first: d.A, second: d.B} {
					if p.End > len(text) && first != second || p.Pos.Offset > p.End {
						t.Fatalf("the part %v is outside the text", p)
					}
				}
			}
			if self := diff.Compare(a, a); self.Kind != diff.Same {
				t.Fatalf("a text is not the same as itself:\n%s", render(self))
			}
			x, _ := dax.ParseExpr(first)
			form, err := diff.Read(diff.Side{Text: dax.Format(x), Index: with, Table: "Sales"})
			if err != nil {
				t.Fatal(err)
			}
			if c := diff.Compare(a, form); c.Kind != diff.Same {
				t.Fatalf("%s\nis not the same as\n%s\n%s", first, dax.Format(x), render(c))
			}
		}
	})
}
