package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publicModels returns the folder of public models, which is not part of the
// repository, or skips the test.
func publicModels(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PBMB_PUBLIC_MODELS"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != "/" {
		if found := filepath.Join(dir, "shared", "data", "powerbi"); isFolder(found) {
			return found
		}
		dir = filepath.Dir(dir)
	}
	t.Skip("the public models are not here: set PBMB_PUBLIC_MODELS to their folder")
	return ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// SAMPLE-12: people's own models, as a TMDL folder with rows and as a .bim file,
// are found and queried through an MCP client.
func TestOwnModels(t *testing.T) {
	models := publicModels(t)
	tmdl := filepath.Join(models, "pbi-tools-adventureworksdw2020", "pbix", "Model")
	bims, err := filepath.Glob(filepath.Join(models, "tabulareditor", "*", "*", "AdventureWorks.bim"))
	if err != nil || len(bims) == 0 {
		t.Fatalf("no AdventureWorks.bim below %s: %v", models, err)
	}
	d := newDemo(t, newData(t), "--model", tmdl, "--model", bims[0])
	s := d.connect(t, "v2", "viewer@sample.example",
		call{"list_datasets", map[string]any{"workspace": "Added models"}},
		call{"search", map[string]any{"query": "internet total sales", "kind": "measure"}},
	)
	var names []string
	list := decode[page](t, s.Results[0].Structured)
	for _, i := range list.Items {
		names = append(names, i.Name)
	}
	if len(names) != 2 {
		t.Fatalf("added models %q", names)
	}
	found := decode[page](t, s.Results[1].Structured)
	if !slices.ContainsFunc(found.Items, func(i struct {
		Name, Table, Dataset, Kind, DAX string
		PII                             bool
	}) bool {
		return strings.EqualFold(i.Name, "Internet Total Sales")
	}) {
		t.Errorf("the search found %+v", found.Items)
	}
	// The rows of the TMDL model are beside it: 18,485 customers, one of them the
	// row for unknown ones.
	rowsOf := names[slices.IndexFunc(names, func(n string) bool { return n != "AdventureWorks" })]
	s = d.connect(t, "v1", "viewer@sample.example",
		call{"execute_dax", map[string]any{"dataset": rowsOf, "dax": `EVALUATE ROW ( "customers", COUNTROWS ( Customer ) )`}})
	if s.Results[0].IsError {
		t.Fatal(s.Results[0].Text)
	}
	if got := decode[rows](t, s.Results[0].Structured).Rows[0][0].(float64); got != 18485 {
		t.Errorf("%v customers in %s, want 18485", got, rowsOf)
	}
}
