package deployment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pbmb/pbmb/policies/deployment"
)

const dataset = `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  variables:
    local: {open: R.attr.endorsement == "Certified"}
  rules:
    - actions: [query]
      effect: EFFECT_DENY
      roles: [auditor]
      condition: {match: {expr: R.attr.custom.secret}}
    - actions: ["desc*"]
      effect: EFFECT_ALLOW
      roles: [data_owner, "*"]
      condition:
        match:
          any:
            of:
              - expr: V.open
              - none:
                  of:
                    - expr: >-
                        R.attr.has_row_level_security
`

// ROLES-61: the rules on describe of each kind of policy, with the lines of their
// expressions, however deep.
func TestDescribeRules(t *testing.T) {
	set, err := deployment.Read(fstest.MapFS{
		"dataset.yaml": {Data: []byte(dataset)},
		"people/joan.json": {Data: []byte(`{"apiVersion": "api.cerbos.dev/v1", "principal_policy": {"principal": "person:joan", "version": "default", "scope": "deployment",
"rules": [{"resource": "*", "actions": [{"action": "query"}, {"action": "describe", "effect": "EFFECT_ALLOW",
"condition": {"match": {"expr": "R.id == 'a'"}}}]}]}}`)},
		"role.yml":          {Data: []byte("rolePolicy:\n  role: guest\n  scope: deployment\n  rules:\n    - resource: dataset\n      allow_actions: ['*']\n    - resource: book\n      allowActions: ['*']\n")},
		"book.yaml":         {Data: []byte(strings.Replace(dataset, "resource: dataset", "resource: book", 1))},
		"derived.yaml":      {Data: []byte("derivedRoles:\n  name: mine\n  definitions:\n    - {name: owner, parentRoles: [lender]}\n")},
		"dataset_test.yaml": {Data: []byte("[")},
		"README.md":         {Data: []byte("[")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range set.DescribeRules() {
		line := r.File
		for _, e := range r.Expressions {
			line += fmt.Sprintf(" %d:%s", e.Line, e.Text)
		}
		got = append(got, line)
	}
	want := []string{"dataset.yaml 21:V.open 24:R.attr.has_row_level_security", "people/joan.json 3:R.id == 'a'", "role.yml"}
	if !slices.Equal(got, want) {
		t.Errorf("the rules are %q, want %q", got, want)
	}
	rule := set.DescribeRules()[0]
	policy, err := rule.Alone("other", &rule.Expressions[0])
	if err != nil || !json.Valid(policy) || !strings.Contains(string(policy), `"resource":"other"`) || !strings.Contains(string(policy), `R.attr.endorsement`) || strings.Contains(string(policy), "row_level") || strings.Contains(string(policy), `"scope"`) {
		t.Errorf("an expression alone is %s, %v", policy, err)
	}
	if got, want := set.RoleNames(), []string{"auditor", "data_owner", "guest", "lender"}; !slices.Equal(got, want) {
		t.Errorf("the roles are %q, want %q", got, want)
	}
	if got := set.Shared(); !slices.Equal(got, []string{"derived.yaml"}) {
		t.Errorf("shared are %q", got)
	}
}

// ROLES-79: all that is wrong is said at once, with the lines.
func TestCheck(t *testing.T) {
	set, err := deployment.Read(fstest.MapFS{
		"a.yaml": {Data: []byte(dataset)},
		"b.yaml": {Data: []byte(strings.Replace(strings.Replace(dataset, "scope: deployment", "scope: b", 1), "OVERRIDE_PARENT", "REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS", 1))},
		"c.yaml": {Data: []byte("resourcePolicy: {resource: book}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "b.yaml:5, c.yaml: the scope is not deployment, so nothing would ever ask it\n" +
		"a.yaml:6, b.yaml:6, c.yaml: they disagree on scopePermissions; choose one value for all"
	if err := set.Check(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := deployment.Read(os.DirFS(filepath.Join(t.TempDir(), "nowhere"))); err != nil {
		t.Errorf("no folder is %v", err)
	}
}

// ROLES-50: whatever becomes of a policy is a change, and what is none is not.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "book.yaml")
	if err := os.WriteFile(file, []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	changed := func() time.Time {
		t.Helper()
		at, err := deployment.Changed(dir)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	more := filepath.Join(dir, "more.yaml")
	for _, change := range []func() error{
		func() error { return os.Chtimes(file, time.Now(), time.Now()) },
		func() error { return os.Chtimes(file, long, long) }, // as a copy that keeps times
		func() error { return os.WriteFile(more, nil, 0o600) },
		func() error { return errors.Join(os.WriteFile(more, nil, 0o600), os.Remove(more)) },
	} {
		for before := changed(); !changed().After(before); { // the file system's clock ticks slowly
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again := changed(); !again.Equal(changed()) {
		t.Error("it changes by itself")
	}
	if at, err := deployment.Changed(filepath.Join(dir, "nowhere")); err != nil || !at.IsZero() {
		t.Errorf("no folder changed at %v, %v", at, err)
	}
}

// FuzzRead: whatever stands in a file, reading it ends, and so does what is asked of it.
func FuzzRead(f *testing.F) {
	f.Add([]byte(dataset))
	f.Add([]byte("resourcePolicy: {rules: [{actions: describe, condition: {match: {all: {of: [1, {expr: 2}]}}}}], scopePermissions: [x]}"))
	f.Add([]byte("rolePolicy: &a {rules: [*a]}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		set, err := deployment.Read(fstest.MapFS{"a.yaml": {Data: content}})
		if err != nil {
			return
		}
		_ = set.Check()
		set.RoleNames()
		for _, r := range set.DescribeRules() {
			_, _ = r.Alone("other", nil)
		}
	})
}
