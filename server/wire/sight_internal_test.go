package wire

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

// datasetPolicy is a deployment's policy of one rule or several.
func datasetPolicy(rules string) fs.FS {
	return fstest.MapFS{"dataset.yaml": {Data: []byte(`apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
` + rules)}}
}

const openToAll = `    - actions: ["*"]
      effect: EFFECT_ALLOW
      roles: ["*"]
`

// bearer is a caller by an API key.
func (d *deployment) bearer(key string) *browser { return &browser{deployment: d, key: key} }

// account makes a service account with a role and no workspace, and returns its caller.
func (d *deployment) account(role string) *browser {
	d.Helper()
	admin := d.signIn("admin@sample.example")
	id := admin.send(http.MethodPost, "/api/v1/admin/service-accounts", fmt.Sprintf(`{"name":"a %s","roles":[%q]}`, role, role), nil).field("id")
	key := admin.send(http.MethodPost, "/api/v1/admin/service-accounts/"+id+"/keys", `{}`, nil).field("key")
	if key == "" {
		d.Fatal("no key was made")
	}
	return d.bearer(key)
}

// give gives a person a role.
func (d *deployment) give(email, role string) {
	d.Helper()
	admin := d.signIn("admin@sample.example")
	if a := admin.send(http.MethodPost, "/api/v1/admin/roles", fmt.Sprintf(`{"role":%q,"person":%q}`, role, email), nil); a.status != http.StatusOK {
		d.Fatalf("giving %s to %s: %d %s", role, email, a.status, a.body)
	}
}

// setting changes a setting.
func (d *deployment) setting(key, value string) {
	d.Helper()
	if a := d.signIn("admin@sample.example").send(http.MethodPut, "/api/v1/admin/settings/"+key, fmt.Sprintf(`{"value":%q}`, value), nil); a.status != http.StatusOK {
		d.Fatalf("setting %s: %d %s", key, a.status, a.body)
	}
}

func named(t *testing.T, name string) *operation.Def {
	t.Helper()
	for _, op := range catalogue.All(catalogue.Stores{}) {
		if op.Name == name {
			return op
		}
	}
	t.Fatalf("there is no operation %s", name)
	return nil
}

// ids are the datasets that a caller lists.
func (b *browser) ids() []string {
	b.Helper()
	a := b.send(http.MethodGet, "/api/v1/datasets?limit=200", "", nil)
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != http.StatusOK {
		b.Fatalf("listing datasets: %d %s", a.status, a.body)
	}
	all := []string{}
	for _, i := range page.Items {
		all = append(all, i.ID)
	}
	slices.Sort(all)
	return all
}

// takesElement reports whether an operation takes a dataset or something in one.
func takesElement(op *operation.Def) bool {
	// The rules on personal data are of names in every dataset, and an admin's alone.
	return op.Kind != policies.KindAdmin && slices.ContainsFunc([]string{"dataset", "table", "column", "measure"}, func(name string) bool {
		return op.Input.Properties[name] != nil
	})
}

