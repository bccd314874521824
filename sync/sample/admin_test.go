package sample_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// SAMPLE-02: the limits of the admin API, for each caller or for the whole tenant.
func TestAdminLimits(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	admin, scanner := s.powerBI("admin"), s.scanner()
	for path, most := range map[string]int{"/groups?$top=1": 15, "/datasets": 5, "/reports": 5, "/dashboards": 5} {
		for i := range most {
			if res := s.call([]string{admin, scanner}[i%2], "GET", adminPath+path, nil, nil); res.StatusCode != http.StatusOK {
				t.Fatalf("%s: call %d of a minute is answered %s", path, i+1, res.Status)
			}
		}
		res := s.call(admin, "GET", adminPath+path, nil, nil)
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "60" {
			t.Errorf("%s: one more is answered %s, after %s", path, res.Status, res.Header.Get("Retry-After"))
		}
	}
	token := s.powerBI("admin")
	for i := range 201 {
		res := s.call(token, "GET", adminPath+"/groups/"+s.WorkspaceID("Finance")+"/users", nil, nil)
		if want := map[bool]int{true: 200, false: 429}[i < 200]; res.StatusCode != want {
			t.Fatalf("call %d of an hour: %s, want %d", i+1, res.Status, want)
		}
	}
	for minute := range 9 { // 5 a minute are over 50 an hour in the end
		c.at = c.at.Add(time.Minute)
		for range 5 {
			if res := s.call(scanner, "GET", adminPath+"/datasets", nil, nil); res.StatusCode != http.StatusOK {
				t.Fatalf("minute %d: %s", minute, res.Status)
			}
		}
	}
	c.at = c.at.Add(time.Minute)
	if res := s.call(scanner, "GET", adminPath+"/datasets", nil, nil); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "60" {
		t.Errorf("call 51 of an hour: %s", res.Status)
	}
}

// SAMPLE-02: $filter, $top, $skip and $expand.
func TestListsAreFilteredAndCut(t *testing.T) {
	s := sharedSite(t)
	scanner, admin := s.scanner(), s.powerBI("admin")
	names := func(token, path string, query url.Values) string {
		t.Helper()
		var got list
		if res := s.call(token, "GET", path+"?"+query.Encode(), nil, &got); res.StatusCode != http.StatusOK {
			t.Fatalf("%s %v: %s %s", path, query, res.Status, text(t, res))
		}
		return strings.Join(got.names("name"), ", ")
	}
	for filter, want := range map[string]string{
		"name eq 'finance'":                                               "Finance",
		"id eq '" + s.WorkspaceID("Finance") + "'":                        "Finance",
		"id eq " + s.WorkspaceID("Finance"):                               "Finance",
		"contains(name,'c')":                                              "Commercial, Customer care, Finance, Supply chain",
		"contains(tolower(name), 'care') or startswith(name,'Sup')":       "Customer care, Supply chain",
		"contains(name,'c') and name ne 'Finance' and endswith(name,'n')": "Supply chain",
		"name eq 'Finance' and name eq 'People' or name eq 'People'":      "People",
		"name eq 'it''s and or'":                                          "",
		"isReadOnly eq false and name eq 'People'":                        "People",
	} {
		if got := names(admin, personPath+"/groups", url.Values{"$filter": {filter}}); got != want {
			t.Errorf("%s gives %q, want %q", filter, got, want)
		}
	}
	for _, bad := range []string{"name", "name gt 'x'", "nonsense(name)", "name eq 'x' and", "year(createdDate) eq 2026"} {
		var answer any
		res := s.call(admin, "GET", personPath+"/groups?"+url.Values{"$filter": {bad}}.Encode(), nil, &answer)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(text(t, res), "$filter") {
			t.Errorf("%s is answered %s %v", bad, res.Status, answer)
		}
	}
	if got := names(scanner, adminPath+"/groups", url.Values{"$top": {"2"}, "$skip": {"1"}, "$filter": {"type eq 'Workspace'"}}); got != "Finance, Supply chain" {
		t.Errorf("the second and third workspace are %q", got)
	}
	for _, top := range []string{"", "0", "5001", "x"} {
		if res := s.call(scanner, "GET", adminPath+"/groups?$top="+top, nil, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("$top=%s is answered %s", top, res.Status)
		}
	}
	if res := s.call(scanner, "GET", adminPath+"/groups?$top=1&$expand=secrets", nil, nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown $expand is answered %s", res.Status)
	}
	var groups list
	s.call(scanner, "GET", adminPath+"/groups?$top=1&$expand=users,datasets,reports,dashboards", nil, &groups)
	for _, part := range []string{"users", "datasets", "reports", "dashboards"} {
		if got, ok := groups.Value[0][part].([]any); !ok || len(got) == 0 {
			t.Errorf("%s are not expanded: %v", part, groups.Value[0][part])
		}
	}
	if got := names(scanner, adminPath+"/datasets", url.Values{"$filter": {"workspaceId eq '" + s.WorkspaceID("Finance") + "'"}}); got != "Board pack, Finance, Receivables" {
		t.Errorf("the datasets of Finance are %q", got)
	}
}

