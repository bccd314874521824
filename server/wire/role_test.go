package wire_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/server/config"
)

const rolesPath = "/api/v1/admin/roles"

// An outcome is an assignment, given or taken away.
type outcome struct {
	ID       string
	Kind     string
	Subject  string
	Provider string
	Before   []string `json:"roles_before"`
	After    []string `json:"roles_after"`
	Reaches  int
	Effect   string
	Warnings []string
}

func (c caller) assign(body map[string]any) (o outcome) {
	c.d.t.Helper()
	if err := json.Unmarshal([]byte(c.must(http.MethodPost, rolesPath, body).body), &o); err != nil {
		c.d.t.Fatal(err)
	}
	return o
}

func (c caller) revoke(id string) (o outcome) {
	c.d.t.Helper()
	if err := json.Unmarshal([]byte(c.must(http.MethodDelete, rolesPath+"/"+id, nil).body), &o); err != nil {
		c.d.t.Fatal(err)
	}
	return o
}

func (c caller) roles() (roles []string) {
	c.d.t.Helper()
	var me struct{ Roles []string }
	if err := json.Unmarshal([]byte(c.must(http.MethodGet, "/api/v1/me", nil).body), &me); err != nil {
		c.d.t.Fatal(err)
	}
	return me.Roles
}

// ROLES-23, ROLES-24, ROLES-26: what cannot be assigned, and why, before anything
// is written.
func TestWhatCannotBeAssigned(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	before := d.dump("role_assignment")
	for name, c := range map[string]struct {
		body map[string]any
		says []string
	}{
		"nobody":             {map[string]any{"role": "viewer"}, []string{"0 are named", "--person, --domain or --group"}},
		"two":                {map[string]any{"role": "viewer", "person": "a@sample.example", "domain": "sample.example"}, []string{"2 are named", "--person, --domain or --group"}},
		"three":              {map[string]any{"role": "viewer", "person": "a@sample.example", "domain": "sample.example", "group": salesWorkspace}, []string{"3 are named"}},
		"somebody and all":   {map[string]any{"role": "viewer", "person": "a@sample.example", "everybody": true}, []string{"2 are named"}},
		"admin for a domain": {map[string]any{"role": "admin", "domain": "sample.example"}, []string{"admin is given to a person or a group only."}},
		"admin for all":      {map[string]any{"role": "admin", "everybody": true}, []string{"admin is given to a person or a group only."}},
		"pii_reader for a domain": {map[string]any{"role": "pii_reader", "domain": "sample.example", "custom": true},
			[]string{"pii_reader is given to a person or a group only."}},
		"pii_reader for all":   {map[string]any{"role": "pii_reader", "everybody": true}, []string{"pii_reader is given to a person or a group only."}},
		"an unknown role":      {map[string]any{"role": "curators", "person": "a@sample.example"}, []string{`There is no role \"curators\"`, "--custom", `"names":["curator"]`}},
		"one in capitals":      {map[string]any{"role": "Admin", "person": "a@sample.example", "custom": true}, []string{"The role is named admin."}},
		"a pattern":            {map[string]any{"role": "*", "person": "a@sample.example", "custom": true}, []string{"cannot be the name of a role"}},
		"what a link has":      {map[string]any{"role": "csv_link", "person": "a@sample.example", "custom": true}, []string{"cannot be the name of a role"}},
		"no address":           {map[string]any{"role": "viewer", "person": "ada"}, []string{"is not an email address"}},
		"an address with more": {map[string]any{"role": "viewer", "person": "Ada <a@sample.example>"}, []string{"is not an email address"}},
		"no domain":            {map[string]any{"role": "viewer", "domain": "@sample.example"}, []string{"is not an email domain"}},
		"no Microsoft group":   {map[string]any{"role": "viewer", "group": "Sales"}, []string{"is not the id of a Microsoft group", "object id"}},
		"a provider of a person": {map[string]any{"role": "viewer", "person": "a@sample.example", "provider": "acme"},
			[]string{"Only a group has a provider."}},
	} {
		a := boss.do(http.MethodPost, rolesPath, c.body)
		for _, part := range c.says {
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, part) {
				t.Errorf("%s: %d %s lacks %q", name, a.status, a.body, part)
			}
		}
	}
	if after := d.dump("role_assignment"); after != before {
		t.Errorf("something was written: %s", after)
	}
}

