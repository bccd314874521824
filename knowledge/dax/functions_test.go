package dax_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// documented are the rows of the list of documented functions, by column name.
func documented(t *testing.T) []map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(publicModels(t), "dax-functions.tsv"))
	if err != nil {
		t.Skip(err)
	}
	var header []string
	var rows []map[string]string
	for line := range strings.Lines(string(b)) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if header == nil {
			header = fields
			continue
		}
		row := map[string]string{}
		for i, name := range header {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// SAMPLE-05
func TestFunctionsAgreeWithTheDocumentedOnes(t *testing.T) {
	known := map[string]bool{}
	for _, row := range documented(t) {
		name, notes := row["name"], row["notes"]
		known[name] = true
		f, ok := dax.LookupFunction(strings.ToLower(name))
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if f.Name != name || string(f.Kind) != row["kind"] {
			t.Errorf("%s is listed as %s %s, documented as %s", name, f.Kind, f.Name, row["kind"])
		}
		want := map[string]dax.Reads{
			"all-columns-data": dax.ReadsEveryColumn, "all-date-columns": dax.ReadsDateColumns, "identity": dax.ReadsIdentity,
		}[row["reads_model"]]
		switch {
		case strings.HasPrefix(row["reads_model"], "metadata"):
			want = dax.ReadsMetadata
		case name == "DETAILROWS":
			want = dax.ReadsStored
		case name == "EXTERNALMEASURE":
			want = dax.ReadsRemote
		case name == "TABLEOF":
			want = dax.ReadsWholeTable
		case name == "MPARAMETER":
			want = dax.ReadsMParameter
		case strings.Contains(notes, "visual-calc-only"):
			want = dax.ReadsVisual
		case f.Reads == dax.ReadsUndocumented || f.Reads == dax.ReadsVisual:
			want = f.Reads // stricter than the list of facts
		}
		if f.Reads != want {
			t.Errorf("%s reads %q, want %q", name, f.Reads, want)
		}
	}
	for f := range dax.Functions() {
		if !known[f.Name] {
			t.Errorf("%s is in no documentation", f.Name)
		}
	}
}

func TestFunctionsAreFoundInEverySpelling(t *testing.T) {
	for _, name := range []string{"SUMX", "sumx", "ＳＵＭＸ", "info.view.Tables"} {
		if _, ok := dax.LookupFunction(name); !ok {
			t.Errorf("%s is not found", name)
		}
	}
	if f, ok := dax.LookupFunction("SUMY"); ok {
		t.Errorf("SUMY is found as %s", f.Name)
	}
}

// Every call of the public models and texts has a number of arguments that its
// function takes. SAMPLE-05
func TestCallsOfThePublicModelsHaveTheirArguments(t *testing.T) {
	ix := dax.NewIndex(&knowledge.Model{})
	calls := 0
	for _, text := range publicTexts(t) {
		n, err := parseAny(text)
		if err != nil {
			continue
		}
		dax.Walk(n, func(n dax.Node) bool {
			c, ok := n.(*dax.Call)
			if !ok {
				return true
			}
			calls++
			_, err := ix.ResolveExpr(c, "", false)
			var errs *dax.Errors
			if errors.As(err, &errs) {
				if i := slices.IndexFunc(errs.List, func(p dax.Problem) bool { return p.Pos == c.Pos() && strings.Contains(p.Message, "cannot be called") }); i >= 0 {
					t.Errorf("%s: %s", text.from, errs.List[i])
				}
			}
			return true
		})
	}
	t.Logf("%d calls", calls)
}