// SAMPLE-02, SAMPLE-06: what a person reaches by the admin API is what they reach
// by their own token, over all pages.
func TestArtifactAccess(t *testing.T) {
	s := sharedSite(t)
	scanner := s.scanner()
	type page struct {
		Entities []struct{ ArtifactID, DisplayName, ArtifactType, AccessRight string } `json:"artifactAccessEntities"`
		URI      string                                                                `json:"continuationUri"`
	}
	for _, person := range []string{"admin", "curator", "viewer", "outsider", "steward", "ada", "grace", "joiner"} {
		t.Run(person, func(t *testing.T) {
			reached, pages := map[string][]string{}, 0
			for path := adminPath + "/users/" + person + "@sample.example/artifactAccess"; path != ""; pages++ {
				var got page
				if res := s.call(scanner, "GET", path, nil, &got); res.StatusCode != http.StatusOK {
					t.Fatal(res.Status)
				}
				for _, e := range got.Entities {
					reached[e.ArtifactType] = append(reached[e.ArtifactType], e.DisplayName)
				}
				path = strings.TrimPrefix(got.URI, s.url)
			}
			if person == "admin" && pages < 2 {
				t.Error("admin has one page")
			}
			var groups list
			token := s.powerBI(person)
			s.call(token, "GET", personPath+"/groups", nil, &groups)
			slices.Sort(reached["Workspace"])
			if got, want := fmt.Sprint(reached["Workspace"]), fmt.Sprint(groups.names("name")); got != want {
				t.Errorf("workspaces %s, want %s", got, want)
			}
			for _, d := range s.Datasets("") {
				res := s.call(token, "GET", personPath+"/datasets/"+d.ID, nil, nil)
				if listed := slices.Contains(reached["Dataset"], d.Name); listed != (res.StatusCode == http.StatusOK) {
					t.Errorf("%s: listed %v, and asked for it answers %s", d.Name, listed, res.Status)
				}
			}
		})
	}
	var got page
	s.call(scanner, "GET", adminPath+"/users/"+objectID(s, "viewer@sample.example")+"/artifactAccess?artifactTypes=App", nil, &got)
	if len(got.Entities) != 1 || got.Entities[0].DisplayName != "Tarnwick sales" || got.Entities[0].AccessRight != "ReadExplore" {
		t.Errorf("viewer's apps are %+v", got.Entities)
	}
	for _, query := range []string{"artifactTypes=Spoon", "continuationToken='x'"} {
		if res := s.call(scanner, "GET", adminPath+"/users/viewer@sample.example/artifactAccess?"+query, nil, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s is answered %s", query, res.Status)
		}
	}
}