// ROLES-21, ROLES-24, ROLES-32: each kind of target, as it is kept, and when it counts.
func TestEveryKindOfTarget(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	group := "0c000000-0000-4000-8000-000000000009"
	d.db.Exec(`update person_identity set group_ids = array[$1]::uuid[], groups_read_at = now() where person_id = (select id from person where email = 'viewer@sample.example')`, group)
	for _, c := range []struct {
		body map[string]any
		want outcome
	}{
		{map[string]any{"role": "curator", "group": strings.ToUpper(group)}, outcome{Kind: "group", Subject: group, Provider: "microsoft", Reaches: 1}},
		{map[string]any{"role": "admin", "group": group, "provider": "microsoft"}, outcome{Kind: "group", Subject: group, Provider: "microsoft", Reaches: 1}},
		{map[string]any{"role": "pii_reader", "group": "Team A", "provider": "acme"}, outcome{Kind: "group", Subject: "Team A", Provider: "acme"}},
		{map[string]any{"role": "curator", "domain": "Sample.Example"}, outcome{Kind: "domain", Subject: "sample.example", Reaches: 2}},
		{map[string]any{"role": "pii_reader", "person": "Viewer@sample.example"}, outcome{Kind: "person", Subject: "viewer@sample.example", Reaches: 1}},
		{map[string]any{"role": "metric_steward", "everybody": true, "custom": true}, outcome{Kind: "tenant", Reaches: 2}},
	} {
		got := boss.assign(c.body)
		if got.Kind != c.want.Kind || got.Subject != c.want.Subject || got.Provider != c.want.Provider || got.Reaches != c.want.Reaches {
			t.Errorf("%v: %+v", c.body, got)
		}
		if again := boss.assign(c.body); again.ID != got.ID {
			t.Errorf("%v twice are two", c.body)
		}
		if role, _ := c.body["role"].(string); c.want.Reaches > 0 && !slices.Contains(viewer.roles(), role) {
			t.Errorf("%v: the viewer has %q", c.body, viewer.roles())
		}
		boss.revoke(got.ID)
		if role, _ := c.body["role"].(string); slices.Contains(viewer.roles(), role) {
			t.Errorf("%v, revoked: the viewer has %q", c.body, viewer.roles())
		}
	}
}

// ROLES-34, ROLES-35: every answer says what became of the person's roles, and of
// the default role.
func TestWhatAnAssignmentAnswers(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	d.db.Exec("delete from role_assignment where role <> 'admin'")
	boss, outsider := d.person(admin), d.person("outsider@sample.example")
	const email = "outsider@sample.example"
	check := func(what string, o outcome, before, after []string, effect string, warns string) {
		t.Helper()
		if !slices.Equal(o.Before, before) || !slices.Equal(o.After, after) || o.Effect != effect {
			t.Errorf("%s: %+v", what, o)
		}
		if all := strings.Join(o.Warnings, "|"); all != warns {
			t.Errorf("%s warns %q, want %q", what, all, warns)
		}
		if got := outsider.get("/api/v1/me"); got.status == http.StatusOK && !slices.Equal(outsider.roles(), after) {
			t.Errorf("%s: the person has %q", what, outsider.roles())
		}
	}
	pii := boss.assign(map[string]any{"role": "pii_reader", "person": email})
	check("pii_reader alone", pii, []string{"viewer"}, []string{"pii_reader"},
		email+" has pii_reader now. The default role viewer no longer applies to them, since a shipped role is given to them.",
		"pii_reader gives nothing but personal data, and "+email+" had no normal role but the default viewer, which stops applying. Assign it: pbmb admin roles assign viewer --person "+email)
	viewer := boss.assign(map[string]any{"role": "viewer", "person": email})
	check("viewer besides", viewer, []string{"pii_reader"}, []string{"pii_reader", "viewer"}, email+" has pii_reader and viewer now.", "")
	check("pii_reader taken away", boss.revoke(pii.ID), []string{"pii_reader", "viewer"}, []string{"viewer"}, email+" has viewer now.", "")
	pii = boss.assign(map[string]any{"role": "pii_reader", "person": email})
	check("pii_reader to a viewer", pii, []string{"viewer"}, []string{"pii_reader", "viewer"}, email+" has pii_reader and viewer now.", "")
	boss.revoke(viewer.ID)
	check("the last one taken away", boss.revoke(pii.ID), []string{"pii_reader"}, []string{"viewer"},
		email+" has viewer now. The default role viewer applies to them from now on, since no shipped role is given to them any more.", "")
	boss.must(http.MethodPut, "/api/v1/admin/settings/access.default_role", map[string]any{"value": "none"})
	if a := outsider.get("/api/v1/datasets"); a.status != http.StatusForbidden {
		t.Errorf("without a default: %d %s", a.status, a.body)
	}
	curator := boss.assign(map[string]any{"role": "curator", "person": email})
	check("without a default", curator, []string{}, []string{"curator"}, email+" has curator now.", "")
	check("without a default, taken away", boss.revoke(curator.ID), []string{"curator"}, []string{}, email+" has no role now.", "No role reaches them any more: they cannot get in.")
	boss.must(http.MethodPut, "/api/v1/admin/settings/access.default_role", map[string]any{"value": "viewer"})

	// Somebody who has never come.
	waits := boss.assign(map[string]any{"role": "pii_reader", "person": "nobody@sample.example"})
	if !slices.Equal(waits.After, []string{"pii_reader"}) || waits.Reaches != 0 || len(waits.Warnings) != 1 ||
		!strings.HasSuffix(waits.Warnings[0], "pbmb admin roles assign viewer --person nobody@sample.example") ||
		!strings.HasPrefix(waits.Effect, "Nobody has signed in as nobody@sample.example yet") {
		t.Errorf("somebody who has never come: %+v", waits)
	}
	// Many at once.
	if many := boss.assign(map[string]any{"role": "curator", "domain": "sample.example"}); many.Reaches != 2 ||
		many.Effect != "2 people have curator now. The default role viewer no longer applies to 1 of them." {
		t.Errorf("a domain: %+v", many)
	}
	// The second admin is the last but one.
	second := boss.assign(map[string]any{"role": "admin", "person": email})
	if gone := boss.revoke(second.ID); len(gone.Warnings) != 1 || !strings.HasPrefix(gone.Warnings[0], "One person alone is an admin") {
		t.Errorf("the last admin but one: %+v", gone)
	}
}

