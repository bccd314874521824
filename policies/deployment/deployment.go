package deployment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Scope is the one scope of a deployment's policies. Every question is asked at
// it; where no policy of the deployment answers, Cerbos turns to the shipped ones
// at its root.
const Scope = "deployment"

// The folders of a deployment's policies and of their tests, below the folder of
// the deployment.
const (
	PolicyFolder = "access/policies"
	TestFolder   = "access/tests"
)

// A Kind is a kind of policy file: the name of the one field that holds its body.
type Kind string

const (
	ResourcePolicy  Kind = "resourcePolicy"
	PrincipalPolicy Kind = "principalPolicy"
	RolePolicy      Kind = "rolePolicy"
	Other           Kind = "" // derived roles, variables and constants, which have no scope
)

// kinds are those that have a scope, with the other spelling that Cerbos takes.
var kinds = map[Kind]string{ResourcePolicy: "resource_policy", PrincipalPolicy: "principal_policy", RolePolicy: "role_policy"}

// A Set is all policies of a deployment, in the order of their names.
type Set struct{ Files []*File }

// A File is one policy.
type File struct {
	Name string // its path below the folder of policies, with slashes
	Kind Kind

	whole, body map[string]any
	key         string // how this file spells Kind
	root        *ast.File
}

// An Error names the files that are wrong in one way. A file may be followed by
// the line, as in dataset.yaml:12.
type Error struct {
	Files  []string
	Reason string
}

func (e *Error) Error() string { return strings.Join(e.Files, ", ") + ": " + e.Reason }

// IsPolicy reports whether Cerbos would take a file of this name for a policy.
func IsPolicy(name string) bool {
	ext := path.Ext(name)
	switch ext {
	case ".yaml", ".yml", ".json":
		return !IsTest(name)
	}
	return false
}

// IsTest reports whether Cerbos would take a file of this name for a test.
func IsTest(name string) bool {
	ext := path.Ext(name)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && strings.HasSuffix(strings.TrimSuffix(name, ext), "_test")
}

// Read reads the policies of a folder; where there is no folder there are none.
// What is not one YAML document each is an [*Error], joined with the others.
func Read(folder fs.FS) (*Set, error) {
	var set Set
	var problems []error
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == "." && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if d.IsDir() || !IsPolicy(name) {
			return nil
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		file, err := parse(name, content)
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		set.Files = append(set.Files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	return &set, errors.Join(problems...)
}

func parse(name string, content []byte) (*File, error) {
	at := name
	root, err := parser.ParseBytes(content, 0)
	f := &File{Name: name, root: root}
	if err == nil {
		if len(root.Docs) > 1 {
			return nil, &Error{[]string{fmt.Sprintf("%s:%d", name, root.Docs[1].Start.Position.Line)}, "a second document begins, and a file has one policy"}
		}
		err = yaml.Unmarshal(content, &f.whole)
	}
	if err != nil {
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			at = fmt.Sprintf("%s:%d", name, e.GetToken().Position.Line)
			return nil, &Error{[]string{at}, "it is not YAML: " + e.GetMessage()}
		}
		return nil, &Error{[]string{at}, "it is not YAML: " + err.Error()}
	}
	for kind, spelt := range kinds {
		for _, key := range []string{string(kind), spelt} {
			if body, found := f.whole[key].(map[string]any); found {
				f.Kind, f.body, f.key = kind, body, key
			}
		}
	}
	return f, nil
}

// Check sees to it that every policy has the one scope that is asked at, and that
// all make the same choice of scopePermissions: Cerbos takes that of any one file
// for the whole scope, and not always of the same one. Its errors are [*Error].
func (s *Set) Check() error {
	choices := map[string][]string{} // scopePermissions: files
	var elsewhere, all []string
	for _, f := range s.Files {
		if f.Kind == Other {
			continue
		}
		if f.body["scope"] != Scope {
			elsewhere = append(elsewhere, f.at("scope"))
		}
		choice, _ := either(f.body, "scopePermissions", "scope_permissions").(string) // Cerbos refuses what is no text
		all = append(all, f.at("scopePermissions", "scope_permissions"))
		choices[choice] = append(choices[choice], f.Name)
	}
	var problems []error
	if len(elsewhere) > 0 {
		problems = append(problems, &Error{elsewhere, "the scope is not " + Scope + ", so nothing would ever ask it"})
	}
	if len(choices) > 1 {
		problems = append(problems, &Error{all, "they disagree on scopePermissions; choose one value for all"})
	}
	return errors.Join(problems...)
}

// at names the file and the line of the first of its body's fields that is there.
func (f *File) at(fields ...string) string {
	for _, field := range fields {
		if line := f.line("$." + f.key + "." + field); line > 0 {
			return fmt.Sprintf("%s:%d", f.Name, line)
		}
	}
	return f.Name
}

// line is where the value of a path begins, 0 where there is none.
func (f *File) line(at string) int {
	p, err := yaml.PathString(at)
	if err != nil {
		return 0
	}
	node, err := p.FilterFile(f.root)
	if err != nil || node == nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// either is the value under a name in either of the spellings that Cerbos takes.
func either(m map[string]any, camel, snake string) any {
	if v, ok := m[camel]; ok {
		return v
	}
	return m[snake]
}

// RoleNames are the roles that the policies name, sorted, the shipped ones among
// them where they do.
func (s *Set) RoleNames() []string {
	var out []string
	add := func(v any) {
		if name, _ := v.(string); name != "" && name != "*" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, f := range s.Files {
		switch f.Kind {
		case ResourcePolicy:
			for _, r := range list(f.body["rules"]) {
				rule, _ := r.(map[string]any)
				for _, role := range list(rule["roles"]) {
					add(role)
				}
			}
		case RolePolicy:
			add(f.body["role"])
		case Other:
			derived, _ := either(f.whole, "derivedRoles", "derived_roles").(map[string]any)
			for _, d := range list(derived["definitions"]) {
				definition, _ := d.(map[string]any)
				for _, role := range list(either(definition, "parentRoles", "parent_roles")) {
					add(role)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
