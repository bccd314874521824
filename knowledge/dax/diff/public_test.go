package diff_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// publicSides are the expressions of all public models, or the test is skipped.
func publicSides(t testing.TB) []diff.Side {
	t.Helper()
	root := os.Getenv("PBMB_PUBLIC_MODELS")
	for dir, _ := os.Getwd(); root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "shared/data/powerbi")); err == nil {
			root = filepath.Join(dir, "shared/data/powerbi")
		}
	}
	if root == "" {
		t.Skip("the public models are not here; set PBMB_PUBLIC_MODELS to their folder")
	}
	var sides []diff.Side
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !strings.HasSuffix(path, ".bim") {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "tables")); err != nil {
				return nil
			}
		}
		if source, err := tmdl.Load(path); err == nil {
			sides = append(sides, sidesOf(source.Model)...)
		}
		return nil
	})
	return sides
}

func sidesOf(m *knowledge.Model) []diff.Side {
	ix := dax.NewIndex(m)
	var sides []diff.Side
	add := func(text, table string, row bool) {
		if strings.TrimSpace(text) != "" {
			sides = append(sides, diff.Side{Text: text, Index: ix, Table: table, Row: row})
		}
	}
	for _, table := range m.Tables {
		add(table.Expression, "", false)
		for _, c := range table.Columns {
			add(c.Expression, table.Name, true)
		}
		for _, measure := range table.Measures {
			add(measure.Expression, table.Name, false)
		}
		for _, item := range table.Items {
			add(item.Expression, table.Name, false)
		}
	}
	for _, role := range m.Roles {
		for _, p := range role.Tables {
			add(p.Filter, p.Table, true)
		}
	}
	return sides
}

// BOOK-10: every expression of the public models is the same as itself and as
// what the formatter makes of it, and compares with its neighbour one way as the
// other.
func TestPublicExpressions(t *testing.T) {
	sides := publicSides(t)
	before := map[bool]*diff.Form{} // with an index and without
	read, kinds := 0, map[diff.Kind]int{}
	for _, s := range sides {
		for range 2 { // with its model and without
			x, err := dax.ParseExpr(s.Text)
			if err != nil {
				continue
			}
			read++
			form, err := diff.Read(s)
			if err != nil {
				t.Fatal(err)
			}
			again := s
			again.Text = dax.Format(x)
			formatted, err := diff.Read(again)
			if err != nil {
				t.Fatalf("%s\n%v", again.Text, err)
			}
			for _, other := range []*diff.Form{form, formatted} {
				if c := diff.Compare(form, other); c.Kind != diff.Same || form.Fingerprint() != other.Fingerprint() {
					t.Errorf("%s\nand\n%s\n%s", s.Text, again.Text, render(c))
				}
			}
			if other := before[s.Index != nil]; other != nil {
				c := diff.Compare(other, form)
				kinds[c.Kind]++
				if (c.Kind == diff.Same) != (other.Fingerprint() == form.Fingerprint()) {
					t.Errorf("%s: the fingerprints say otherwise", render(c))
				}
				mirrored(t, s.Text, c, diff.Compare(form, other))
			}
			before[s.Index != nil] = form
			s.Index = nil
		}
	}
	t.Logf("%d expressions; beside their neighbours they are %v", read, kinds)
	if read < 1000 {
		t.Errorf("only %d expressions", read)
	}
}
