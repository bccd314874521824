package operation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

type item struct {
	Name string `json:"name"`
	DAX  string `json:"dax,omitempty" cut:"text"`
}

func items(n, length int) []item {
	out := make([]item, n)
	for i := range out {
		out[i] = item{Name: fmt.Sprintf("Measure %d", i), DAX: strings.Repeat("é|\n", length/3)}
	}
	return out
}

// TOOLS-11, MCP-06: for lists of every size, both forms fit, rows are whole, and
// texts are shortened before rows are dropped.
func TestCutFitsAndSaysWhatIsMissing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		n, length := random.IntN(200), random.IntN(1500)
		page := NewPage(items(n, length), 10, 10+n+5, 0)
		out, err := cut(page, MaxToolAnswer)
		if err != nil {
			t.Fatalf("%d items of %d: %v", n, length, err)
		}
		if len(out.JSON) > MaxToolAnswer || len(out.Text) > MaxToolAnswer {
			t.Fatalf("%d items of %d: %d and %d bytes", n, length, len(out.JSON), len(out.Text))
		}
		var got Page[item]
		if err := json.Unmarshal(out.JSON, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Items) < n {
			if got.Note == "" {
				t.Errorf("%d of %d items without a note", len(got.Items), n)
			}
			for _, i := range got.Items {
				if len([]rune(i.DAX)) > 100 {
					t.Errorf("a row was dropped while a text of %d characters stood", len([]rune(i.DAX)))
				}
			}
		}
		offset, err := PageInput{Cursor: got.NextCursor}.Offset()
		if err != nil || offset != 10+len(got.Items) {
			t.Errorf("the cursor goes on at %d, want %d: %v", offset, 10+len(got.Items), err)
		}
		if len(page.Items) != n || n > 0 && len(page.Items[0].DAX) != len(strings.Repeat("é|\n", length/3)) {
			t.Fatal("cutting changed the value it was given")
		}
	}
}

// TOOLS-10
func TestCursorsOfOthersAreRefused(t *testing.T) {
	for _, cursor := range []string{"x", "YWZ0ZXI6LTE", "YWZ0ZXI6eA", "before"} {
		if _, err := (PageInput{Cursor: cursor}).Offset(); err == nil {
			t.Errorf("%q was taken", cursor)
		}
	}
}

// TOOLS-08: the text says what the structured content says.
func TestTextIsCompactMarkdown(t *testing.T) {
	page := NewPage([]item{{"Net sales", "SUM ( Sales[Amount] )"}, {"A|B", "line\nbreak"}}, 0, 2, 1)
	out, err := render(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "items: 2\n| name | dax |\n| --- | --- |\n| Net sales | SUM ( Sales[Amount] ) |\n| A\\|B | line break |\ntotal: 2\npii_hidden: 1"
	if out.Text != want {
		t.Errorf("text\n%s\nwant\n%s", out.Text, want)
	}
}