var (
	requestID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Z2-7]{20,}|[0-9a-f]{32}`)
	never     = []string{"Date", "X-Request-Id"}
)

// seen is all of an answer that tells two apart: status, headers and body, without
// what is new in every answer and with the names that were asked for masked.
func seen(a answer, asked ...string) string {
	header := maps.Clone(map[string][]string(a.header))
	for _, name := range never {
		delete(header, name)
	}
	body := a.body
	if id := a.header.Get("X-Request-Id"); id != "" {
		body = strings.ReplaceAll(body, id, "<request>")
	}
	for _, name := range asked {
		body = strings.ReplaceAll(body, name, "<asked>")
	}
	raw, _ := json.Marshal(header) // of texts
	return fmt.Sprintf("%d %s %s", a.status, raw, body)
}

const nowhere = "5a3b1c00-7e57-4000-8000-00000000ffff"

// VIS-06: a dataset that the caller may not describe, and what is in it,
// answers byte for byte as one that does not exist, wherever one can be named.
func TestHiddenAnswersAsMissing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	outsider, curator := d.signIn("outsider@sample.example"), d.signIn("curator@sample.example")
	if n := len(outsider.ids()); n != 0 {
		t.Fatalf("the outsider sees %d datasets", n)
	}
	var all []string
	d.db.QueryRow(`select array_agg(id::text order by name) from powerbi_dataset where removed_at is null`, nil, &all)
	seenByCurator := curator.ids()
	elsewhere := slices.IndexFunc(all, func(id string) bool { return !slices.Contains(seenByCurator, id) })
	if elsewhere < 0 || len(seenByCurator) == 0 {
		t.Fatal("the curator sees everything or nothing")
	}
	hidden := map[string]string{"outsider": d.tenant.DatasetID("Sales"), "curator": all[elsewhere], "service account": d.tenant.DatasetID("Sales")}
	callers := map[string]*browser{"outsider": outsider, "curator": curator, "service account": d.account("curator")}
	compared := 0
	for who, caller := range callers {
		access := ""
		if caller.key == "" {
			access = caller.letIn().access
		}
		for _, op := range catalogue.All(catalogue.Stores{}) {
			if !takesElement(op) && op.Input.Properties["dataset"] == nil {
				continue
			}
			for _, name := range [][2]string{{hidden[who], nowhere}, {"https://app.powerbi.com/groups/me/datasets/" + hidden[who], "https://app.powerbi.com/groups/me/datasets/" + nowhere}} {
				there, missing := inputs(op, name[0]), inputs(op, name[1])
				for i := range there {
					compared++
					if op.Surfaces&(operation.API|operation.Browser) != 0 {
						h, m := seen(caller.operation(op, escaped(op, there[i])), name[0]), seen(caller.operation(op, escaped(op, missing[i])), name[1])
						if h != m || strings.Contains(h, hidden[who]) {
							t.Errorf("%s, %s %v:\nhidden  %s\nmissing %s", who, op.Name, there[i], h, m)
						}
					}
					if op.Surfaces&operation.Connector != 0 && access != "" {
						call := func(in map[string]any) answer {
							return caller.rpc(access, "tools/call", map[string]any{"name": op.Name, "arguments": in})
						}
						if h, m := masked(seen(call(there[i]), name[0])), masked(seen(call(missing[i]), name[1])); h != m {
							t.Errorf("%s, the tool %s %v:\nhidden  %s\nmissing %s", who, op.Name, there[i], h, m)
						}
					}
				}
			}
		}
	}
	if compared < 3*2*7 {
		t.Errorf("only %d were compared", compared)
	}

	// By name too; and within a dataset that is seen, what is personal data.
	for _, op := range catalogue.All(catalogue.Stores{}) {
		if op.Input.Properties["dataset"] == nil || op.Surfaces&operation.API == 0 {
			continue
		}
		for i := range inputs(op, "Sales") {
			h, m := seen(outsider.operation(op, inputs(op, "Sales")[i]), "Sales"), seen(outsider.operation(op, inputs(op, "Xales")[i]), "Xales", "Sales")
			if h != m {
				t.Errorf("%s by name:\nhidden  %s\nmissing %s", op.Name, h, m)
			}
		}
	}
	d.signIn("admin@sample.example").send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[Email]"}`, nil)
	write := func(column string) answer {
		return curator.operation(named(t, "write_description"), map[string]any{"dataset": "Sales", "table": "Customer", "column": column, "description": "x"})
	}
	if h, m := seen(write("Email"), "Email"), seen(write("Emaix"), "Emaix"); h != m || !strings.HasPrefix(h, "404") {
		t.Errorf("personal data:\nhidden  %s\nmissing %s", h, m)
	}
	var written int
	if d.db.QueryRow(`select count(*) from own_text`, nil, &written); written != 0 {
		t.Errorf("%d descriptions were written", written)
	}
}

// escaped makes an address of Power BI fit for a path.
func escaped(op *operation.Def, in map[string]any) map[string]any {
	out := maps.Clone(in)
	for _, name := range op.PathParams {
		if text, ok := in[name].(string); ok {
			out[name] = strings.NewReplacer("/", "%2F", ":", "%3A").Replace(text)
		}
	}
	return out
}

// masked takes what is new in every answer of the connector out of one.
func masked(text string) string { return requestID.ReplaceAllString(text, "<new>") }

