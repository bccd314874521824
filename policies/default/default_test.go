package defaults_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	defaults "github.com/pbmb/pbmb/policies/default"
)

// ROLES-72 ROLES-44: the shipped policies compile and pass their own tests, and
// the tests see an allow too many.
func TestPolicies(t *testing.T) {
	if out, passed := cerbostest.Compile(t, "."); !passed || !strings.Contains(out, " OK]") {
		t.Errorf("the shipped policies do not pass their tests:\n%s", out)
	}
	for name, change := range map[string][2]string{
		"book.yaml":    {"actions: [read]", "actions: [read, curate]"},
		"dataset.yaml": {"expr: V.in_app", `expr: R.id != ""`},
		"thread.yaml":  {`P.attr.kind == "person"`, `P.attr.kind != ""`},
		"admin.yaml":   {"roles: [admin]", "roles: [admin, curator]"},
		"result.yaml":  {`== "csv_link:" + R.id`, `!= ""`},
		// ROLES-46
		"tests/book_test.yaml": {"lenientScopeSearch: true", "lenientScopeSearch: false"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		policy, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(policy), change[0], change[1], 1)
		if changed == string(policy) {
			t.Fatalf("%s has no %q", name, change[0])
		}
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, passed := cerbostest.Compile(t, dir); passed || !strings.Contains(out, "FAILED") {
			t.Errorf("%s with %q passes the tests:\n%s", name, change[1], out)
		}
	}
}

// ROLES-74 ROLES-72: every policy is at the root scope and every kind of resource
// has one, with a test.
func TestScopes(t *testing.T) {
	kinds := map[policies.Kind]bool{
		policies.KindDataset: false, policies.KindBook: false, policies.KindThread: false,
		policies.KindQueryLog: false, policies.KindResult: false, policies.KindAdmin: false,
	}
	files, err := fs.Glob(defaults.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		content, err := fs.ReadFile(defaults.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		var policy struct {
			ResourcePolicy *struct {
				Resource policies.Kind
				Scope    string
			} `yaml:"resourcePolicy"`
			DerivedRoles *struct{ Name string } `yaml:"derivedRoles"`
		}
		if err := yaml.Unmarshal(content, &policy); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch {
		case policy.ResourcePolicy != nil:
			p := policy.ResourcePolicy
			if p.Scope != "" {
				t.Errorf("%s has the scope %q", name, p.Scope)
			}
			if _, known := kinds[p.Resource]; !known {
				t.Errorf("%s is about %q, which nothing asks about", name, p.Resource)
			}
			kinds[p.Resource] = true
			if _, err := os.Stat(filepath.Join("tests", string(p.Resource)+"_test.yaml")); err != nil {
				t.Errorf("%s has no test: %v", name, err)
			}
		case policy.DerivedRoles == nil:
			t.Errorf("%s is neither a resource policy nor derived roles", name)
		}
	}
	for kind, found := range kinds {
		if !found {
			t.Errorf("no policy is about %q", kind)
		}
	}
}
