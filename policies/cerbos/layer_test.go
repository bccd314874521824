package cerbos_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/policies/cerbos"
	"github.com/pbmb/pbmb/policies/deployment"
)

func policy(scope, permissions string) *fstest.MapFile {
	text := "apiVersion: api.cerbos.dev/v1\nresourcePolicy:\n  resource: book\n  version: default\n"
	if scope != "" {
		text += "  scope: " + scope + "\n"
	}
	if permissions != "" {
		text += "  scopePermissions: " + permissions + "\n"
	}
	return &fstest.MapFile{Data: []byte(text)}
}

// ROLES-79: one scope and one choice of scopePermissions, or the files are named.
func TestLayersAgree(t *testing.T) {
	const over, consent = "SCOPE_PERMISSIONS_OVERRIDE_PARENT", "SCOPE_PERMISSIONS_REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS"
	for name, c := range map[string]struct {
		layer fstest.MapFS
		files []string // that the error names
	}{
		"nothing":           {fstest.MapFS{}, nil},
		"they agree":        {fstest.MapFS{"a.yaml": policy("deployment", over), "deep/b.yml": policy("deployment", over)}, nil},
		"they disagree":     {fstest.MapFS{"a.yaml": policy("deployment", over), "b.yaml": policy("deployment", consent)}, []string{"a.yaml:6", "b.yaml:6"}},
		"one says nothing":  {fstest.MapFS{"a.yaml": policy("deployment", over), "b.yaml": policy("deployment", "")}, []string{"a.yaml:6", "b.yaml"}},
		"another scope":     {fstest.MapFS{"a.yaml": policy("deployment", over), "b.yaml": policy("elsewhere", over)}, []string{"b.yaml:5"}},
		"the shipped scope": {fstest.MapFS{"a.yaml": policy("", over)}, []string{"a.yaml"}},
		"the other spelling": {fstest.MapFS{"a.yaml": policy("deployment", over), "b.yaml": {Data: []byte(
			"resource_policy:\n  scope: deployment\n  scope_permissions: " + consent + "\n")}}, []string{"a.yaml:6", "b.yaml:3"}},
		"derived roles have none":    {fstest.MapFS{"a.yaml": policy("deployment", over), "roles.yaml": {Data: []byte("derivedRoles:\n  name: mine\n")}}, nil},
		"a test is not a policy":     {fstest.MapFS{"a.yaml": policy("deployment", over), "a_test.yaml": policy("elsewhere", consent)}, nil},
		"a text is not a policy":     {fstest.MapFS{"README.md": {Data: []byte("# {")}}, nil},
		"something that is not YAML": {fstest.MapFS{"a.yaml": {Data: []byte("a: [")}}, []string{"a.yaml:1"}},
		"two documents in one":       {fstest.MapFS{"a.yaml": policy("deployment", over), "b.yaml": {Data: []byte("derivedRoles: {}\n---\nresourcePolicy: {}\n")}}, []string{"b.yaml:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "policies")
			err := cerbos.LayPolicies(dir, fstest.MapFS{"shipped.yaml": policy("", "")}, c.layer)
			if c.files == nil {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(dir, "shipped", "shipped.yaml")); err != nil {
					t.Error(err)
				}
				for file := range c.layer {
					_, err := os.Stat(filepath.Join(dir, "access", "policies", file))
					if want := file != "a_test.yaml" && file != "README.md"; (err == nil) != want {
						t.Errorf("%s is there: %t, want %t", file, err == nil, want)
					}
				}
				return
			}
			var e *deployment.Error
			if !errors.As(err, &e) || !slices.Equal(e.Files, c.files) {
				t.Errorf("the error is %v, want it to name %v", err, c.files)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was laid all the same")
			}
		})
	}
}