// BOOK-03, VIS-23: a dataset that is off is missing for everybody, in every
// operation, under a policy that opens everything as without one, until it is on.
func TestADatasetThatIsOffIsGone(t *testing.T) {
	t.Parallel()
	for name, layers := range map[string][]fs.FS{"as shipped": nil, "open to all": {datasetPolicy(openToAll)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, layers...)
			sales := d.tenant.DatasetID("Sales")
			admin, viewer := d.signIn("admin@sample.example"), d.signIn("viewer@sample.example")
			d.give("viewer@sample.example", "pii_reader")
			access := viewer.letIn().access
			lists := func(b *browser) map[string]string {
				found := map[string]string{}
				for _, path := range []string{
					"/datasets?limit=200", "/search?query=net+sales&limit=50", "/measures?words=net+sales&limit=200", "/columns?words=customer&limit=200",
				} {
					found[path] = b.send(http.MethodGet, "/api/v1"+path, "", nil).body
				}
				if b == viewer {
					found["the tool"] = b.rpc(access, "tools/call", map[string]any{"name": "search", "arguments": map[string]any{"query": "net sales"}}).body
				}
				return found
			}
			before := viewer.ids()
			if !slices.Contains(before, sales) {
				t.Fatal("the viewer does not see Sales")
			}
			for path, body := range lists(viewer) {
				if !strings.Contains(body, sales) {
					t.Fatalf("%s does not have Sales while it is on: %s", path, body)
				}
			}
			piiBefore := admin.send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[City]"}`, nil).body
			off := admin.send(http.MethodPost, "/api/v1/admin/datasets/sales/off", `{}`, nil)
			if off.status != http.StatusOK || off.field("id") != sales || off.field("changed_by") != "admin@sample.example" || off.field("via") != "browser" {
				t.Fatalf("switching it off: %d %s", off.status, off.body)
			}
			for _, b := range []*browser{admin, viewer} {
				for path, body := range lists(b) {
					if strings.Contains(body, sales) {
						t.Errorf("%s still has Sales: %s", path, body)
					}
				}
				for _, op := range catalogue.All(catalogue.Stores{}) {
					if !takesElement(op) || strings.HasPrefix(op.Name, "switch_dataset_") {
						continue
					}
					there, missing := inputs(op, sales), inputs(op, nowhere)
					for i := range there {
						if h, m := seen(b.operation(op, there[i]), sales), seen(b.operation(op, missing[i]), nowhere); h != m {
							t.Errorf("%s:\noff     %s\nmissing %s", op.Name, h, m)
						}
					}
				}
			}
			if after := viewer.ids(); len(after) != len(before)-1 {
				t.Errorf("%d datasets, before %d", len(after), len(before))
			}
			// PII-56: rules hold in it all the same, and are counted.
			if after := admin.send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[City]"}`, nil).body; counted(piiBefore) == 0 || counted(after) != counted(piiBefore) {
				t.Errorf("what a rule matches counts %d datasets, before %d", counted(after), counted(piiBefore))
			}
			if list := admin.send(http.MethodGet, "/api/v1/admin/datasets?off=true", "", nil).body; !strings.Contains(list, sales) {
				t.Errorf("the admin list lacks it: %s", list)
			}
			// Twice is once.
			if again := admin.send(http.MethodPost, "/api/v1/admin/datasets/"+sales+"/off", `{}`, nil); again.body != off.body {
				t.Errorf("again: %s, before %s", again.body, off.body)
			}
			on := admin.send(http.MethodPost, "/api/v1/admin/datasets/"+sales+"/on", `{}`, nil)
			if on.status != http.StatusOK || !strings.Contains(on.body, `"version":2`) || !slices.Equal(viewer.ids(), before) {
				t.Errorf("switching it on: %d %s, and the viewer sees %v", on.status, on.body, viewer.ids())
			}
			var audited []string
			d.db.QueryRow(`select array_agg(action || ' ' || element || ' ' || principal_name || ' ' || (detail->>'version') order by id) from audit_event where action like 'switch_dataset%' and outcome = 'allow'`, nil, &audited)
			if want := []string{"switch_dataset_off " + sales + " admin@sample.example 1", "switch_dataset_on " + sales + " admin@sample.example 2"}; !slices.Equal(audited, want) {
				t.Errorf("audited %q", audited)
			}
		})
	}
}

func counted(body string) int {
	var out struct{ Datasets int }
	_ = json.Unmarshal([]byte(body), &out) // what is no JSON counts nothing
	return out.Datasets
}

