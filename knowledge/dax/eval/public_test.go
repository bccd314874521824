package eval_test

import (
	"io/fs"
	"os"
	"path/filepath"
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

// TestPublicModels loads every public model: what the engine cannot compute of
// it is listed, and nothing stops it.
func TestPublicModels(t *testing.T) {
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
	for _, path := range paths {
		source, err := tmdl.Load(path)
		if err != nil {
			t.Logf("%s: %v", path, err)
			continue
		}
		engine, err := eval.New(source.Model, nil, time.Now)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, what := range engine.Unsupported() {
			t.Logf("%s: %s", filepath.Base(path), what)
		}
	}
	_ = knowledge.Fold
}
