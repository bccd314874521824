package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRoles is an admin who gives and takes roles at the command line and on the
// screens, while the people concerned are signed in.
func TestRoles(t *testing.T) {
	d := newDemo(t, newData(t))
	boss := filepath.Join(t.TempDir(), "admin")
	d.login(t, boss, "admin@sample.example")

	// admin runs a command as it would be typed, and returns what it prints.
	admin := func(line string) (out map[string]any, said string, code int) {
		t.Helper()
		c := pbmb(boss, append(strings.Fields(line), "--output", "json")...)
		var stderr strings.Builder
		c.Stderr = &stderr
		raw, _ := c.Output() // the exit code says how it ended
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &out); err != nil {
				t.Fatalf("%s printed %s", line, raw)
			}
		}
		return out, stderr.String(), c.ProcessState.ExitCode()
	}
	must := func(line string) map[string]any {
		t.Helper()
		out, said, code := admin(line)
		if code != 0 {
			t.Fatalf("pbmb %s: %d %s", line, code, said)
		}
		return out
	}
	texts := func(v any) (all []string) {
		for _, one := range v.([]any) {
			all = append(all, one.(string))
		}
		return all
	}
	rows := func(line string) (all []string) {
		t.Helper()
		for _, i := range must(line)["items"].([]any) {
			item := i.(map[string]any)
			text := ""
			for _, name := range []string{"role", "kind", "subject", "provider"} {
				if v, ok := item[name].(string); ok {
					text += v + " "
				}
			}
			all = append(all, strings.TrimSpace(text))
		}
		slices.Sort(all)
		return all
	}
	// signedIn is somebody who came through Microsoft's pages, their groups with them.
	signedIn := func(email string) *jar {
		t.Helper()
		v := d.jar(t)
		_, page, _ := v.ask("GET", "/api/auth/sign-in/microsoft", nil)
		_, back, _ := v.ask("POST", page, url.Values{"person": {email}})
		if _, to, text := v.ask("GET", back, nil); strings.Contains(to, "error") {
			t.Fatalf("signing %s in: %s %s", email, to, text)
		}
		return v
	}
	roles := func(v *jar) []string {
		t.Helper()
		_, _, text := v.ask("GET", "/api/v1/me", nil)
		var me struct{ Roles []string }
		if err := json.Unmarshal([]byte(text), &me); err != nil {
			t.Fatal(err)
		}
		return me.Roles
	}

	// ROLES-22: the demo gives viewer to the company's domain; it is taken away by its id.
	for _, i := range must("admin roles list")["items"].([]any) {
		if item := i.(map[string]any); item["kind"] == "domain" {
			must("admin roles revoke " + item["id"].(string))
		}
	}
	if got := rows("admin roles list"); slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "domain") }) {
		t.Errorf("the list has %q", got)
	}
	ada, grace, steward := signedIn("ada@sample.example"), signedIn("grace@sample.example"), signedIn("steward@sample.example")
	// ROLES-27: whom nothing is assigned to is a viewer.
	for _, v := range []*jar{ada, grace, steward} {
		if got := roles(v); !slices.Equal(got, []string{"viewer"}) {
			t.Fatalf("somebody unassigned has %q", got)
		}
	}

	// ROLES-18, ROLES-34: the exact command.
	out := must("admin roles assign curator --person ada@sample.example")
	if !slices.Equal(texts(out["roles_before"]), []string{"viewer"}) || !slices.Equal(texts(out["roles_after"]), []string{"curator"}) ||
		!strings.Contains(out["effect"].(string), "The default role viewer no longer applies") || !slices.Equal(roles(ada), []string{"curator"}) {
		t.Errorf("assigning: %v; ada has %q", out, roles(ada))
	}
	adas := out["id"].(string)

	// ROLES-35: the exact line that is to be typed, and no warning once it was.
	out = must("admin roles assign pii_reader --person grace@sample.example")
	const line = "pbmb admin roles assign viewer --person grace@sample.example"
	if all := texts(out["warnings"]); len(all) != 1 || !strings.HasSuffix(all[0], line) || !strings.Contains(all[0], "stops applying") {
		t.Errorf("the warnings are %q", all)
	}
	pii := out["id"].(string)
	must(strings.TrimPrefix(line, "pbmb "))
	must("admin roles revoke " + pii)
	if all := texts(must("admin roles assign pii_reader --person grace@sample.example")["warnings"]); len(all) != 0 {
		t.Errorf("with a normal role it warns %q", all)
	}
	if got := roles(grace); !slices.Equal(got, []string{"pii_reader", "viewer"}) {
		t.Errorf("grace has %q", got)
	}

	// ROLES-20, ROLES-21: a group by the id that is in Microsoft's tokens, of which
	// steward is a member and ada is none.
	group := d.groupOf(t, "steward@sample.example", "Controllers")
	must("admin roles assign curator --group " + group + " --provider microsoft")
	if got := roles(steward); !slices.Equal(got, []string{"curator"}) {
		t.Errorf("a member of the group has %q", got)
	}
	if got := roles(grace); slices.Contains(got, "curator") {
		t.Errorf("somebody who is in no such group has %q", got)
	}
	out = must("admin roles assign pii_reader --group " + group)
	if out["provider"] != "microsoft" {
		t.Errorf("without a provider: %v", out)
	}

	// ROLES-23: none, two and three targets.
	for _, targets := range []string{"", " --person a@sample.example --domain sample.example", " --person a@sample.example --domain sample.example --group " + group} {
		_, said, code := admin("admin roles assign viewer" + targets)
		if code == 0 || !strings.Contains(said, "--person") || !strings.Contains(said, "--domain") || !strings.Contains(said, "--group") {
			t.Errorf("with the targets %q: %d %s", targets, code, said)
		}
	}

	// ROLES-26, ROLES-48, ROLES-60: a role that the product does not know.
	if _, said, code := admin("admin roles assign metric_steward --person grace@sample.example"); code == 0 || !strings.Contains(said, "--custom") {
		t.Errorf("an unknown role: %d %s", code, said)
	}
	must("admin roles assign metric_steward --person grace@sample.example --custom")
	home := filepath.Join(t.TempDir(), "grace")
	d.login(t, home, "grace@sample.example")
	who, err := pbmb(home, "whoami").Output()
	if err != nil || !strings.Contains(string(who), "metric_steward, pii_reader, viewer") {
		t.Errorf("whoami: %v %s", err, who)
	}

	// ROLES-19, ROLES-36: a domain, and each source of each role.
	must("admin roles assign viewer --domain sample.example")
	for email, want := range map[string][]string{
		"grace@sample.example": {
			"metric_steward person grace@sample.example", "pii_reader person grace@sample.example", "viewer domain sample.example", "viewer person grace@sample.example"},
		"steward@sample.example": {"curator group " + group + " microsoft", "pii_reader group " + group + " microsoft", "viewer domain sample.example"},
		"ada@sample.example":     {"curator person ada@sample.example", "viewer domain sample.example"},
	} {
		if d := cmp.Diff(want, rows("admin roles list --effective "+email)); d != "" {
			t.Errorf("%s (-want +got):\n%s", email, d)
		}
	}
	if got := roles(ada); !slices.Equal(got, []string{"curator", "viewer"}) {
		t.Errorf("ada has %q", got)
	}

	// ROLES-17: the list, with ids.
	for _, i := range must("admin roles list")["items"].([]any) {
		if item := i.(map[string]any); item["id"] == nil || item["role"] == nil || item["kind"] == nil || (item["kind"] == "group") != (item["provider"] != nil) {
			t.Errorf("an item of the list is %v", item)
		}
	}

	// ROLES-22: it ends with the next request.
	must("admin roles revoke " + adas)
	if got := roles(ada); !slices.Equal(got, []string{"viewer"}) {
		t.Errorf("after it was revoked ada has %q", got)
	}

	// ROLES-30: nobody without an assignment gets in once there is no default.
	joiner := signedIn("joiner@sample.example")
	for _, i := range must("admin roles list")["items"].([]any) {
		if item := i.(map[string]any); item["kind"] == "domain" {
			must("admin roles revoke " + item["id"].(string))
		}
	}
	if got := rows("admin roles list --effective joiner@sample.example"); !slices.Equal(got, []string{"viewer default access.default_role"}) {
		t.Errorf("joiner has %q", got)
	}
	must("admin settings set access.default_role none")
	if status, _, text := joiner.ask("GET", "/api/v1/datasets", nil); status != http.StatusForbidden {
		t.Errorf("without an assignment: %d %s", status, text)
	}
	if status, _, text := grace.ask("GET", "/api/v1/datasets", nil); status != http.StatusOK {
		t.Errorf("with an assignment: %d %s", status, text)
	}
	must("admin settings set access.default_role viewer")

	// ROLES-16: what was assigned by one way stands in the other, and goes by either.
	t.Run("screens", func(t *testing.T) {
		chromium, err := exec.LookPath("chromium")
		if err != nil {
			t.Skip("there is no chromium on the PATH")
		}
		must("admin roles assign viewer --person typed@sample.example")
		var seen struct{ Error string }
		args := []string{chromium, d.URL}
		if shots := os.Getenv(shotsEnv); shots != "" {
			args = append(args, shots)
		}
		node(t, &seen, nil, "roles.mjs", args...)
		if seen.Error != "" {
			t.Fatal(seen.Error)
		}
		got := rows("admin roles list")
		if slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "typed@sample.example") }) ||
			!slices.Contains(got, "curator person pressed@sample.example") || !slices.Contains(got, "metric_steward tenant") {
			t.Errorf("after the screens the list has %q", got)
		}
	})
}

// groupOf is the id of a group that somebody of the sample tenant is in.
func (d *demo) groupOf(t *testing.T, email, name string) string {
	t.Helper()
	token, err := exec.Command(bin, "sample", "token", email, "--for", "graph", "--url", d.SampleURL).Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", d.SampleURL+"/graph/v1.0/me/transitiveMemberOf/microsoft.graph.group", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var page struct {
		Value []struct{ ID, DisplayName string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	for _, g := range page.Value {
		if g.DisplayName == name {
			return g.ID
		}
	}
	t.Fatalf("%s is in no group %s", email, name)
	return ""
}
