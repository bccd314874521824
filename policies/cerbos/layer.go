package cerbos

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// LayPolicies writes the shipped policies and, over them, those of the
// deployment, to folders of their own below dir, which it empties first. Tests,
// which Cerbos would not load, are left out. A deployment's policies that cannot
// lie over the shipped ones are an [*LayerError].
func LayPolicies(dir string, shipped fs.FS, deployment ...fs.FS) error {
	if err := checkLayers(deployment); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("emptying %s: %w", dir, err)
	}
	for i, layer := range slices.Concat([]fs.FS{shipped}, deployment) {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return fmt.Errorf("laying policies: %w", err)
		}
		err := eachPolicy(layer, func(name string, content []byte) error {
			target := filepath.Join(to, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			return os.WriteFile(target, content, 0o644)
		})
		if err != nil {
			return fmt.Errorf("laying policies: %w", err)
		}
	}
	return nil
}

// A LayerError names the files of a deployment's policies that cannot lie over
// the shipped ones, and why.
type LayerError struct {
	Files  []string
	Reason string
}

func (e *LayerError) Error() string { return strings.Join(e.Files, ", ") + ": " + e.Reason }

// checkLayers sees to it that every policy of a deployment has the one scope that
// is asked at, and that all of them make the same choice of scopePermissions:
// Cerbos takes that of any one file for the whole scope, and not always of the
// same one.
func checkLayers(layers []fs.FS) error {
	choices := map[string][]string{} // scopePermissions: files
	var elsewhere []string
	for _, layer := range layers {
		err := eachPolicy(layer, func(name string, content []byte) error {
			var file map[string]any
			if err := yaml.Unmarshal(content, &file); err != nil {
				return &LayerError{Files: []string{name}, Reason: "it is not YAML: " + err.Error()}
			}
			// Cerbos reads names in either spelling.
			for _, kind := range [][2]string{{"resourcePolicy", "resource_policy"}, {"principalPolicy", "principal_policy"}, {"rolePolicy", "role_policy"}} {
				policy, ok := either(file, kind).(map[string]any)
				if !ok {
					continue // derived roles and variables have no scope
				}
				if policy["scope"] != Scope {
					elsewhere = append(elsewhere, name)
				}
				choice := fmt.Sprint(either(policy, [2]string{"scopePermissions", "scope_permissions"}))
				choices[choice] = append(choices[choice], name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(elsewhere) > 0 {
		return &LayerError{Files: elsewhere, Reason: "the scope is not " + Scope + ", so nothing would ever ask it"}
	}
	if len(choices) > 1 {
		files := slices.Concat(slices.Collect(maps.Values(choices))...)
		slices.Sort(files)
		return &LayerError{Files: files, Reason: "they disagree on scopePermissions; choose one value for all"}
	}
	return nil
}

func either(m map[string]any, names [2]string) any {
	if v, ok := m[names[0]]; ok {
		return v
	}
	return m[names[1]]
}

// eachPolicy visits the policy files of a layer.
func eachPolicy(layer fs.FS, visit func(name string, content []byte) error) error {
	return fs.WalkDir(layer, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isPolicy(name) {
			return err
		}
		content, err := fs.ReadFile(layer, name)
		if err != nil {
			return err
		}
		return visit(name, content)
	})
}

func isPolicy(name string) bool {
	ext := path.Ext(name)
	switch ext {
	case ".yaml", ".yml", ".json":
		return !strings.HasSuffix(strings.TrimSuffix(name, ext), "_test")
	}
	return false
}
