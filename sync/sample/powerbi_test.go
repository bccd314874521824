package sample_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

const personPath = sample.PowerBIPath + "/v1.0/myorg"

func TestListsShowWhatAPersonReaches(t *testing.T) {
	s := sharedSite(t)
	cases := map[string]struct{ groups, apps string }{
		"admin":    {"Commercial, Customer care, Finance, People, Supply chain", "Tarnwick sales"},
		"curator":  {"Commercial, Customer care, Supply chain", "Tarnwick sales"},
		"viewer":   {"Supply chain", "Tarnwick sales"},
		"steward":  {"Finance", "Tarnwick sales"},
		"ada":      {"Commercial", "Tarnwick sales"},
		"grace":    {"Commercial", "Tarnwick sales"},
		"outsider": {"", ""},
	}
	for person, want := range cases {
		t.Run(person, func(t *testing.T) {
			token := s.powerBI(person)
			var groups, apps list
			s.call(token, "GET", personPath+"/groups", nil, &groups)
			s.call(token, "GET", personPath+"/apps", nil, &apps)
			if got := strings.Join(groups.names("name"), ", "); got != want.groups {
				t.Errorf("groups %s, want %s", got, want.groups)
			}
			if got := strings.Join(apps.names("name"), ", "); got != want.apps {
				t.Errorf("apps %s, want %s", got, want.apps)
			}
		})
	}
}

// What one may not see and what is not there are answered alike.
func TestHiddenAndMissingAreAlike(t *testing.T) {
	s := sharedSite(t)
	token := s.powerBI("outsider")
	for _, path := range []string{
		"/groups/{}/datasets", "/groups/{}/users", "/groups/{}/reports",
		"/datasets/{}", "/datasets/{}/refreshes", "/datasets/{}/users",
	} {
		hidden := s.WorkspaceID("Commercial")
		if strings.HasPrefix(path, "/datasets") {
			hidden = s.DatasetID("Sales")
		}
		a := s.call(token, "GET", personPath+strings.Replace(path, "{}", hidden, 1), nil, nil)
		b := s.call(token, "GET", personPath+strings.Replace(path, "{}", sample.TenantID, 1), nil, nil)
		if a.StatusCode != http.StatusNotFound || b.StatusCode != a.StatusCode || text(t, a) != text(t, b) {
			t.Errorf("%s: %s %s and %s %s", path, a.Status, text(t, a), b.Status, text(t, b))
		}
	}
}

func TestTheAdminAPIIsForTheScannerAndAdministrators(t *testing.T) {
	s := sharedSite(t)
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"the scanner":                   {s.scanner(), http.StatusOK},
		"a Fabric administrator":        {s.powerBI("admin"), http.StatusOK},
		"somebody else":                 {s.powerBI("curator"), http.StatusUnauthorized},
		"another app on its own behalf": {s.app(sample.AppID, sample.AppSecret), http.StatusUnauthorized},
		"nobody":                        {"", http.StatusUnauthorized},
	} {
		if res := s.call(c.token, "GET", adminPath+"/workspaces/modified", nil, nil); res.StatusCode != c.want {
			t.Errorf("%s is answered %s, want %d", name, res.Status, c.want)
		}
	}
	// SAMPLE-01: a person's lists are not for apps.
	if res := s.call(s.scanner(), "GET", personPath+"/groups", nil, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("the scanner lists groups: %s", res.Status)
	}
}

func TestRefreshHistoryEndsLastNight(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	var got list
	s.call(s.powerBI("viewer"), "GET", personPath+"/datasets/"+s.DatasetID("Sales")+"/refreshes?$top=1", nil, &got)
	if len(got.Value) != 1 || got.Value[0]["status"] != "Completed" || got.Value[0]["endTime"] != "2026-11-30T04:10:30.12Z" {
		t.Errorf("got %v", got.Value)
	}
}

func TestScan(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, ScanTime: time.Minute})
	token := s.scanner()
	var modified []struct{ ID string }
	s.call(token, "GET", adminPath+"/workspaces/modified?excludePersonalWorkspaces=true", nil, &modified)
	if len(modified) != 5 {
		t.Fatalf("%d workspaces, want 5", len(modified))
	}
	var all []struct{ ID string }
	s.call(token, "GET", adminPath+"/workspaces/modified", nil, &all)
	if len(all) != 6 {
		t.Errorf("%d workspaces with personal ones, want 6", len(all))
	}
	if res := s.call(token, "GET", adminPath+"/workspaces/modified?modifiedSince=2020-01-01T00:00:00Z", nil, nil); res.StatusCode != 400 {
		t.Errorf("a time too long ago: %s", res.Status)
	}
	ids := []string{}
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	var state struct{ ID, Status string }
	res := s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true&getArtifactUsers=true", map[string]any{"workspaces": ids}, &state)
	if res.StatusCode != http.StatusAccepted || state.Status != "NotStarted" {
		t.Fatalf("%s %+v", res.Status, state)
	}
	status := strings.TrimPrefix(res.Header.Get("Location"), s.url)
	s.call(token, "GET", status, nil, &state)
	if state.Status != "Running" {
		t.Errorf("status %s, want Running", state.Status)
	}
	if res := s.call(token, "GET", adminPath+"/workspaces/scanResult/"+state.ID, nil, nil); res.StatusCode != 400 {
		t.Errorf("a result before its time: %s", res.Status)
	}
	c.at = c.at.Add(time.Minute)
	res = s.call(token, "GET", status, nil, &state)
	if state.Status != "Succeeded" {
		t.Errorf("status %s, want Succeeded", state.Status)
	}
	result := strings.TrimPrefix(res.Header.Get("Location"), s.url)
	checkScan(t, s, token, result)
	c.at = c.at.Add(24 * time.Hour)
	if res := s.call(s.scanner(), "GET", result, nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a result after a day: %s", res.Status)
	}
	if res := s.call(s.powerBI("curator"), "GET", result, nil, nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a result for a person who is no administrator: %s", res.Status)
	}
}

