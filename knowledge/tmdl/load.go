package tmdl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// ErrNoModel is returned, wrapped, where a path holds neither a TMDL folder nor
// a TMSL file.
var ErrNoModel = errors.New("no model")

// A Source is where a model was found.
type Source struct {
	Model *knowledge.Model
	Dir   string // the folder that holds the model's files
}

// Load reads the model at name: a TMSL file, a folder of TMDL files, or a folder
// that has one of the two somewhere below it, as a project of Power BI Desktop has.
func Load(name string) (Source, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
	}
	if !info.IsDir() {
		data, err := os.ReadFile(abs)
		if err != nil {
			return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
		}
		m, err := ParseBIM(data)
		if err != nil {
			return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
		}
		m.Name = nameOf(abs, m.Name)
		return Source{Model: m, Dir: filepath.Dir(abs)}, nil
	}
	dir, bim, err := find(os.DirFS(abs))
	if err != nil {
		return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
	}
	if bim != "" {
		return Load(filepath.Join(abs, filepath.FromSlash(bim)))
	}
	m, err := LoadFS(os.DirFS(abs), dir)
	if err != nil {
		return Source{}, fmt.Errorf("reading the model %s: %w", name, err)
	}
	found := filepath.Join(abs, filepath.FromSlash(dir))
	m.Name = nameOf(found, m.Name)
	return Source{Model: m, Dir: found}, nil
}

// LoadFS reads the TMDL files in dir and below it. The model's name is the one
// that its database.tmdl gives, and may be empty.
func LoadFS(fsys fs.FS, dir string) (*knowledge.Model, error) {
	var b builder
	var problems []error
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "cultures" { // translations: large, and not read
			return fs.SkipDir
		}
		if d.IsDir() || !isTMDL(name) {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		nodes, err := parse(string(data))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			return nil
		}
		b.add(nodes)
		return nil
	})
	if err = errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	if !b.any {
		return nil, fmt.Errorf("%w in %s: it has no .tmdl file", ErrNoModel, dir)
	}
	return b.model(), nil
}

// find looks for the folder of TMDL files, or the TMSL file, that lies nearest
// to the root of fsys.
func find(fsys fs.FS) (dir, bim string, err error) {
	for level := []string{"."}; len(level) > 0; {
		var next []string
		for _, d := range level {
			entries, err := fs.ReadDir(fsys, d)
			if err != nil {
				return "", "", err
			}
			for _, e := range entries {
				name := path.Join(d, e.Name())
				switch {
				case e.IsDir() && !strings.HasPrefix(e.Name(), ".") && strings.Count(name, "/") < 6:
					next = append(next, name)
				case e.IsDir():
				case isTMDL(name):
					return d, "", nil
				case bim == "" && strings.EqualFold(path.Ext(name), ".bim"):
					bim = name
				}
			}
		}
		if bim != "" {
			return "", bim, nil
		}
		level = next
	}
	return "", "", fmt.Errorf("%w: no .tmdl or .bim file at or below it", ErrNoModel)
}

func isTMDL(name string) bool { return strings.EqualFold(path.Ext(name), ".tmdl") }

// plainNames are folder and file names that tools give to every model.
var plainNames = []string{"definition", "model", "semantic model", "semanticmodel", "pbix", "src", "database"}

// nameOf chooses a model's name: that of a TMSL file, or else the one that the
// model gives itself, or else that of the nearest folder. Names that tools give
// to every model are passed over.
func nameOf(place, given string) string {
	base := trimmedBase(place)
	switch {
	case strings.EqualFold(filepath.Ext(place), ".bim") && !isPlain(base):
		return base
	case given != "" && !isPlain(given):
		return given
	}
	for p := place; filepath.Dir(p) != p; p = filepath.Dir(p) {
		if base := trimmedBase(p); !isPlain(base) {
			return base
		}
	}
	return "Model"
}

// isPlain reports whether a tool, not a person, chose a name.
func isPlain(name string) bool {
	return slices.Contains(plainNames, strings.ToLower(name))
}

// trimmedBase is the last part of a path without the endings of models.
func trimmedBase(place string) string {
	base := filepath.Base(place)
	switch ext := filepath.Ext(base); strings.ToLower(ext) {
	case ".bim", ".semanticmodel", ".dataset":
		return base[:len(base)-len(ext)]
	}
	return base
}
