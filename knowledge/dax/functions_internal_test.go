package dax

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the declared arguments say differently from the list of documented
// functions, and why.
var otherKinds = map[string]string{
	"ALLSELECTEDREMOVE tables":    "its second argument is a column, as its signature says",
	"DEPENDON tables":             "its second argument is a column, as its signature says",
	"NAMEOF tables":               "TABLE is a component, not an argument",
	"CONCATENATE columns":         "takes two texts of any kind",
	"SUBSTITUTEWITHINDEX columns": "the index columns are given as a table",
}

// remarks are what the list of documented functions adds to the name of an
// argument.
var remarks = regexp.MustCompile(`\(.*?\)|1?\.\.n?`)

// The tables and columns among the arguments of every documented function are
// declared as such. SAMPLE-05
func TestArgumentsAgreeWithTheDocumentedOnes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(os.Getenv("PBMB_PUBLIC_MODELS"), "dax-functions.tsv"))
	if err != nil {
		t.Skip("the list of functions is not here; set PBMB_PUBLIC_MODELS to its folder")
	}
	// plain makes the names of arguments comparable: groupBy_columnName1 is a
	// column like any other.
	plain := func(name string) string {
		name = strings.TrimRight(strings.ToLower(strings.TrimSpace(name)), "0123456789.")
		for _, part := range []string{"_", "groupby", "search", "result", "showall", "partitionby", "matchby"} {
			name = strings.ReplaceAll(name, part, "")
		}
		switch {
		case strings.HasSuffix(name, "columnname"), strings.HasSuffix(name, "column"):
			return "column"
		case name == "tableexpression", name == "tablename", name == "filtertable":
			return "table"
		}
		return name
	}
	for line := range strings.Lines(string(b)) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		f, ok := LookupFunction(row[0])
		if !ok || f.Reads == ReadsUndocumented || f.Reads == ReadsVisual {
			continue // their arguments are of any kind
		}
		for kind, list := range map[string]string{"tables": row[4], "columns": row[5]} {
			letters := map[string]string{"tables": "tTxXofr", "columns": "cCxXomrn"}[kind]
			var declared []string
			for _, p := range f.params {
				if strings.IndexByte(letters, p.letter) >= 0 {
					for name := range strings.SplitSeq(p.name, "_or_") {
						declared = append(declared, plain(name))
					}
				}
			}
			var missing []string
			for _, name := range strings.FieldsFunc(remarks.ReplaceAllString(list, ""), func(r rune) bool { return r == ',' || r == '|' }) {
				if name := plain(name); name != "" && !slices.Contains(declared, name) {
					missing = append(missing, name)
				}
			}
			key := f.Name + " " + kind
			if reason := otherKinds[key]; (missing != nil) != (reason != "") {
				t.Errorf("%q: documented %q, of which %q are not in %s", key, list, missing, f.signature())
			}
			// The other way round: what is declared as nothing but a table or a
			// column is documented as one.
			if kind == "tables" && list == "" && slices.ContainsFunc(f.params, func(p funcParam) bool { return p.letter|0x20 == 't' }) ||
				kind == "columns" && list == "" && slices.ContainsFunc(f.params, func(p funcParam) bool { return p.letter|0x20 == 'c' }) {
				t.Errorf("%q: %s has some, documented are none", key, f.signature())
			}
		}
	}
}
