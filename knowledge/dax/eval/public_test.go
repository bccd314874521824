package eval_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestPublicModels loads every public model without rows: what the engine cannot
// compute of it is listed, and for no other reason than that there are no rows,
// or that the model is at fault.
func TestPublicModels(t *testing.T) { // SAMPLE-12
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
	excused := []string{
		"Calendar function can not be Blank",
		"can not find a base column of DateTime type",
		"The syntax of the query is incorrect", // measures without an expression
		"Cannot find table",                    // a parameter of Power Query
	}
	loaded := 0
	for _, path := range paths {
		source, err := tmdl.Load(path)
		if err != nil {
			continue // what cannot be read is the loader's to test
		}
		loaded++
		engine, err := eval.New(source.Model, nil, time.Now)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
	listed:
		for _, what := range engine.Unsupported() {
			for _, part := range excused {
				if strings.Contains(what, part) {
					continue listed
				}
			}
			t.Errorf("%s: %s", path, what)
		}
	}
	if loaded < len(paths)/2 {
		t.Errorf("only %d of %d models could be read", loaded, len(paths))
	}
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
