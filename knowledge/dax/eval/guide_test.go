package eval

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

var update = flag.Bool("update", false, "write the functions into the guide")

const (
	guidePage  = "../../../docs/guide/dax-engine.md"
	guideStart = "-run TestFunctionsOfTheGuide -update -->\n"
	guideEnd   = "<!-- end of functions -->"
)

// insideOthers are functions that stand only within another, each with a query in
// which it does.
var insideOthers = map[string]string{
	"ALLCROSSFILTERED":    `{ CALCULATE ( [Total], ALLCROSSFILTERED ( Dim ) ) }`,
	"IGNORE":              `SUMMARIZECOLUMNS ( Dim[Name], "t", IGNORE ( [Total] ) )`,
	"NONVISUAL":           `SUMMARIZECOLUMNS ( Dim[Name], NONVISUAL ( TREATAS ( { "a" }, Dim[Name] ) ), "t", [Total] )`,
	"ORDERBY":             `INDEX ( 1, ALL ( Dim[Name] ), ORDERBY ( Dim[Name] ) )`,
	"PARTITIONBY":         `INDEX ( 1, ALL ( Dim[Key], Dim[Name] ), ORDERBY ( Dim[Name] ), PARTITIONBY ( Dim[Key] ) )`,
	"ROLLUP":              `SUMMARIZE ( Sales, ROLLUP ( Dim[Name] ), "t", [Total] )`,
	"ROLLUPADDISSUBTOTAL": `SUMMARIZECOLUMNS ( ROLLUPADDISSUBTOTAL ( Dim[Name], "all" ), "t", [Total] )`,
	"ROLLUPGROUP":         `SUMMARIZECOLUMNS ( ROLLUPADDISSUBTOTAL ( ROLLUPGROUP ( Dim[Name], Dim[Key] ), "all" ), "t", [Total] )`,
	"ISSUBTOTAL":          `SUMMARIZE ( Sales, ROLLUP ( Dim[Name] ), "all", ISSUBTOTAL ( Dim[Name] ) )`,
}

// TestFunctionsOfTheGuide holds the guide's table of functions against the
// engine: every function of the language is in one of its rows, one that is
// called supported is, and any other is refused by its name before a row is read.
func TestFunctionsOfTheGuide(t *testing.T) { // SAMPLE-05
	t.Parallel()
	engine := newSmall(t)
	rest := map[string]bool{}
	for f := range dax.Functions() {
		rest[f.Name] = true
	}
	total := len(rest)
	var b strings.Builder
	supported := 0
	row := func(name string, functions []string) {
		slices.Sort(functions)
		for i, f := range functions {
			functions[i] = "`" + f + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(functions, " "))
	}
	b.WriteString("| family | evaluated |\n| --- | --- |\n")
	for _, family := range []struct {
		name      string
		functions []map[string]function
	}{
		{"aggregation", []map[string]function{aggregateFunctions()}},
		{"filters and contexts", []map[string]function{filterFunctions()}},
		{"tables", []map[string]function{tableFunctions(), joinFunctions(), writingFunctions()}},
		{"groups", []map[string]function{groupFunctions()}},
		{"windows", []map[string]function{windowFunctions()}},
		{"logic", []map[string]function{logicalFunctions()}},
		{"information", []map[string]function{informationFunctions()}},
		{"the model", []map[string]function{modelFunctions()}},
		{"text", []map[string]function{textFunctions()}},
		{"mathematics", []map[string]function{mathFunctions()}},
		{"statistics", []map[string]function{statisticFunctions(), distributionFunctions(), regressionFunctions()}},
		{"dates", []map[string]function{dateFunctions()}},
		{"time intelligence", []map[string]function{timeFunctions()}},
		{"finance", []map[string]function{financialFunctions()}},
		{"parents and children", []map[string]function{pathFunctions()}},
		{"within another function", []map[string]function{insideFunctions()}},
	} {
		var names []string
		for _, functions := range family.functions {
			for folded := range functions {
				f, ok := dax.LookupFunction(folded)
				if !ok {
					t.Errorf("%s is no function of the language", folded)
					continue
				}
				if !rest[f.Name] {
					t.Errorf("%s is in two families", f.Name)
				}
				delete(rest, f.Name)
				names = append(names, f.Name)
			}
		}
		supported += len(names)
		row(family.name, names)
	}
	for folded := range insideFunctions() {
		f, _ := dax.LookupFunction(folded)
		if _, err := tried(t, engine, "EVALUATE "+insideOthers[f.Name]); err != nil {
			t.Errorf("%s where it belongs: %v", f.Name, err)
		}
	}

	refused := map[string][]string{}
	for name := range rest {
		_, err := tried(t, engine, `EVALUATE FILTER ( Sales, ERROR ( "a row was read" ) = `+name+` ( 1 ) )`)
		var problem *Error
		if !errors.As(err, &problem) || problem.Kind != Unsupported || knowledge.Fold(problem.Function) != knowledge.Fold(name) {
			t.Errorf("%s is neither supported nor refused by name: %v", name, err)
		}
		why := refusal(name)
		refused[why] = append(refused[why], name)
	}
	b.WriteString("\n| refused because | functions |\n| --- | --- |\n")
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		row(why, refused[why])
	}
	text := fmt.Sprintf("\nOf the %d functions of the language, %d are evaluated.\n\n%s\n", total, supported, b.String())

	page, err := os.ReadFile(guidePage)
	if err != nil {
		t.Fatal(err)
	}
	before, tail, ok := strings.Cut(string(page), guideStart)
	have, after, found := strings.Cut(tail, guideEnd)
	if !ok || !found {
		t.Fatalf("%s has lost the place for its functions", guidePage)
	}
	if have == text {
		return
	}
	if !*update {
		t.Fatalf("%s tells of other functions than the engine has; -update writes it anew", guidePage)
	}
	if err := os.WriteFile(guidePage, []byte(before+guideStart+text+guideEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// refusal is why a function is not evaluated.
func refusal(name string) string {
	f, _ := dax.LookupFunction(name)
	switch {
	case strings.HasPrefix(name, "INFO."):
		return "Power BI refuses them in executeQueries too; the views `INFO.VIEW.*` take their place"
	case f.Reads == dax.ReadsVisual:
		return "they work in visual calculations only"
	case strings.HasSuffix(name, "WEEK") || strings.HasSuffix(name, "WTD"):
		return "they need a calendar as an object of the model"
	case f.Reads == dax.ReadsRemote || f.Reads == dax.ReadsMParameter:
		return "they reach beyond the model"
	}
	return "they are not computed here; of most there is no documentation"
}
