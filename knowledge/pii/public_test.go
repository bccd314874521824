package pii_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// publicModels loads the public models, or skips the test.
func publicModels(t testing.TB) map[string]*knowledge.Model {
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
	models := map[string]*knowledge.Model{}
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
			name, _ := filepath.Rel(root, path)
			models[name] = source.Model
		}
		return nil
	})
	return models
}

// What the check does not understand it refuses, so names that real models use
// must be understood.
func TestNamesOfPublicModelsResolve(t *testing.T) {
	models := publicModels(t)
	total, failed := 0, 0
	for name, m := range models {
		ix := dax.NewIndex(m)
		try := func(what, text, table string, row bool) {
			if strings.TrimSpace(text) == "" {
				return
			}
			x, err := dax.ParseExpr(text)
			if err != nil {
				return
			}
			total++
			if _, err := ix.ResolveExpr(x, table, row); err != nil {
				failed++
				var errs *dax.Errors
				errors.As(err, &errs)
				t.Logf("%s: %s: %v", name, what, err)
			}
		}
		for _, table := range m.Tables {
			try(table.Name, table.Expression, "", false)
			for _, c := range table.Columns {
				try(table.Name+"["+c.Name+"]", c.Expression, table.Name, true)
			}
			for _, measure := range table.Measures {
				try(table.Name+"["+measure.Name+"]", measure.Expression, table.Name, false)
			}
			for _, item := range table.Items {
				try(table.Name+": "+item.Name, item.Expression, "", false)
			}
		}
	}
	t.Logf("%d models, %d expressions, %d with unknown names", len(models), total, failed)
	if total < 500 || failed > total/50 {
		t.Errorf("%d of %d expressions have unknown names", failed, total)
	}
}
