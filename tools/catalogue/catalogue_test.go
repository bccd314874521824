package catalogue_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden is what a reviewer reads of an operation: a change of a name, an argument
// or a description shows here first.
type golden struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Doc      string       `json:"description"`
	Route    string       `json:"route"`
	Command  string       `json:"command"`
	Surfaces []string     `json:"surfaces"`
	Effect   string       `json:"effect"`
	Asks     string       `json:"asks"`
	PerMin   int          `json:"per_minute,omitempty"`
	Input    *huma.Schema `json:"input"`
	Output   *huma.Schema `json:"output"`
}

// TOOLS-01, TOOLS-04: each operation is declared once, and its declaration is
// what the golden file shows.
func TestDeclarations(t *testing.T) {
	files := map[string]bool{}
	for _, d := range catalogue.All(catalogue.Stores{}) {
		g := golden{
			Name: d.Name, Title: d.Title, Doc: d.Doc, Route: d.Method + " " + d.Path, Command: d.Command, PerMin: d.Rate.PerMinute,
			Effect: []string{"", "reads", "adds", "replaces", "removes"}[d.Effect], Asks: string(d.Kind) + " " + string(d.Action),
			Input: d.Input, Output: d.Output,
		}
		for s, name := range map[operation.Surface]string{operation.Connector: "connector", operation.API: "api", operation.Browser: "browser"} {
			if d.Surfaces&s != 0 {
				g.Surfaces = append(g.Surfaces, name)
			}
		}
		slices.Sort(g.Surfaces)
		got, err := json.MarshalIndent(g, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("testdata", d.Name+".json")
		files[path] = true
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s differs from its golden file; look at it and run go test ./tools/catalogue -update\n%s", d.Name, got)
		}
	}
	found, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !files[f] {
			t.Errorf("%s is of no operation", f)
		}
	}
}

// TOOLS-01: names, routes and commands are each there once.
func TestNothingIsServedTwice(t *testing.T) {
	seen := map[string]string{}
	placeholder := regexp.MustCompile(`\{\w+\}`)
	for _, d := range catalogue.All(catalogue.Stores{}) {
		for _, key := range []string{"name " + d.Name, "route " + d.Method + " " + placeholder.ReplaceAllString(d.Path, "{}"), "command " + strings.Split(d.Command, " <")[0]} {
			if other := seen[key]; other != "" {
				t.Errorf("%s and %s share the %s", other, d.Name, key)
			}
			seen[key] = d.Name
		}
	}
}

// TENANT-06: nothing that callers can do binds a database to a tenant, and no input
// but a setting's value, which the database guards, could name one.
func TestNothingRebindsATenant(t *testing.T) {
	tenant := regexp.MustCompile(`(?i)tenant|bind`)
	for _, d := range catalogue.All(catalogue.Stores{}) {
		for _, text := range []string{d.Name, d.Path, d.Command} {
			if tenant.MatchString(text) {
				t.Errorf("%s: %s", d.Name, text)
			}
		}
		for name := range d.Input.Properties {
			if tenant.MatchString(name) {
				t.Errorf("%s takes %s", d.Name, name)
			}
		}
	}
}

// AUTHZ-05: what asks nothing is on the closed list; everything else names a
// resource and an action.
func TestEveryOperationAsks(t *testing.T) {
	for _, d := range catalogue.All(catalogue.Stores{}) {
		if d.Kind == "" && !slices.Contains([]string{"whoami", "disconnect_power_bi", "list_my_grants", "end_my_grant"}, d.Name) {
			t.Errorf("%s asks nothing", d.Name)
		}
		if d.Kind != "" && d.Kind != "dataset" && d.Action == "" {
			t.Errorf("%s asks about %s without an action", d.Name, d.Kind)
		}
	}
}

// MCP-10: what changes rules, roles or the book is not on the connector.
func TestConnectorOnlyReads(t *testing.T) {
	for _, d := range catalogue.All(catalogue.Stores{}) {
		if d.Surfaces&operation.Connector != 0 && d.Effect != operation.Reads {
			t.Errorf("the connector serves %s, which does not only read", d.Name)
		}
	}
}

// TOOLS-12: text that others wrote stands in fields that say so.
func TestForeignTextIsMarked(t *testing.T) {
	for _, d := range catalogue.All(catalogue.Stores{}) {
		walk(d.Output, func(name string, s *huma.Schema) {
			switch name {
			case "description", "dax":
				if d.Name != "execute_dax" && !strings.Contains(s.Description, "untrusted") {
					t.Errorf("%s: %s does not say that it is untrusted", d.Name, name)
				}
			}
		})
	}
}

// TOOLS-08: schemas that every client can use.
func TestSchemasAreFlat(t *testing.T) {
	for _, d := range catalogue.All(catalogue.Stores{}) {
		for _, root := range []*huma.Schema{d.Input, d.Output} {
			if root.AdditionalProperties != false {
				t.Errorf("%s: an object is open", d.Name)
			}
			walk(root, func(name string, s *huma.Schema) {
				switch {
				case s.Ref != "":
					t.Errorf("%s: %s is a reference", d.Name, name)
				case s.Nullable:
					t.Errorf("%s: %s may be null", d.Name, name)
				case s.Type == "" && len(s.OneOf) == 0:
					t.Errorf("%s: %s may be anything", d.Name, name)
				case s.Type == huma.TypeObject && s.AdditionalProperties != false:
					t.Errorf("%s: %s is open", d.Name, name)
				case s.Description == "" && s.Type != huma.TypeObject && name != "[]":
					t.Errorf("%s: %s has no description", d.Name, name)
				}
			})
		}
	}
}

// walk calls f with every schema below s, by the name of its property.
func walk(s *huma.Schema, f func(name string, s *huma.Schema)) {
	for name, p := range s.Properties {
		f(name, p)
		walk(p, f)
	}
	if s.Items != nil {
		f("[]", s.Items)
		walk(s.Items, f)
	}
}