// SAMPLE-02: the log of activities has what callers did, page by page.
func TestActivityEvents(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, Unlimited: true})
	c.at = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	s.as("viewer").query("Sales", "EVALUATE { 1 }")
	s.as("outsider").query("Sales", "EVALUATE { 1 }")
	c.at = c.at.Add(time.Minute)
	scanner := s.scanner()
	type page struct {
		Events []map[string]any `json:"activityEventEntities"`
		URI    string           `json:"continuationUri"`
		Last   bool             `json:"lastResultSet"`
	}
	all := func(query string) (events []map[string]any, pages int) {
		t.Helper()
		for path := adminPath + "/activityevents?" + query; path != ""; pages++ {
			var got page
			if res := s.call(scanner, "GET", path, nil, &got); res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", path, text(t, res))
			}
			events = append(events, got.Events...)
			if path = strings.TrimPrefix(got.URI, s.url); got.Last != (path == "") {
				t.Errorf("lastResultSet is %v, and the next page %q", got.Last, path)
			}
		}
		return events, pages
	}
	day := "startDateTime='2026-11-30T00:00:00'&endDateTime='2026-11-30T23:59:59'"
	events, _ := all(day)
	seen, views := map[any]bool{}, 0
	for i, e := range events {
		if seen[e["Id"]] {
			t.Errorf("the event %v is there twice", e)
		}
		seen[e["Id"]] = true
		if e["Activity"] == "ViewReport" {
			views++
		}
		if i > 0 && e["CreationTime"].(string) < events[i-1]["CreationTime"].(string) {
			t.Error("events are not in order")
		}
	}
	if views == 0 {
		t.Error("nobody looked at a report")
	}
	queries, _ := all(day + "&$filter=" + url.QueryEscape("Activity eq 'ExecuteQueries'"))
	if len(queries) != 2 || queries[0]["IsSuccess"] == queries[1]["IsSuccess"] || queries[0]["DatasetName"] != "Sales" || queries[0]["WorkSpaceName"] != "Commercial" {
		t.Errorf("the queries are %v", queries)
	}
	if mine, _ := all(day + "&$filter=" + url.QueryEscape("UserId eq 'viewer@sample.example' and Activity eq 'executequeries'")); len(mine) != 1 {
		t.Errorf("viewer's queries are %v", mine)
	}
	outsider := s.as("outsider")
	for range 150 {
		outsider.query("Sales", "EVALUATE { 1 }")
	}
	if got, pages := all(day + "&$filter=" + url.QueryEscape("UserId eq 'outsider@sample.example'")); len(got) != 151 || pages != 2 {
		t.Errorf("%d events on %d pages, want 151 on 2", len(got), pages)
	}
	for _, bad := range []string{
		"", "startDateTime='2026-11-30T00:00:00'", "startDateTime=2026-11-30T00:00:00&endDateTime=2026-11-30T23:59:59",
		"startDateTime='2026-11-29T00:00:00'&endDateTime='2026-11-30T23:59:59'", "startDateTime='2026-11-30T10:00:00'&endDateTime='2026-11-30T09:00:00'",
		"startDateTime='2026-01-01T00:00:00'&endDateTime='2026-01-01T23:59:59'", "continuationToken='x'", day + "&$filter=Activity",
	} {
		if res := s.call(scanner, "GET", adminPath+"/activityevents?"+bad, nil, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q is answered %s", bad, res.Status)
		}
	}
}

// SAMPLE-02: a refresh that somebody begins runs for a while, and is told of as
// Power BI does.
func TestRefreshesRun(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, Unlimited: true})
	token, path := s.powerBI("curator"), personPath+"/datasets/"+s.DatasetID("Sales")+"/refreshes"
	res := s.call(token, "POST", path, map[string]any{"type": "full"}, nil)
	if res.StatusCode != http.StatusAccepted || res.Header.Get("x-ms-request-id") == "" {
		t.Fatalf("answered %s", res.Status)
	}
	at := strings.TrimPrefix(res.Header.Get("Location"), s.url)
	state := func(wantStatus int, want string) {
		t.Helper()
		var one struct{ ExtendedStatus string }
		if res := s.call(token, "GET", at, nil, &one); res.StatusCode != wantStatus || one.ExtendedStatus != want {
			t.Errorf("it is %s %s, want %d %s", res.Status, one.ExtendedStatus, wantStatus, want)
		}
	}
	var history list
	state(http.StatusAccepted, "InProgress")
	s.call(token, "GET", path+"?$top=1", nil, &history)
	if history.Value[0]["status"] != "Unknown" || history.Value[0]["endTime"] != nil {
		t.Errorf("while it runs it is %v", history.Value[0])
	}
	if res := s.call(token, "POST", path, nil, nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a second one at the same time is answered %s", res.Status)
	}
	c.at = c.at.Add(time.Minute)
	state(http.StatusOK, "Completed")
	s.change("datasets/refresh", map[string]any{"dataset": "Sales", "error": "DM_GWPipeline_Gateway_Timeout"})
	s.call(token, "GET", path+"?$top=1", nil, &history)
	at = path + "/" + history.Value[0]["requestId"].(string)
	state(http.StatusOK, "Failed")
	for person, want := range map[string]int{"viewer": http.StatusForbidden, "outsider": http.StatusNotFound} {
		if res := s.call(s.powerBI(person), "POST", path, nil, nil); res.StatusCode != want {
			t.Errorf("a refresh by %s is answered %s, want %d", person, res.Status, want)
		}
	}
	if res := s.call(token, "POST", path, map[string]any{"notifyOption": "Shout"}, nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown option is answered %s", res.Status)
	}
}
