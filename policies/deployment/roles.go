package deployment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Roles returns the names of the roles that the policies below a folder speak of,
// sorted: those that rules allow or deny something, those that derived roles are
// made of, and those of role policies. A pattern, such as "*", names no role. A
// file that is no YAML is an error that names it.
func Roles(folder fs.FS) ([]string, error) {
	found := map[string]bool{}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !isPolicyFile(name):
			return nil
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		documents := yaml.NewDecoder(bytes.NewReader(content))
		for {
			var policy map[string]any
			err := documents.Decode(&policy)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s is not YAML: %w", name, err)
			}
			for _, role := range rolesOf(policy) {
				if role != "" && !strings.ContainsAny(role, "*?[{") {
					found[role] = true
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the deployment's policies: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// rolesOf are the names in one policy. Cerbos reads its fields in either spelling.
func rolesOf(policy map[string]any) (names []string) {
	resource := record(policy, "resourcePolicy", "resource_policy")
	for _, rule := range records(resource, "rules") {
		names = append(names, texts(rule, "roles")...)
	}
	derived := record(policy, "derivedRoles", "derived_roles")
	for _, definition := range records(derived, "definitions") {
		names = append(names, texts(definition, "parentRoles", "parent_roles")...)
	}
	role := record(policy, "rolePolicy", "role_policy")
	if name, ok := role["role"].(string); ok {
		names = append(names, name)
	}
	return append(names, texts(role, "parentRoles", "parent_roles")...)
}

func record(m map[string]any, names ...string) map[string]any {
	for _, name := range names {
		if inner, ok := m[name].(map[string]any); ok {
			return inner
		}
	}
	return nil
}

func records(m map[string]any, name string) (all []map[string]any) {
	list, _ := m[name].([]any) // what is no list has none
	for _, item := range list {
		if inner, ok := item.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	return all
}

func texts(m map[string]any, names ...string) (all []string) {
	for _, name := range names {
		list, _ := m[name].([]any)
		for _, item := range list {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// isPolicyFile reports whether Cerbos would load a file as a policy.
func isPolicyFile(name string) bool {
	ext := path.Ext(name)
	switch ext {
	case ".yaml", ".yml", ".json":
		return !strings.HasSuffix(strings.TrimSuffix(name, ext), "_test") && !strings.Contains("/"+name, "/testdata/")
	}
	return false
}
