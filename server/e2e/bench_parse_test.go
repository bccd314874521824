package e2e_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

// corpusModels are the public models, where their folder is told, and else those of
// the sample company.
func corpusModels(t *testing.T) (models []*knowledge.Model, name string) {
	t.Helper()
	root := os.Getenv("PBMB_PUBLIC_MODELS")
	if root == "" {
		err := fs.WalkDir(company.Files, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "database.tmdl" {
				m, err := tmdl.LoadFS(company.Files, filepath.Dir(path))
				if err != nil {
					return err
				}
				models = append(models, m)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return models, "the sample company"
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".bim") && d.Name() != "model.tmdl" {
			return err
		}
		if d.Name() == "model.tmdl" {
			path = filepath.Dir(path)
		}
		src, err := tmdl.Load(path)
		if err != nil {
			t.Logf("left out: %v", err)
			return nil
		}
		models = append(models, src.Model)
		return nil
	})
	if err != nil || len(models) == 0 {
		t.Fatalf("no models in %s: %v", root, err)
	}
	return models, "public models"
}

// expressions are the different DAX expressions of models that parse.
func expressions(models []*knowledge.Model) []string {
	var list []string
	seen := map[string]bool{}
	add := func(text string) {
		if seen[text] || strings.TrimSpace(text) == "" {
			return
		}
		seen[text] = true
		if _, err := dax.ParseExpr(text); err == nil {
			list = append(list, text)
		}
	}
	for _, m := range models {
		for _, tbl := range m.Tables {
			add(tbl.Expression)
			for _, c := range tbl.Columns {
				add(c.Expression)
			}
			for _, measure := range tbl.Measures {
				add(measure.Expression)
			}
			for _, item := range tbl.Items {
				add(item.Expression)
			}
		}
		for _, r := range m.Roles {
			for _, p := range r.Tables {
				add(p.Filter)
			}
		}
	}
	return list
}

// goTexts are files of this project with at least as many bytes as wanted.
func goTexts(t *testing.T, wanted int) (texts []string, size int) {
	t.Helper()
	err := filepath.WalkDir("../../knowledge", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || size >= wanted {
			return err
		}
		b, err := os.ReadFile(path)
		texts, size = append(texts, string(b)), size+len(b)
		return err
	})
	if err != nil || size < wanted {
		t.Fatalf("%d bytes of Go, want %d: %v", size, wanted, err)
	}
	return texts, size
}

// parseFigures measures the parser beside that of Go's own library: as many bytes,
// from text to a tree.
func parseFigures(t *testing.T) section {
	const rounds = 25
	models, name := corpusModels(t)
	texts := expressions(models)
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	goes, goSize := goTexts(t, size)
	took := interleaved(rounds, func() {
		for _, text := range texts {
			if _, err := dax.ParseExpr(text); err != nil {
				t.Fatal(err)
			}
		}
	}, func() {
		for _, text := range goes {
			if _, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
		}
	})
	speed := func(bytes int, took time.Duration) float64 { return float64(bytes) / 1e6 / took.Seconds() }
	own, reference := speed(size, took[0]), speed(goSize, took[1])
	var f section
	f.printf("%d expressions of %s, %s, to trees with positions; go/parser over as much of this project's Go. Median of %d interleaved rounds, on one core.\n\n", len(texts), name, kilobytes(size), rounds)
	f.printf("| parser | MB/s | texts per second | compared |\n| --- | ---: | ---: | ---: |\n")
	f.printf("| knowledge/dax | %.1f | %.0f | %.2f |\n", own, float64(len(texts))/took[0].Seconds(), own/reference)
	f.printf("| go/parser | %.1f | %.0f | |\n", reference, float64(len(goes))/took[1].Seconds())
	return f
}

func kilobytes(n int) string { return fmt.Sprintf("%.0f kB", float64(n)/1e3) }
