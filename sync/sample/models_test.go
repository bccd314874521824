package sample_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

// SAMPLE-12: a model with its rows answers what counting the lines of its CSV
// files gives.
func TestAddedModelWithRows(t *testing.T) {
	root := filepath.Join(publicData(t), "pbi-tools-adventureworksdw2020")
	s := newSite(t, sample.Config{Models: []string{root, filepath.Join(root, "pbix", "Model")}})
	const name = "Adventure Works DW 2020"
	if s.DatasetID(name+" (2)") == "" {
		t.Error("the same name twice gave one dataset")
	}
	byCountry := map[string]int{}
	f, err := os.Open(filepath.Join(root, "data", "Customer.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for i, h := range records[0] {
		if h == "Country-Region" {
			at = i
		}
	}
	for _, r := range records[1:] {
		byCountry[r[at]]++
	}
	viewer := s.as("viewer")
	if got := viewer.number(name, "COUNTROWS ( Customer )"); int(got) != len(records)-1 {
		t.Errorf("%v customers, want %d", got, len(records)-1)
	}
	answer, _ := viewer.query(name, `EVALUATE SUMMARIZECOLUMNS ( Customer[Country-Region], "n", COUNTROWS ( Customer ) )`)
	if len(answer.rows()) != len(byCountry) || len(byCountry) < 5 {
		t.Errorf("%d countries, want %d", len(answer.rows()), len(byCountry))
	}
	for _, r := range answer.rows() {
		country := r["Customer[Country-Region]"].(string)
		if got := r["[n]"].(float64); int(got) != byCountry[country] {
			t.Errorf("%s has %v, want %d", country, got, byCountry[country])
		}
	}
	if _, res := s.as("outsider").query(name, "EVALUATE { 1 }"); res.StatusCode != 404 {
		t.Errorf("the outsider is answered %s", res.Status)
	}
}

// SAMPLE-12: every public model becomes a dataset, whatever of it cannot be
// evaluated, and what cannot is told.
func TestPublicModelsAreTaken(t *testing.T) {
	root := publicData(t)
	var paths []string
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err == nil && (d.Name() == "model.tmdl" || filepath.Ext(name) == ".bim") {
			if d.Name() == "model.tmdl" {
				name = filepath.Dir(name)
			}
			paths = append(paths, name)
		}
		return err
	})
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %d models, error %v", len(paths), err)
	}
	s := newSite(t, sample.Config{Models: paths})
	var got list
	s.call(s.powerBI("viewer"), "GET", personPath+"/groups/"+s.WorkspaceID(sample.AddedModels)+"/datasets", nil, &got)
	if len(got.Value) != len(paths) {
		t.Errorf("%d datasets of %d models", len(got.Value), len(paths))
	}
	for _, n := range s.Notes() {
		if !strings.Contains(n, ": ") {
			t.Errorf("the note %q does not name its model", n)
		}
		t.Log(n)
	}
	if _, err := sample.New(sample.Config{Models: []string{t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("an empty folder: %v", err)
	}
}
