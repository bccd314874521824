package e2e_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/policies"
)

// ROLES-38 ROLES-39 ROLES-48 ROLES-60: the three steps of the guide, with the files
// that stand there, make Grace a metric steward, who may curate and verify and not
// approve.
func TestAMetricStewardFromNothing(t *testing.T) {
	c := newPolicyMaker(t, "admin", "grace")
	files := yamlBlocks(t, "roles-and-policies.md")
	for _, name := range []string{"policies/book.yaml", "tests/book_test.yaml"} {
		if files[name] == "" {
			t.Fatalf("the guide has no %s", name)
		}
		c.write(name, files[name])
	}
	if out := c.must("admin", "check", c.data); !strings.HasPrefix(out, "ok policy scopes\nok policy tests (8 in Cerbos 0.55.0)\nok describe rules (none)\nok .env\n") {
		t.Errorf("check says\n%s", out)
	}
	if out := c.must("admin", "check", "--matrix", c.data); !strings.Contains(out, "* 2 differences from the shipped policies:\n  metric_steward may curate: book\n  metric_steward may verify: book\n") {
		t.Errorf("the matrix says\n%s", out)
	}
	roles := func() []string {
		t.Helper()
		for line := range strings.Lines(c.must("grace", "whoami")) {
			if roles, found := strings.CutPrefix(line, "roles\t"); found {
				return strings.FieldsFunc(roles, func(r rune) bool { return strings.ContainsRune(", \n", r) })
			}
		}
		t.Fatal("whoami lists no roles")
		return nil
	}
	before := roles()
	if c.decides(policies.Curate, append(before, "metric_steward")...) {
		t.Error("the policy counts before Cerbos was restarted")
	}
	if out, code := c.restartCerbos(); code != 0 || out != "Cerbos was restarted and has read its policies.\n" {
		t.Fatalf("restarting: %d\n%s", code, out)
	}
	c.must("admin", "admin", "roles", "assign", "metric_steward", "--person", "grace@sample.example", "--custom")
	after := roles()
	if strings.Join(before, " ") != "viewer" || strings.Join(after, " ") != "metric_steward viewer" {
		t.Errorf("whoami lists %q, then %q", before, after)
	}
	for a, want := range map[policies.Action]bool{policies.Read: true, policies.Curate: true, policies.Verify: true, policies.Approve: false} {
		if got := c.decides(a, after...); got != want {
			t.Errorf("a steward may %s: %t, want %t", a, got, want)
		}
		if was := c.decides(a, before...); was != (a == policies.Read) {
			t.Errorf("a viewer may %s: %t", a, was)
		}
	}
	if out := c.must("admin", "check", c.data); strings.Contains(out, "restart") {
		t.Errorf("after the restart check says\n%s", out)
	}
}
