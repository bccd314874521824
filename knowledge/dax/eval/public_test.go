package eval_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// publicModels is the folder of public models; the test is skipped where it is
// not there.
func publicModels(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PBMB_PUBLIC_MODELS"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, "shared", "data", "powerbi")
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
	}
	t.Skip("the public models are not on this machine; PBMB_PUBLIC_MODELS names their folder")
	return ""
}

// missing is all that the engine cannot compute of the public models, by the end
// of the model's path: a sentence starts with the first and holds the second.
var missing = map[string][][2]string{
	"FUAM_Core_SM.SemanticModel/definition": {
		{"measure Metrics[Workspace Monitoring URL]", "Cannot find table 'workspace_monitoring_reports'"}, // a query of Power Query
	},
	"AdventureWorks2.bim": {
		{"measure Reseller Sales[New Measure 2]", "unexpected end of the text"}, // has no expression
		{"measure Reseller Sales[New Measure 3]", "unexpected end of the text"}, // uses that one
	},
	"AllProperties.bim": {
		{"calculation item CalcItem of CalculationGroup", "unexpected end of the text"}, // has no expression
	},
	"NewDeserializer.bim": {
		{"calculation item MTD of CalcGroup", "unexpected end of the text"}, // has no expression
		{"measure Table[Measure]", "unexpected end of the text"},            // has no expression
	},
}

// failing are the measures of the public models that fail for the values of a
// single made-up row, and why.
var failing = map[string]string{}

// TestPublicModels loads every public model with a made-up row in each table, and
// asks for each of its measures. What of it the engine cannot compute is the list
// above, and nothing else.
func TestPublicModels(t *testing.T) { // SAMPLE-05, SAMPLE-12
	t.Parallel()
	root := publicModels(t)
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".bim"):
			paths = append(paths, path)
		case d.Name() == "model.tmdl":
			paths = append(paths, filepath.Dir(path))
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("no models below %s: %v", root, err)
	}
	loaded, measures := 0, 0
	for _, path := range paths {
		source, err := tmdl.Load(path)
		if err != nil {
			continue // what cannot be read is the loader's to test
		}
		loaded++
		if _, err := eval.New(source.Model, nil, time.Now); err != nil {
			t.Errorf("%s: without rows: %v", path, err)
		}
		engine, err := eval.New(source.Model, oneRowEach(source.Model), time.Now)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var expected [][2]string
		for end, list := range missing {
			if strings.HasSuffix(filepath.ToSlash(path), end) {
				expected = list
			}
		}
		listed := engine.Unsupported()
		for i, what := range listed {
			if i >= len(expected) || !strings.HasPrefix(what, expected[i][0]) || !strings.Contains(what, expected[i][1]) {
				t.Errorf("%s: %s", path, what)
			}
		}
		if len(listed) < len(expected) {
			t.Errorf("%s: only %q is missing, where the list has %q", path, listed, expected)
		}
		for _, table := range source.Model.Tables {
			for _, m := range table.Measures {
				measures++
				_, err := engine.Query(t.Context(), "EVALUATE { ["+strings.ReplaceAll(m.Name, "]", "]]")+"] }", eval.Identity{Unrestricted: true})
				if err == nil || listedFor(expected, table.Name, m.Name) {
					continue
				}
				if why, ok := failing[m.Name]; !ok || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: measure %s[%s]: %v", path, table.Name, m.Name, err)
				}
			}
		}
	}
	if loaded < len(paths)/2 || measures < 800 {
		t.Errorf("only %d of %d models could be read, with %d measures", loaded, len(paths), measures)
	}
}

func listedFor(expected [][2]string, table, measure string) bool {
	return slices.ContainsFunc(expected, func(e [2]string) bool { return e[0] == "measure "+table+"["+measure+"]" })
}

// oneRowEach is a row for each table that has rows.
func oneRowEach(model *knowledge.Model) []*eval.Rows {
	var list []*eval.Rows
	for _, table := range model.Tables {
		if table.Expression != "" || len(table.Items) > 0 {
			continue
		}
		rows := eval.NewRows(table.Name)
		for _, column := range table.Columns {
			if column.Expression != "" {
				continue
			}
			c := rows.Column(column.Name, column.DataType)
			switch column.DataType {
			case knowledge.Int64, knowledge.Double, knowledge.Decimal:
				c.AppendFloat(1)
			case knowledge.Boolean:
				c.AppendBool(true)
			case knowledge.DateTime:
				c.AppendTime(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
			default:
				c.AppendText("x")
			}
		}
		list = append(list, rows)
	}
	return list
}

// TestAdventureWorks asks the public model that comes with rows. The expected
// figures were counted from its CSV files with other means.
func TestAdventureWorks(t *testing.T) { // SAMPLE-12
	t.Parallel()
	root := filepath.Join(publicModels(t), "pbi-tools-adventureworksdw2020")
	source, err := tmdl.Load(filepath.Join(root, "pbix", "Model"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []*eval.Rows
	for _, table := range source.Model.Tables {
		f, err := os.Open(filepath.Join(root, "data", table.Name+".csv"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the two largest tables are not among the data
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := eval.ReadCSV(table, f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	engine, err := eval.New(source.Model, rows, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for expression, want := range map[string]string{
		`COUNTROWS ( Customer )`: "18485",
		`CALCULATE ( COUNTROWS ( Customer ), Customer[Country-Region] = "france" )`:                                                                   "1810",
		`DISTINCTCOUNT ( Customer[City] )`:                                                                                                            "270",
		`SUM ( 'Product'[List Price] )`:                                                                                                               "298189.3961",
		`CALCULATE ( MAX ( 'Product'[List Price] ), 'Product'[Category] = "Bikes", 'Product'[Color] = "Red" )`:                                        "3578.27",
		`SUMX ( FILTER ( 'Product', [Category] = "Bikes" && [Color] = "Red" ), [List Price] )`:                                                        "46028.7917",
		`COUNTROWS ( FILTER ( Reseller, [Business Type] = "Warehouse" ) )`:                                                                            "232",
		`CALCULATE ( COUNTROWS ( 'Date' ), 'Date'[Fiscal Year] = "FY2020" )`:                                                                          "366",
		`CONCATENATEX ( CALCULATETABLE ( VALUES ( 'Sales Territory'[Region] ), 'Sales Territory'[Group] = "Europe" ), [Region], ",", [Region], ASC )`: "France,Germany,United Kingdom",
		`MAXX ( TOPN ( 1, SUMMARIZECOLUMNS ( 'Product'[Color], "n", COUNTROWS ( 'Product' ) ), [n] ), 'Product'[Color] )`:                             "Black",
	} {
		result, err := engine.Query(t.Context(), "EVALUATE { "+expression+" }", eval.Identity{Unrestricted: true})
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := show(result.Tables[0].Rows[0][0]); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}