// VIS-24: the admin list names and counts what its reader cannot see otherwise, in a
// closed schema, and opens none of it.
func TestTheAdminListOpensNothing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	sales := d.tenant.DatasetID("Sales")
	d.give("outsider@sample.example", "admin")
	b := d.signIn("outsider@sample.example")
	a := b.send(http.MethodGet, "/api/v1/admin/datasets?words=sales&limit=200", "", nil)
	var page struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	i := slices.IndexFunc(page.Items, func(item map[string]any) bool { return item["id"] == sales })
	if i < 0 {
		t.Fatalf("Sales is not listed: %s", a.body)
	}
	for _, item := range page.Items {
		if got, want := slices.Sorted(maps.Keys(item)), []string{"columns", "id", "measures", "name", "off", "tables"}; !slices.Equal(got, want) {
			t.Errorf("the list tells %v, want %v", got, want)
		}
	}
	var columns int
	d.db.QueryRow(`select count(*) from powerbi_column where dataset_id = $1 and removed_at is null`, []any{sales}, &columns)
	if page.Items[i]["name"] != "Sales" || page.Items[i]["columns"] != float64(columns) {
		t.Errorf("it says %v of Sales", page.Items[i])
	}
	for _, op := range catalogue.All(catalogue.Stores{}) {
		if op.Input.Properties["dataset"] == nil || strings.HasPrefix(op.Name, "switch_dataset_") {
			continue
		}
		for i := range inputs(op, sales) {
			in, out := inputs(op, sales)[i], inputs(op, nowhere)[i]
			h, m := b.operation(op, in), b.operation(op, out)
			if named := in["dataset"] != nil; seen(h, sales) != seen(m, nowhere) || named && h.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", op.Name, h.status, h.body)
			}
		}
	}
	for _, who := range []string{"viewer@sample.example", "curator@sample.example"} {
		if a := d.signIn(who).send(http.MethodGet, "/api/v1/admin/datasets", "", nil); a.status != http.StatusForbidden || strings.Contains(a.body, sales) {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
	}
}

// VIS-05: what is listed decides nothing about data.
func TestListsOpenNoData(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.setting("access.metadata_visibility", "everyone")
	d.give("outsider@sample.example", "admin")
	ask := func(who string) (described, queried answer) {
		b := d.signIn(who)
		return b.send(http.MethodGet, "/api/v1/datasets/Sales", "", nil), b.send(http.MethodPost, "/api/v1/queries", `{"dataset":"Sales","dax":"EVALUATE ROW ( \"net\", [Net sales] )"}`, nil)
	}
	refused := func(who string) {
		t.Helper()
		described, queried := ask(who)
		if described.status != http.StatusOK || queried.status != http.StatusForbidden || !strings.Contains(queried.body, "Power BI does not let this account query the dataset.") {
			t.Errorf("%s describes it: %d, and queries it: %d %s", who, described.status, queried.status, queried.body)
		}
	}
	refused("outsider@sample.example")
	if _, queried := ask("viewer@sample.example"); queried.status != http.StatusOK {
		t.Fatalf("the viewer queries it: %d %s", queried.status, queried.body)
	}
	d.setting("access.metadata_visibility", "powerbi")
	// Taken out in Power BI, with no sync since.
	tenant := strings.TrimSuffix(d.cfg.Authority, sample.LoginPath)
	changed, err := (&http.Client{Transport: fetchtest.Transport}).Post(tenant+sample.ControlPath+"groups/remove", "application/json", strings.NewReader(`{"group":"Sales readers","person":"viewer@sample.example"}`))
	if err != nil || changed.Body.Close() != nil || changed.StatusCode != http.StatusNoContent {
		t.Fatalf("taking the viewer out of the group: %v %v", changed, err)
	}
	refused("viewer@sample.example")
}

// ROLES-73, BOOK-04: a rule on queries has the book's own fields at hand, as they
// are at this moment.
func TestACustomFieldDecidesQueries(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, datasetPolicy(`    - actions: [query]
      effect: EFFECT_DENY
      roles: ["*"]
      condition:
        match:
          expr: '!("department" in R.attr.custom) || R.attr.custom.department != "retail"'
`))
	curator, viewer := d.signIn("curator@sample.example"), d.signIn("viewer@sample.example")
	version := 0
	write := func(custom string) {
		t.Helper()
		a := curator.send(http.MethodPut, "/api/v1/datasets/Sales/description", fmt.Sprintf(`{"description":"ours","version":%d,"custom":[%q]}`, version, custom), nil)
		if version++; a.status != http.StatusOK || !strings.Contains(a.body, fmt.Sprintf(`"own_version":%d`, version)) {
			t.Fatalf("writing: %d %s", a.status, a.body)
		}
	}
	want := func(status int) {
		t.Helper()
		a := viewer.send(http.MethodPost, "/api/v1/queries", `{"dataset":"Sales","dax":"EVALUATE ROW ( \"net\", [Net sales] )"}`, nil)
		if a.status != status {
			t.Errorf("the query answers %d %s, want %d", a.status, a.body, status)
		}
	}
	want(http.StatusForbidden)
	write("department=retail")
	want(http.StatusOK)
	write("department=legal")
	want(http.StatusForbidden)
	write("department=retail")
	write("department=")
	want(http.StatusForbidden)
}

