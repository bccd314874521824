package wire

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
)

// VIS-02, VIS-13, AUTHZ-30: each way to a dataset, to the person and to a
// group of theirs, through everything that lists, finds or counts; and with none of
// them nothing. An entry counts from the very next request on, on one session.
func TestEachWayToADataset(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	b := d.signIn("outsider@sample.example")
	var own, workspace, app string
	sales := d.tenant.DatasetID("Sales")
	d.db.QueryRow(`select c.object_id::text from powerbi_connection c join person p on p.id = c.person_id where p.email = 'outsider@sample.example' and c.state = 'connected'`, nil, &own)
	d.db.QueryRow(`select workspace_id::text from powerbi_dataset where id = $1`, []any{sales}, &workspace)
	const group = "99999999-9999-4999-8999-999999999999"
	d.db.Exec(`update powerbi_connection set group_ids = array_append(group_ids, $1::uuid) where object_id = $2`, group, own)
	app = "88888888-8888-4888-8888-888888888888"
	d.db.Exec(`insert into powerbi_app (id, workspace_id, name) values ($1, $2, 'made for the test')`, app, workspace)
	d.db.Exec(`insert into powerbi_app_dataset (app_id, dataset_id) values ($1, $2)`, app, sales)
	var inWorkspace []string
	d.db.QueryRow(`select array_agg(id::text order by id) from powerbi_dataset where workspace_id = $1 and removed_at is null`, []any{workspace}, &inWorkspace)
	if len(inWorkspace) < 2 {
		t.Fatal("the workspace has one dataset: it tells no way from another")
	}
	nothing := func(what string) {
		t.Helper()
		if ids := b.ids(); len(ids) != 0 {
			t.Errorf("%s: %v", what, ids)
		}
		for _, path := range []string{"/measures", "/columns"} {
			if a := b.send(http.MethodGet, "/api/v1"+path, "", nil); !strings.Contains(a.body, `"items":[],"total":0`) {
				t.Errorf("%s: %s answers %s", what, path, a.body)
			}
		}
		if a := b.send(http.MethodGet, "/api/v1/search?query=net+sales+customer", "", nil); !strings.Contains(a.body, `"items":[]`) {
			t.Errorf("%s: search answers %s", what, a.body)
		}
		if a := b.send(http.MethodGet, "/api/v1/datasets/"+sales, "", nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", what, a.status)
		}
	}
	nothing("with no entry")
	for _, way := range []struct {
		kind, item string
		want       []string
	}{{"workspace", workspace, inWorkspace}, {"app", app, []string{sales}}, {"dataset", sales, []string{sales}}} {
		for of, object := range map[string]string{"the person": own, "a group": group} {
			what := way.kind + " to " + of
			d.db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right) values ($1, $2, $3, 'Read')`, way.kind, way.item, object)
			if got := b.ids(); !slices.Equal(got, way.want) {
				t.Errorf("%s: %v, want %v", what, got, way.want)
			}
			for _, path := range []string{"/measures?words=net+sales&limit=200", "/columns?words=customer&limit=200", "/search?query=net+sales&limit=50", "/datasets/" + sales} {
				a := b.send(http.MethodGet, "/api/v1"+path, "", nil)
				if !strings.Contains(a.body, sales) {
					t.Errorf("%s: %s answers %d %s", what, path, a.status, a.body)
				}
				var page struct {
					Items []struct {
						Dataset string `json:"dataset_id"`
					}
				}
				_ = json.Unmarshal([]byte(a.body), &page) // the description of a dataset has no items
				for _, i := range page.Items {
					if !slices.Contains(way.want, i.Dataset) {
						t.Errorf("%s: %s has something of %s", what, path, i.Dataset)
					}
				}
			}
			d.db.Exec(`delete from powerbi_access where item_id = $1 and object_id = $2`, way.item, object)
			nothing("after " + what)
		}
	}
	// A group of another provider with the very id of a listed one reaches nothing, and
	// no role does; what a role opens is the listed objects alone.
	d.db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('dataset', $1, $2, 'Read')`, sales, group)
	d.db.Exec(`update powerbi_connection set group_ids = '{}' where object_id = $1`, own)
	d.db.Exec(`update person_sign_in set group_ids = array[$1] where person_id = (select person_id from powerbi_connection where object_id = $2)`, group, own)
	nothing("a group that a sign-in names")
	for _, role := range []string{"curator", "admin", "pii_reader"} {
		d.give("outsider@sample.example", role)
		nothing(role)
	}
}

