// Package layering tests the worked examples of policies that a deployment lays
// over the shipped ones.
package layering

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	defaults "github.com/pbmb/pbmb/policies/default"
)

// ROLES-84 ROLES-85 ROLES-86 ROLES-87: each example passes its tests over the shipped policies.
// ROLES-41 ROLES-42 ROLES-43 ROLES-45: the metric steward's among them.
// ROLES-76 ROLES-77 ROLES-78 ROLES-80 ROLES-81 ROLES-82: and so does what layering does.
func TestExamples(t *testing.T) {
	for _, example := range []string{"override", "narrowing"} {
		if out, passed := compile(t, example, nil); !passed || !strings.Contains(out, " OK]") {
			t.Errorf("%s does not pass:\n%s", example, out)
		}
	}
}

// The examples' tests notice when what they are about is changed.
func TestExamplesNotice(t *testing.T) {
	for name, c := range map[string]struct{ example, files, from, to string }{
		// ROLES-44
		"an allow that no test expects": {"override", "policies/book.yaml", "[curate, verify]", "[curate, verify, approve]"},
		// ROLES-45
		"a file without tests": {"override", "tests/book_test.yaml", "tests:", "unknown:"},
		// ROLES-80 ROLES-82: one value in all of them, for Cerbos takes any one of
		// several for the whole scope.
		"consent where an override is meant":      {"override", "policies/*.yaml", "SCOPE_PERMISSIONS_OVERRIDE_PARENT", "SCOPE_PERMISSIONS_REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS"},
		"an override where consent is meant":      {"narrowing", "policies/*.yaml", "SCOPE_PERMISSIONS_REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS", "SCOPE_PERMISSIONS_OVERRIDE_PARENT"},
		"certified opened to service accounts":    {"override", "policies/dataset.yaml", `P.attr.kind == "person"`, `P.attr.kind != ""`},
		"a closed dataset that is not closed":     {"override", "policies/dataset.yaml", "EFFECT_DENY", "EFFECT_ALLOW"},
		"approving left to curators":              {"narrowing", "policies/book.yaml", "roles: [curator]", "roles: [viewer]"},
		"approving taken from admins":             {"narrowing", "policies/book.yaml", "roles: [curator]", "roles: [curator, admin]"},
		"a scope that no request of ours asks at": {"override", "policies/book.yaml", "scope: deployment", "scope: elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			out, passed := compile(t, c.example, func(file string, content []byte) []byte {
				if in, err := path.Match(c.files, file); err != nil || !in {
					return content
				}
				changed := bytes.Replace(content, []byte(c.from), []byte(c.to), 1)
				if bytes.Equal(changed, content) {
					t.Fatalf("%s has no %q", file, c.from)
				}
				return changed
			})
			if passed {
				t.Errorf("the tests pass:\n%s", out)
			}
		})
	}
}

// ROLES-83: under parental consent, no rule that allows opens what the shipped
// policies refuse.
func TestConsentNeverWidens(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []policies.Kind{policies.KindDataset, policies.KindBook, policies.KindThread, policies.KindQueryLog, policies.KindResult, policies.KindAdmin}
	actions := append(cerbostest.AdminActions(), policies.Describe, policies.Query, policies.Read, policies.Curate, policies.Verify, policies.Approve,
		policies.EditConventions, policies.Create, policies.Reply, policies.Upvote, policies.Accept, policies.Archive)
	roles := []string{"viewer", "curator", "admin", "pii_reader", "metric_steward"}
	conditions := []string{"", `condition: {match: {expr: 'P.attr.kind == "person"'}}`, `condition: {match: {expr: 'R.id != ""'}}`}
	layer := fstest.MapFS{}
	for _, kind := range kinds {
		rules := "    - {actions: ['*'], effect: EFFECT_ALLOW, roles: [metric_steward]}\n"
		for range 8 {
			role := append(roles, "'*'")[random.IntN(len(roles)+1)]
			rules += fmt.Sprintf("    - {actions: [%s], effect: EFFECT_ALLOW, roles: [%s], %s}\n",
				actions[random.IntN(len(actions))], role, conditions[random.IntN(len(conditions))])
		}
		layer[string(kind)+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: %s
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS
  rules:
%s`, kind, rules)}
	}
	layered, shipped := cerbostest.NewDecider(t, layer), cerbostest.NewDecider(t)
	resource := map[policies.Kind]map[string]any{
		policies.KindDataset:  {"workspace_id": "w1", "app_ids": []string{}, "endorsement": "Certified"},
		policies.KindThread:   {"author_id": "person:other", "kind": "question", "status": "open"},
		policies.KindQueryLog: {"principal_id": "person:other"},
		policies.KindResult:   {"owner_id": "person:other"},
	}
	allowed := 0
	for _, role := range roles {
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{role}}
		for _, kind := range kinds {
			for _, a := range actions {
				r := policies.Resource{Kind: kind, ID: "x", Attr: resource[kind]}
				over, err := layered.Allowed(t.Context(), p, a, r)
				if err != nil {
					t.Fatal(err)
				}
				under, err := shipped.Allowed(t.Context(), p, a, r)
				if err != nil {
					t.Fatal(err)
				}
				if over && !under {
					t.Errorf("%s may %s on %s, which the shipped policies refuse; the layer:\n%s", role, a, kind, layer[string(kind)+".yaml"].Data)
				}
				if over {
					allowed++
				}
			}
		}
	}
	if allowed == 0 {
		t.Error("nothing at all is allowed: the test shows nothing")
	}
}

// compile runs an example's tests over the shipped policies, after change.
func compile(t *testing.T, example string, change func(file string, content []byte) []byte) (output string, passed bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "default"), defaults.Files); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "deployment")
	if err := os.CopyFS(to, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		for _, folder := range []string{"policies", "tests"} {
			files, err := filepath.Glob(filepath.Join(to, folder, "*.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name, err := filepath.Rel(to, file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, change(filepath.ToSlash(name), content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return cerbostest.Compile(t, dir)
}