// ROLES-88, PII-63: the rule of the layering example that tries to widen who reads
// personal data opens nothing.
func TestNoPolicyWidensReadingOfPersonalData(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, os.DirFS("../../policies/layering_tests/override/policies"))
	admin := d.signIn("admin@sample.example")
	if a := admin.send(http.MethodPost, "/api/v1/admin/pii/mark", `{"reference":"Customer[Customer]"}`, nil); a.status != http.StatusOK {
		t.Fatalf("marking: %d %s", a.status, a.body)
	}
	d.give("curator@sample.example", "pii_reader")
	account := d.account("viewer")
	sales := d.tenant.DatasetID("Sales")
	var certified bool
	if d.db.QueryRow(`select endorsement = 'Certified' from powerbi_dataset where id = $1`, []any{sales}, &certified); !certified {
		t.Fatal("Sales is not certified")
	}
	for who, c := range map[string]struct {
		*browser
		reads bool
		query int
	}{
		"viewer":          {d.signIn("viewer@sample.example"), false, http.StatusForbidden},
		"admin":           {admin, false, http.StatusForbidden},
		"service account": {account, false, http.StatusNotFound},
		"pii_reader":      {d.signIn("curator@sample.example"), true, http.StatusOK},
	} {
		columns := c.send(http.MethodGet, "/api/v1/columns?dataset="+sales+"&table=Customer", "", nil)
		if got := strings.Contains(columns.body, `"name":"Customer"`); got != c.reads {
			t.Errorf("%s sees the column: %t: %s", who, got, columns.body)
		}
		a := c.send(http.MethodPost, "/api/v1/queries", fmt.Sprintf(`{"dataset":%q,"dax":"EVALUATE VALUES ( Customer[Customer] )"}`, sales), nil)
		if a.status != c.query || c.query == http.StatusForbidden && !strings.Contains(a.body, "personal data") {
			t.Errorf("%s queries it: %d %s", who, a.status, a.body)
		}
	}
}

// AUTHZ-07: somebody listed at more objects than a question to Cerbos can carry gets
// one sentence and nothing else, and nobody else notices.
func TestMoreObjectsThanADecisionTakes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	viewer, curator := d.signIn("viewer@sample.example"), d.signIn("curator@sample.example")
	before := curator.ids()
	d.db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right)
		select 'dataset', gen_random_uuid(), (select object_id from person_identity i join person p on p.id = i.person_id where p.email = 'viewer@sample.example'), 'Read'
		from generate_series(1, 110000)`)
	for _, op := range catalogue.All(catalogue.Stores{}) {
		if op.Kind != "dataset" || op.Surfaces&operation.API == 0 {
			continue
		}
		a := viewer.operation(op, inputs(op, d.tenant.DatasetID("Sales"))[0])
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "Power BI lists you at more workspaces, apps and datasets than one decision can take.") || strings.Contains(a.body, "Sales") {
			t.Errorf("%s answers %d %s", op.Name, a.status, a.body)
		}
	}
	if after := curator.ids(); !slices.Equal(after, before) || len(after) == 0 {
		t.Errorf("the curator sees %v, before %v", after, before)
	}
}

// VIS-10: under a rule that lists cannot follow, every list and every search fails
// with one sentence, and the log names what it was.
func TestARuleThatListsCannotFollow(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, datasetPolicy(`    - actions: [describe]
      effect: EFFECT_ALLOW
      roles: ["*"]
      condition:
        match:
          expr: R.attr.endorsement == "Certified" || !R.attr.sensitivity_label.startsWith("x")
`))
	viewer := d.signIn("viewer@sample.example")
	asked := 0
	for _, op := range catalogue.All(catalogue.Stores{}) {
		if op.Kind != "dataset" || op.Surfaces&operation.API == 0 {
			continue
		}
		asked++
		a := viewer.operation(op, inputs(op, "")[0])
		if op.Input.Properties["dataset"] != nil && slices.Contains(op.Input.Required, "dataset") {
			a = viewer.operation(op, inputs(op, d.tenant.DatasetID("Sales"))[0])
		}
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "A policy of this deployment decides on datasets by what lists cannot follow.") {
			t.Errorf("%s answers %d %s", op.Name, a.status, a.body)
		}
	}
	if asked < 6 || !strings.Contains(d.logged(), "startsWith") {
		t.Errorf("%d were asked, and the log says %s", asked, d.logged())
	}
}
