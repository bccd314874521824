package e2e_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos"
)

// A policyMaker has a demo, and writes its policies.
type policyMaker struct {
	*demo
	t     *testing.T
	data  string
	homes string // of whoever signs in
}

func newPolicyMaker(t *testing.T, people ...string) *policyMaker {
	t.Helper()
	c := &policyMaker{t: t, data: newData(t), homes: t.TempDir()}
	c.demo = newDemo(t, c.data)
	for _, name := range people {
		c.login(t, filepath.Join(c.homes, name), name+"@sample.example")
	}
	return c
}

// run is what a command printed as somebody, and its exit code.
func (c *policyMaker) run(as string, args ...string) (out string, code int) {
	c.t.Helper()
	command := pbmb(filepath.Join(c.homes, as), args...)
	command.Dir = "../.." // where scripts/cerbos is
	// A Docker that could be on this machine would fetch an image.
	command.Env = append(command.Env, "PATH="+c.t.TempDir())
	text, err := command.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text), 0
}

func (c *policyMaker) must(as string, args ...string) string {
	c.t.Helper()
	out, code := c.run(as, args...)
	if code != 0 {
		c.t.Fatalf("pbmb %s as %s ended with %d\n%s", strings.Join(args, " "), as, code, out)
	}
	return out
}

func (c *policyMaker) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.data, "access", name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *policyMaker) restartCerbos() (out string, code int) {
	c.t.Helper()
	return c.run("nobody", "demo", "restart", "cerbos", "--data", c.data)
}

// pending reports whether the status says that Cerbos has to be restarted.
func (c *policyMaker) pending() bool {
	c.t.Helper()
	var status struct {
		Pending  bool `json:"policies_pending"`
		Warnings []string
	}
	if err := json.Unmarshal([]byte(c.must("admin", "admin", "status", "-o", "json")), &status); err != nil {
		c.t.Fatal(err)
	}
	if said := strings.Contains(strings.Join(status.Warnings, " "), "restart Cerbos"); said != status.Pending {
		c.t.Errorf("the status says %t and warns %q", status.Pending, status.Warnings)
	}
	return status.Pending
}