type scanAnswer struct {
	Workspaces []struct {
		Name, Type string
		Users      []struct{ GraphID, GroupUserAccessRight string }
		Datasets   []scannedSet
		Reports    []struct{ Name, AppID string }
		Lakehouse  []any
	}
}

type scannedSet struct {
	Name                 string
	SchemaRetrievalError string
	Relationships        []any
	Users                []struct{ GraphID, DatasetUserAccessRight string }
	Tables               []struct {
		Name     string
		IsHidden bool
		Columns  []struct{ Name, DataType, ColumnType, Expression string }
		Measures []struct{ Name, Expression string }
	}
	Roles []struct {
		Name             string
		Members          []struct{ MemberID, MemberType string }
		TablePermissions []struct{ Name, FilterExpression string }
	}
}

// checkScan looks for what SAMPLE-03 and RLS-101 ask of the company.
func checkScan(t *testing.T, s *site, token, path string) {
	t.Helper()
	var got scanAnswer
	s.call(token, "GET", path, nil, &got)
	sets := map[string]scannedSet{}
	tables, measures, personal, copies, items := 0, 0, 0, 0, 0
	for _, w := range got.Workspaces {
		if w.Type == "PersonalGroup" {
			personal++
		}
		items += len(w.Lakehouse)
		for _, r := range w.Reports {
			if r.AppID != "" && strings.HasPrefix(r.Name, "[App] ") {
				copies++
			}
		}
		for _, d := range w.Datasets {
			sets[d.Name] = d
			tables += len(d.Tables)
			for _, tbl := range d.Tables {
				measures += len(tbl.Measures)
			}
			if len(d.Relationships) > 0 {
				t.Errorf("the scan has relationships of %s", d.Name)
			}
		}
	}
	t.Logf("%d datasets, %d tables, %d measures", len(sets), tables, measures)
	if len(sets) != 14 || personal != 1 || copies != 2 || items != 1 {
		t.Errorf("%d datasets, %d personal workspaces, %d copies of reports, %d lakehouses", len(sets), personal, copies, items)
	}
	// SAMPLE-03
	sales := sets["Sales"]
	if len(sales.Roles) > 0 {
		t.Error("Sales has row-level security")
	}
	for table, columns := range map[string][]string{"Customer": {"Customer", "Region", "Birth date", "Email"}, "Sales": {"Net amount"}} {
		for _, c := range columns {
			if !hasColumn(sales, table, c) {
				t.Errorf("Sales lacks %s[%s]", table, c)
			}
		}
	}
	if got := expression(sales, "Net sales"); got != "SUM ( Sales[Net amount] )" {
		t.Errorf("Net sales is %q", got)
	}
	if people := sets["People"]; len(people.Tables) > 0 || people.SchemaRetrievalError == "" {
		t.Error("the dataset with object-level security shows its schema")
	}
	// RLS-101
	regional := sets["Regional sales"]
	filters := map[string]string{}
	for _, r := range regional.Roles {
		for _, p := range r.TablePermissions {
			filters[r.Name] = p.Name + ": " + p.FilterExpression
		}
	}
	for role, want := range map[string]string{
		"France": `Region: [Country] = "France"`, "Canada": `Region: [Country] = "Canada"`, "West": `Region: [Region] = "West"`,
		"By salesperson": `Salesperson: [UserEmail] = USERPRINCIPALNAME ()`,
	} {
		if filters[role] != want {
			t.Errorf("role %s filters %q, want %q", role, filters[role], want)
		}
	}
	hidden := false
	for _, tbl := range regional.Tables {
		hidden = hidden || tbl.Name == "Salesperson" && tbl.IsHidden
	}
	if !hidden || !hasColumn(regional, "Region", "Country") {
		t.Error("Regional sales lacks the hidden table Salesperson or Region[Country]")
	}
}

func hasColumn(d scannedSet, table, column string) bool {
	for _, t := range d.Tables {
		for _, c := range t.Columns {
			if t.Name == table && c.Name == column {
				return true
			}
		}
	}
	return false
}

func expression(d scannedSet, measure string) string {
	for _, t := range d.Tables {
		for _, m := range t.Measures {
			if m.Name == measure {
				return m.Expression
			}
		}
	}
	return ""
}

func TestScanLimits(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, ScanTime: time.Hour})
	token := s.scanner()
	start := func(n int) *http.Response {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = s.WorkspaceID("Finance")
		}
		return s.call(token, "POST", adminPath+"/workspaces/getInfo", map[string]any{"workspaces": ids}, nil)
	}
	for n, want := range map[int]int{0: 400, 101: 400, 100: 202} {
		if res := start(n); res.StatusCode != want {
			t.Errorf("%d workspaces: %s, want %d", n, res.Status, want)
		}
	}
	for range 15 {
		if res := start(1); res.StatusCode != 202 {
			t.Fatal(res.Status)
		}
	}
	if res := start(1); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("the seventeenth scan at the same time: %s", res.Status)
	}
	for i := range 31 {
		res := s.call(token, "GET", adminPath+"/workspaces/modified", nil, nil)
		if want := map[bool]int{true: 200, false: 429}[i < 30]; res.StatusCode != want {
			t.Fatalf("call %d in an hour: %s, want %d", i+1, res.Status, want)
		}
	}
}
