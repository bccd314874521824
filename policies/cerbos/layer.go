package cerbos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pbmb/pbmb/policies/deployment"
)

// LayPolicies writes the shipped policies and, over them, those of the
// deployment, to folders of their own below dir, which it empties first. Tests,
// which Cerbos would not load, are left out. Policies of a deployment that cannot
// lie over the shipped ones are a [*deployment.Error].
func LayPolicies(dir string, shipped fs.FS, layers ...fs.FS) error {
	var all deployment.Set
	for _, layer := range layers {
		set, err := deployment.Read(layer)
		if err != nil {
			return err
		}
		all.Files = append(all.Files, set.Files...)
	}
	if err := all.Check(); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("emptying %s: %w", dir, err)
	}
	for i, layer := range slices.Concat([]fs.FS{shipped}, layers) {
		// Cerbos names files as they lie here when something is wrong with them.
		to := filepath.Join(dir, "shipped")
		if i > 0 {
			to = filepath.Join(dir, strconv.Itoa(i-1), filepath.FromSlash(deployment.PolicyFolder))
		}
		if i == 1 {
			to = filepath.Join(dir, filepath.FromSlash(deployment.PolicyFolder))
		}
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

// eachPolicy visits the policy files of a layer.
func eachPolicy(layer fs.FS, visit func(name string, content []byte) error) error {
	return fs.WalkDir(layer, ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." && errors.Is(err, fs.ErrNotExist) {
			return nil // a deployment need not have any
		}
		if err != nil || d.IsDir() || !deployment.IsPolicy(name) {
			return err
		}
		content, err := fs.ReadFile(layer, name)
		if err != nil {
			return err
		}
		return visit(name, content)
	})
}
