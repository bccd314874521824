package dax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

func TestFunctionsAgreeWithTheDocumentedOnes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(publicModels(t), "dax-functions.tsv"))
	if err != nil {
		t.Skip(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		name, kind, reads, notes := fields[0], fields[1], fields[6], fields[7]
		if name == "name" {
			continue
		}
		documented[name] = true
		f, ok := dax.LookupFunction(strings.ToLower(name))
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if f.Name != name || string(f.Kind) != kind {
			t.Errorf("%s is listed as %s %s, documented as %s", name, f.Kind, f.Name, kind)
		}
		want := map[string]dax.Reads{
			"all-columns-data": dax.ReadsEveryColumn, "all-date-columns": dax.ReadsDateColumns, "identity": dax.ReadsIdentity,
		}[reads]
		switch {
		case strings.HasPrefix(reads, "metadata"):
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
		if !documented[f.Name] {
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