// ROLES-36: the effective roles of a person with the sources of each.
func TestEffectiveRolesHaveSources(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	d.db.Exec("delete from role_assignment where role <> 'admin'")
	boss := d.person(admin)
	d.person("outsider@sample.example")
	list := func(email string) (rows []string, note string) {
		t.Helper()
		var page struct {
			Items []outcomeRole
			Note  string
		}
		if err := json.Unmarshal([]byte(boss.must(http.MethodGet, rolesPath+"?effective="+email, nil).body), &page); err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			rows = append(rows, strings.TrimSpace(i.Role+" "+i.Kind+" "+i.Subject))
			if (i.ID == "") != (i.Kind == "default") {
				t.Errorf("%+v", i)
			}
		}
		return rows, page.Note
	}
	boss.assign(map[string]any{"role": "metric_steward", "domain": "sample.example", "custom": true})
	if rows, note := list("outsider@sample.example"); !slices.Equal(rows, []string{"metric_steward domain sample.example", "viewer default access.default_role"}) || note != "" {
		t.Errorf("%q %q", rows, note)
	}
	boss.assign(map[string]any{"role": "curator", "person": "outsider@sample.example"})
	if rows, note := list("Outsider@sample.example"); !slices.Equal(rows, []string{"curator person outsider@sample.example", "metric_steward domain sample.example"}) || note != "" {
		t.Errorf("%q %q", rows, note)
	}
	if rows, note := list("nobody@sample.example"); len(rows) != 0 || note != "Nobody has signed in with this address, and no role is assigned to it." {
		t.Errorf("%q %q", rows, note)
	}
	boss.assign(map[string]any{"role": "curator", "person": "nobody@sample.example"})
	if rows, note := list("nobody@sample.example"); !slices.Equal(rows, []string{"curator person nobody@sample.example"}) || !strings.HasPrefix(note, "Nobody has signed in with this address yet.") {
		t.Errorf("%q %q", rows, note)
	}
	if a := boss.get(rolesPath + "?effective=outsider"); a.status != http.StatusBadRequest {
		t.Errorf("no address: %d %s", a.status, a.body)
	}
}

type outcomeRole struct{ ID, Role, Kind, Subject string }

const steward = `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: admin
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
    - actions: [read_audit]
      effect: EFFECT_ALLOW
      roles: [metric_steward]
`