// VIS-03, VIS-04: what the two other values of the setting show, to somebody whom
// Power BI shows nothing.
func TestWhatTheSettingOpens(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, datasetPolicy(`    - actions: [describe]
      effect: EFFECT_ALLOW
      roles: ["*"]
      condition:
        match:
          all:
            of:
              - expr: P.attr.metadata_visibility == "policy"
              - expr: R.attr.endorsement == "Promoted"
              - expr: '!("99999999-9999-4999-8999-999999999999" in R.attr.app_ids)'
`))
	outsider, viewer := d.signIn("outsider@sample.example"), d.signIn("viewer@sample.example")
	var all, promoted []string
	d.db.QueryRow(`select array_agg(id::text order by id), array_agg(id::text order by id) filter (where endorsement = 'Promoted') from powerbi_dataset where removed_at is null`, nil, &all, &promoted)
	if len(promoted) == 0 || len(promoted) == len(all) || len(outsider.ids()) != 0 {
		t.Fatalf("%d datasets, %d of them promoted, %d seen at first", len(all), len(promoted), len(outsider.ids()))
	}
	d.setting("access.metadata_visibility", "everyone")
	if got := outsider.ids(); !slices.Equal(got, all) {
		t.Errorf("everyone: %v, want %v", got, all)
	}
	d.setting("access.metadata_visibility", "policy")
	for who, b := range map[string]*browser{"outsider": outsider, "viewer": viewer} {
		if got := b.ids(); !slices.Equal(got, promoted) {
			t.Errorf("policy, %s: %v, want %v", who, got, promoted)
		}
	}
}

// VIS-14, VIS-17, VIS-18: a person who connects another account sees what that one
// reaches, and has no role by it; when they disconnect, that ends at the next
// request, and what their own sign-in reaches ends with its 7 days.
func TestAnotherAccountIsConnectedAndLeft(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	outsider, viewer := d.signIn("outsider@sample.example"), d.signIn("viewer@sample.example")
	var identity, after string
	const whoTheyAre = `select (select array_agg(i::text order by i::text) from person_identity i)::text || (select array_agg(r::text order by r::text) from role_assignment r)::text`
	d.db.QueryRow(whoTheyAre, nil, &identity)
	outsider.connect("viewer@sample.example")
	d.db.QueryRow(whoTheyAre, nil, &after)
	me := outsider.send(http.MethodGet, "/api/v1/me", "", nil).body
	if got := outsider.ids(); !slices.Equal(got, viewer.ids()) || len(got) == 0 || after != identity || !strings.Contains(me, `"roles":["viewer"]`) {
		t.Errorf("connected, they see %v, the viewer %v; %s; who they are: %s, before %s", got, viewer.ids(), me, after, identity)
	}
	var groups int
	d.db.QueryRow(`select cardinality(c.group_ids) from powerbi_connection c join person p on p.id = c.person_id where p.email = 'outsider@sample.example'`, nil, &groups)
	if groups == 0 {
		t.Error("no groups are kept with the connection")
	}
	own := "insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'dataset', $1, i.object_id, 'Read' from person_identity i join person p on p.id = i.person_id where p.email = 'outsider@sample.example'"
	var another string
	d.db.QueryRow(`select min(id::text) from powerbi_dataset where removed_at is null and id::text <> all($1::text[])`, []any{viewer.ids()}, &another)
	d.db.Exec(own, another)
	if slices.Contains(outsider.ids(), another) {
		t.Error("the sign-in's own account counts beside the connection")
	}
	if a := outsider.send(http.MethodDelete, "/api/v1/me/connection", "", nil); a.status != http.StatusOK {
		t.Fatalf("disconnecting: %d %s", a.status, a.body)
	}
	if got := outsider.ids(); !slices.Equal(got, []string{another}) {
		t.Errorf("disconnected, they see %v", got)
	}
	for past, want := range map[string]int{"6 days 23 hours": 1, "7 days 1 hour": 0} {
		d.db.Exec(`update person_identity set signed_in_at = now() - $1::interval where person_id = (select id from person where email = 'outsider@sample.example')`, past)
		if got := outsider.ids(); len(got) != want {
			t.Errorf("%s after the sign-in they see %v", past, got)
		}
	}
}

// connect goes the whole way of connecting an account of the tenant.
func (b *browser) connect(account string) {
	b.Helper()
	start := b.send(http.MethodGet, "/api/v1/me/connection/start", "", nil)
	client := &http.Client{Transport: fetchtest.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	chosen, err := client.PostForm(start.header.Get("Location"), url.Values{"person": {account}})
	if err != nil {
		b.Fatal(err)
	}
	defer chosen.Body.Close()
	back := b.send(http.MethodGet, strings.TrimPrefix(chosen.Header.Get("Location"), b.cfg.PublicBaseURL), "", nil)
	if !strings.Contains(back.header.Get("Location"), "power_bi=connected") {
		b.Fatalf("connecting: %d %s %s", back.status, back.header.Get("Location"), back.body)
	}
}
