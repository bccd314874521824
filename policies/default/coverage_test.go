package defaults_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pbmb/pbmb/policies"
)

// A principal of the tests.
type principal struct {
	Roles []string
	Attr  struct{ Kind string }
}

// callers are the kinds of caller that every action is tried with.
var callers = map[string]func(principal) bool{
	"a viewer":             func(p principal) bool { return p.isPerson("viewer") },
	"a curator":            func(p principal) bool { return p.isPerson("curator") },
	"an admin":             func(p principal) bool { return p.isPerson("admin") },
	"a pii_reader alone":   func(p principal) bool { return p.isPerson("pii_reader") },
	"a role of no policy":  func(p principal) bool { return p.isPerson("metric_steward") },
	"a service account":    func(p principal) bool { return p.Attr.Kind == "service_account" },
	"a download by a link": func(p principal) bool { return p.Attr.Kind == "csv_link" },
}

func (p principal) isPerson(role string) bool {
	return p.Attr.Kind == "person" && slices.Equal(p.Roles, []string{role})
}

// ROLES-72, AUTHZ-11: the tests of the shipped policies try every action on every
// kind of resource with every kind of caller, so that a new action without a test
// fails here. What a test does not expect to be allowed, it expects to be refused.
func TestEveryActionIsTriedWithEveryCaller(t *testing.T) {
	t.Parallel()
	var shared struct{ Principals map[string]principal }
	read(t, "tests/testdata/principals.yaml", &shared)
	files, err := filepath.Glob("tests/*_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type triple struct {
		kind   policies.Kind
		action policies.Action
		caller string
	}
	tried := map[triple]bool{}
	for _, name := range files {
		var suite struct {
			Resources map[string]struct{ Kind policies.Kind }
			Tests     []struct {
				Input struct {
					Principals, Resources []string
					Actions               []policies.Action
				}
			}
		}
		read(t, name, &suite)
		for _, test := range suite.Tests {
			for _, p := range test.Input.Principals {
				known, found := shared.Principals[p]
				if !found {
					t.Errorf("%s: %q is no principal", name, p)
				}
				for caller, is := range callers {
					if !is(known) {
						continue
					}
					for _, r := range test.Input.Resources {
						for _, a := range test.Input.Actions {
							tried[triple{suite.Resources[r].Kind, a, caller}] = true
						}
					}
				}
			}
		}
	}
	for kind, actions := range policies.Vocabulary() {
		for _, action := range actions {
			for _, caller := range slices.Sorted(maps.Keys(callers)) {
				if !tried[triple{kind, action, caller}] {
					t.Errorf("no test tries %s on %s with %s", action, kind, caller)
				}
			}
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// What a merge key brings may be overridden.
	if err := yaml.UnmarshalWithOptions(content, into, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