// ROLES-49, ROLES-26: a role that no policy names is assigned with a warning, the
// nearest names in it; one that a policy names opens what it says from the next
// request on.
func TestACustomRoleIsLookedUp(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "admin.yaml"), []byte(steward), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDeployment(t, options{
		policies: []fs.FS{fstest.MapFS{"admin.yaml": &fstest.MapFile{Data: []byte(steward)}}},
		change:   func(c *config.Config) { c.PoliciesFolder = folder },
	})
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	assign := func(role string) outcome {
		t.Helper()
		return boss.assign(map[string]any{"role": role, "person": "viewer@sample.example", "custom": true})
	}
	if o := assign("metric_stewart"); len(o.Warnings) != 1 || o.Warnings[0] != "No policy of the deployment names metric_stewart, so it opens nothing. Did you mean metric_steward?" {
		t.Errorf("one letter off: %+v", o)
	}
	if a := viewer.get("/api/v1/admin/audit"); a.status != http.StatusForbidden {
		t.Errorf("by a role that no policy names: %d %s", a.status, a.body)
	}
	o := assign("metric_steward")
	if len(o.Warnings) != 0 || !slices.Equal(o.After, []string{"metric_steward", "metric_stewart", "viewer"}) {
		t.Errorf("as it is named: %+v", o)
	}
	if a := viewer.get("/api/v1/admin/audit"); a.status != http.StatusOK {
		t.Errorf("by the role: %d %s", a.status, a.body)
	}
	boss.revoke(o.ID)
	if a := viewer.get("/api/v1/admin/audit"); a.status != http.StatusForbidden {
		t.Errorf("after it was revoked: %d %s", a.status, a.body)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken.yaml"), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := assign("metric_steward"); len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "cannot be read") {
		t.Errorf("with a broken policy: %+v", o)
	}
}

// AUTHZ-11, AUTHZ-12, AUTHZ-13: read_status alone, lent to viewers, opens the status
// and nothing else, and in it nothing but states, times, names of secrets and
// counts; whoever manages settings too sees the whole.
func TestALentStatus(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{policies: []fs.FS{fstest.MapFS{"admin.yaml": &fstest.MapFile{Data: []byte(strings.NewReplacer(
		"read_audit", "read_status", "metric_steward", "viewer").Replace(steward))}}}})
	d.mirror()
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	account := boss.account(nil)
	_, key := boss.key(account)
	d.db.Exec("insert into sync_run (kind, state, ended_at, error) values ('incremental', 'failed', now(), 'marked incremental'), ('full', 'failed', now(), 'marked full at viewer@sample.example')")
	d.db.Exec("update secret_ciphertext set expires_at = now() + interval '3 days', set_by = 'marked setter'")
	d.db.Exec("insert into powerbi_connection (person_id, state, object_id, account) select id, 'needs_reconnect', gen_random_uuid(), 'marked account' from person limit 1")
	marks := []string{"marked", "@sample.example", `"id"`, "warnings", "message", "deployment", "version"}
	for _, row := range []string{"select id::text from person", "select id::text from service_account", "select object_id::text from person_identity", "select tenant_id::text from deployment_tenant"} {
		var id string
		d.db.QueryRow(row+" limit 1", nil, &id)
		marks = append(marks, id)
	}
	whole := boss.must(http.MethodGet, "/api/v1/admin/status", nil)
	for _, part := range []string{`"deployment":"test"`, `"version":`, "marked incremental", "marked full", "The last full sync failed", "One person has to make", "One person alone is an admin", `"expiry":"urgent"`} {
		if !strings.Contains(whole.body, part) {
			t.Errorf("the whole lacks %q: %s", part, whole.body)
		}
	}
	for who, lent := range map[string]answer{
		"a viewer": viewer.must(http.MethodGet, "/api/v1/admin/status", nil), "a service account": d.bearer(key).must(http.MethodGet, "/api/v1/admin/status", nil),
	} {
		for _, mark := range marks {
			if strings.Contains(lent.body, mark) {
				t.Errorf("%s is told %q: %s", who, mark, lent.body)
			}
		}
		if shape := shapeOf(t, lent.body); shape != lentShape {
			t.Errorf("%s is told\n%s, want\n%s", who, shape, lentShape)
		}
	}
	for _, def := range adminOperations() {
		if def.Name == "get_status" {
			continue
		}
		if a := viewer.ask(def, soundRequests[def.Name](boss)); a.status != http.StatusForbidden {
			t.Errorf("%s by read_status: %d %s", def.Name, a.status, a.body)
		}
	}
}

// lentShape is the closed schema of a reduced status: nothing else may be in it.
const lentShape = `connections_to_remake
failing_checks[]
full_sync.ended_at
full_sync.started_at
full_sync.state
incremental_sync.ended_at
incremental_sync.started_at
incremental_sync.state
secrets[].expires_at
secrets[].expiry
secrets[].name`

// shapeOf lists where a JSON object has values.
func shapeOf(t *testing.T, text string) string {
	t.Helper()
	var object any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	at := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(strings.TrimPrefix(path+"."+name, "."), inner)
			}
		case []any:
			for _, inner := range v {
				walk(path+"[]", inner)
			}
		default:
			at[path] = true
		}
	}
	walk("", object)
	return strings.Join(slices.Sorted(maps.Keys(at)), "\n")
}
