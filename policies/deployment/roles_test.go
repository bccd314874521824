package deployment_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/policies/deployment"
)

// ROLES-49: the names are those of rules, derived roles and role policies, in
// whatever spelling and format Cerbos reads, and of nothing else.
func TestRoles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"book.yaml": `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: book
  version: default
  scope: deployment
  rules:
    - actions: [curate]
      effect: EFFECT_ALLOW
      roles: [metric_steward, curator]
    - actions: ["*"]
      effect: EFFECT_DENY
      roles: ["*", "night_*"]
    - actions: [read]
      effect: EFFECT_ALLOW
      derivedRoles: [not_a_role_of_anybody]
`,
		"below/derived.yml": `derived_roles:
  name: own
  definitions:
    - name: owner
      parent_roles: [auditor]
`,
		"role.json":               `{"rolePolicy": {"role": "keeper", "parentRoles": ["viewer"], "rules": []}}`,
		"several.yaml":            "resourcePolicy: {rules: [{roles: [first]}]}\n---\nresourcePolicy: {rules: [{roles: [second]}]}\n",
		"book_test.yaml":          "resourcePolicy: {rules: [{roles: [of_a_test]}]}",
		"testdata/principals.yml": "resourcePolicy: {rules: [{roles: [of_test_data]}]}",
		".git/x.yaml":             "resourcePolicy: {rules: [{roles: [hidden]}]}",
		"README.md":               "roles: [prose]",
		"odd.yaml":                "resourcePolicy: {rules: [{roles: many}, 7]}\nderivedRoles: none\n",
		"empty.yaml":              "",
	}
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := deployment.Roles(folder)
	want := []string{"auditor", "curator", "first", "keeper", "metric_steward", "second", "viewer"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	folder["broken.yaml"] = &fstest.MapFile{Data: []byte("a: [")}
	if _, err := deployment.Roles(folder); err == nil || !strings.Contains(err.Error(), "broken.yaml") {
		t.Errorf("with a broken file: %v", err)
	}
}
