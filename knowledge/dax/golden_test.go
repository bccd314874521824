package dax_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

var update = flag.Bool("update", false, "rewrite the expected errors in testdata")

// The files of testdata/errors hold, one after another, a text that is not DAX
// and what is said about it:
//
//	query | expression | names
//	the text
//	----
//	what Render gives
//	====
//
// The texts under "names" are queries that parse; their errors are those of
// resolving them in the model [shop]. SAMPLE-05
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for block := range strings.SplitSeq(string(b), "\n====\n") {
				if block == "" {
					continue
				}
				kind, rest, _ := strings.Cut(block, "\n")
				text, want, ok := strings.Cut("\n"+rest+"\n", "\n----\n")
				if !ok {
					t.Fatalf("no ---- after\n%s", block)
				}
				text = strings.TrimPrefix(text, "\n")
				errs := problemsOf(t, kind, text)
				got := errs.Render()
				out.WriteString(kind + "\n" + text + "\n----\n" + got + "====\n")
				if got != want && !*update {
					t.Errorf("%s\ngot\n%s\nwant\n%s", text, got, want)
				}
				checkProblems(t, text, errs)
			}
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// problemsOf are the problems of a text that must have some.
func problemsOf(t *testing.T, kind, text string) *dax.Errors {
	t.Helper()
	var err error
	switch kind {
	case "query":
		_, err = dax.ParseQuery(text)
	case "expression":
		_, err = dax.ParseExpr(text)
	case "names":
		q, parseErr := dax.ParseQuery(text)
		if parseErr != nil {
			t.Fatalf("%v\n%s", parseErr, text)
		}
		_, err = dax.Resolve(q, shop())
	default:
		t.Fatalf("a block starts with %q", kind)
	}
	var errs *dax.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("got %v for\n%s", err, text)
	}
	if errs.Text == "" {
		errs.Text = text
	}
	return errs
}

// checkProblems asserts what holds for all problems: they are in the order of the
// text, inside it, and say what to do.
func checkProblems(t *testing.T, text string, errs *dax.Errors) {
	t.Helper()
	if !slices.IsSortedFunc(errs.List, func(a, b dax.Problem) int { return a.Pos.Offset - b.Pos.Offset }) {
		t.Errorf("not in the order of the text: %q", text)
	}
	for _, p := range errs.List {
		if p.Pos.Line < 1 || p.Pos.Column < 1 || p.Pos.Offset > len(text) || p.Message == "" {
			t.Errorf("%q: a problem without a place or message: %+v", text, p)
		}
		if p.Remedy == "" && !strings.Contains(p.Message, "not known") && !strings.Contains(p.Message, "named") {
			t.Errorf("%q: no remedy: %s", text, p)
		}
	}
}