// ROLES-01 ROLES-02 ROLES-47 ROLES-50 ROLES-56 ROLES-81: with empty folders the
// shipped roles have their rights; a policy that is dropped in changes them with
// the next start of Cerbos alone, and one that does not compile changes nothing.
// AUTHZ-01: the first request after it follows the new policies.
func TestPoliciesOfADeployment(t *testing.T) {
	c := newPolicyMaker(t, "viewer", "admin")
	sales := func() bool { return strings.Contains(c.must("viewer", "datasets", "list"), "Sales") }
	check := func() string {
		t.Helper()
		return c.must("admin", "check", c.data)
	}
	if !sales() {
		t.Fatal("under the shipped policies a viewer does not see Sales")
	}
	if _, code := c.run("viewer", "admin", "status"); code != 1 {
		t.Errorf("under the shipped policies a viewer reads the status: %d", code)
	}
	const bare = "ok policy scopes\nok policy tests (none: the shipped policies decide alone)\nok describe rules (none)\nok .env\n"
	if out := check(); out != bare || c.pending() {
		t.Errorf("before any policy, pending is %t and check says\n%s", c.pending(), out)
	}

	var dataset struct{ ID string }
	if err := json.Unmarshal([]byte(c.must("viewer", "datasets", "show", "Sales", "-o", "json")), &dataset); err != nil || dataset.ID == "" {
		t.Fatalf("the id of Sales: %v", err)
	}
	policy := `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
    - actions: ["*"]
      effect: EFFECT_DENY
      roles: ["*"]
      condition: {match: {expr: R.id == "` + dataset.ID + `"}}
`
	c.write("policies/dataset.yaml", policy)
	c.write("tests/dataset_test.yaml", `name: a closed dataset
options: {lenientScopeSearch: true}
principals:
  member: {id: "person:m", roles: [viewer], attr: {kind: person, metadata_visibility: powerbi, powerbi_workspace_ids: [w], powerbi_app_ids: [], powerbi_dataset_ids: []}}
resources:
  closed: {kind: dataset, id: `+dataset.ID+`, scope: deployment, attr: {workspace_id: w, app_ids: []}}
  other: {kind: dataset, id: other, scope: deployment, attr: {workspace_id: w, app_ids: []}}
tests:
  - name: for a member
    input: {principals: [member], resources: [closed, other], actions: [describe, query]}
    expected:
      - {principal: member, resource: other, actions: {describe: EFFECT_ALLOW, query: EFFECT_ALLOW}}
`)
	if !sales() || !c.pending() {
		t.Errorf("before the restart: Sales is seen: %t, the status knows: %t", sales(), c.pending())
	}
	if out := check(); !strings.Contains(out, "ok policy tests (4 in Cerbos") || !strings.Contains(out, "ok describe rules (1 translates to SQL)\n") ||
		!strings.Contains(out, "restart Cerbos: the deployment runs with older policies") {
		t.Errorf("before the restart check says\n%s", out)
	}
	if out, code := c.restartCerbos(); code != 0 {
		t.Fatalf("restarting: %d\n%s", code, out)
	}
	if sales() || c.pending() {
		t.Errorf("after the restart: Sales is seen: %t, the status knows: %t", sales(), c.pending())
	}
	if out := check(); strings.Contains(out, "restart") {
		t.Errorf("after the restart check says\n%s", out)
	}

	c.write("policies/dataset.yaml", strings.Replace(policy, "roles:", "rolez:", 1))
	out, code := c.restartCerbos()
	if code != 1 || !strings.Contains(out, "access/policies/dataset.yaml:10") || !strings.Contains(out, "decides by the policies that it had") {
		t.Errorf("a policy that does not compile: %d\n%s", code, out)
	}
	c.write("policies/dataset.yaml", strings.Replace(policy, "scope: deployment", "scope: elsewhere", 1))
	if out, code := c.restartCerbos(); code != 1 || !strings.Contains(out, "dataset.yaml:5: the scope is not deployment") {
		t.Errorf("a policy at another scope: %d\n%s", code, out)
	}
	if sales() || !c.pending() {
		t.Errorf("with policies that cannot be used: Sales is seen: %t, the status knows: %t", sales(), c.pending())
	}
	if err := os.Remove(filepath.Join(c.data, "access/policies/dataset.yaml")); err != nil {
		t.Fatal(err)
	}
	if !c.pending() {
		t.Error("the status does not know of a policy that went")
	}
	if out, code := c.restartCerbos(); code != 0 || !sales() || c.pending() {
		t.Errorf("without the policy: %d, Sales is seen: %t\n%s", code, sales(), out)
	}
}

// yamlBlocks are the files of the guide: the block after each line that names one.
func yamlBlocks(t *testing.T, guide string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../docs/guide", guide))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)This is `access/([a-z_/.]+)`[^\n]*\n\n```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		files[m[1]] = m[2]
	}
	return files
}

// decides asks the demo's Cerbos itself.
func (c *policyMaker) decides(a policies.Action, roles ...string) bool {
	c.t.Helper()
	env, err := os.ReadFile(filepath.Join(c.data, ".env"))
	if err != nil {
		c.t.Fatal(err)
	}
	address := regexp.MustCompile(`(?m)^CERBOS_ADDRESS='(.*)'$`).FindSubmatch(env)
	if address == nil {
		c.t.Fatal(".env has no address of Cerbos")
	}
	decider, err := cerbos.New(string(address[1]))
	if err != nil {
		c.t.Fatal(err)
	}
	defer decider.Close()
	allowed, err := decider.Allowed(c.t.Context(), &policies.Principal{Kind: policies.Person, ID: "grace", Roles: roles}, a, policies.Book)
	if err != nil {
		c.t.Fatal(err)
	}
	return allowed
}
