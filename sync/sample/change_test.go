package sample_test

import (
	"encoding/base64"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// change asks the test API for a change.
func (s *site) change(path string, body map[string]any) {
	s.t.Helper()
	if res := s.call("", "POST", sample.ControlPath+path, body, nil); res.StatusCode != http.StatusNoContent {
		s.t.Fatalf("%s answered %s: %s", path, res.Status, text(s.t, res))
	}
}

// scan returns a workspace as the scanner is told it.
func (s *site) scan(workspace string) scanAnswer {
	s.t.Helper()
	token := s.scanner()
	var state struct{ ID string }
	s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true&getArtifactUsers=true",
		map[string]any{"workspaces": []string{workspace}}, &state)
	var got scanAnswer
	s.call(token, "GET", adminPath+"/workspaces/scanResult/"+state.ID, nil, &got)
	return got
}

// SAMPLE-07: every change that is declared is made, and shows where it must: in
// scans, in lists, in answers to queries.
func TestEveryChangeShows(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, Unlimited: true, Workspaces: 3})
	commercial, sales := s.WorkspaceID("Commercial"), s.DatasetID("Sales")
	set := func(name string) scannedSet {
		t.Helper()
		for _, d := range s.scan(commercial).Workspaces[0].Datasets {
			if d.Name == name {
				return d
			}
		}
		t.Fatalf("the scan has no %s", name)
		return scannedSet{}
	}
	number := func(dax string) float64 { t.Helper(); return s.as("viewer").number(sales, dax) }
	refused := func(person, dataset, dax, with string) {
		t.Helper()
		answer, res := s.as(person).query(dataset, dax)
		if res.StatusCode == http.StatusOK || !strings.Contains(text(t, res), with) {
			t.Errorf("%s is answered %s %s, want %q in an error", dax, res.Status, answer.message(), with)
		}
	}
	want := number("[Net sales]")
	rowsIn := func(person, dataset, dax string) int {
		t.Helper()
		a, _ := s.as(person).query(dataset, dax)
		return len(a.rows())
	}

	done := map[string]bool{}
	step := func(path string, body map[string]any, check func()) {
		t.Helper()
		if _, dup := done[path]; !dup {
			done[path] = true
		}
		s.change(path, body)
		check()
	}
	table := func(d scannedSet, name string) bool {
		for _, tbl := range d.Tables {
			if tbl.Name == name {
				return true
			}
		}
		return false
	}

	// The model: rows follow a new name, expressions do not.
	step("columns/rename", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Region", "to": "Area"}, func() {
		if d := set("Sales"); hasColumn(d, "Customer", "Region") || !hasColumn(d, "Customer", "Area") {
			t.Error("the column kept its name")
		}
	})
	step("columns/rename", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Area", "to": "Land"}, func() {
		if n := number(`COUNTROWS ( VALUES ( Customer[Land] ) )`); n < 3 {
			t.Errorf("%v values under the second name", n)
		}
	})
	step("tables/rename", map[string]any{"dataset": "Sales", "table": "Store", "to": "Shop"}, func() {
		if d := set("Sales"); table(d, "Store") || !table(d, "Shop") {
			t.Error("the table kept its name")
		}
		if n := number(`CALCULATE ( [Net sales], Shop[Channel] = "Online" )`); n <= 0 || n >= want {
			t.Errorf("net sales online are %v of %v: the relationship did not follow", n, want)
		}
	})
	step("columns/remove", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Phone"}, func() {
		if hasColumn(set("Sales"), "Customer", "Phone") {
			t.Error("the column is still there")
		}
	})
	step("tables/remove", map[string]any{"dataset": "Sales", "table": "Promotion"}, func() {
		if table(set("Sales"), "Promotion") {
			t.Error("the table is still there")
		}
		if got := number("[Net sales]"); got != want {
			t.Errorf("net sales are %v, were %v", got, want)
		}
		refused("viewer", sales, "EVALUATE VALUES ( Customer[Phone] )", "Phone")
	})
	step("columns/expression", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Initial", "expression": `"Z"`}, func() {
		if n := number(`COUNTROWS ( VALUES ( Customer[Initial] ) )`); n != 1 {
			t.Errorf("%v initials, want one", n)
		}
	})
	step("measures/add", map[string]any{"dataset": "Sales", "table": "Sales", "measure": "Twice", "expression": "2 * [Net sales]"}, func() {
		if got := number("[Twice]"); got != 2*want {
			t.Errorf("the new measure is %v", got)
		}
	})
	step("measures/expression", map[string]any{"dataset": "Sales", "measure": "Twice", "expression": "3 * [Net sales]"}, func() {
		if got := expression(set("Sales"), "Twice"); got != "3 * [Net sales]" || math.Abs(number("[Twice]")-3*want) > 1e-3 {
			t.Errorf("the measure is %q", got)
		}
	})
	step("measures/rename", map[string]any{"dataset": "Sales", "measure": "Net sales", "to": "Net revenue"}, func() {
		if got := number("[Net revenue]"); got != want {
			t.Errorf("under the new name it is %v", got)
		}
		refused("viewer", sales, `EVALUATE { [Twice] }`, "Net sales")
	})
	step("measures/remove", map[string]any{"dataset": "Sales", "measure": "Twice"}, func() {
		if expression(set("Sales"), "Twice") != "" {
			t.Error("the measure is still there")
		}
	})

	// Security roles.
	all := rowsIn("curator", "Regional sales", "EVALUATE Region")
	if n := rowsIn("joiner", "Regional sales", "EVALUATE Region"); n == 0 || n >= all {
		t.Fatalf("%d of %d regions before any change", n, all)
	}
	regions := func(person string, want func(int) bool) func() {
		return func() {
			t.Helper()
			if n := rowsIn(person, "Regional sales", "EVALUATE Region"); !want(n) {
				t.Errorf("%s sees %d of %d regions", person, n, all)
			}
		}
	}
	some := func(n int) bool { return n > 0 && n < all }
	every := func(n int) bool { return n == all }
	none := func(n int) bool { return n == 0 }
	step("roles/assign", map[string]any{"dataset": "Regional sales", "role": "France", "person": "steward@sample.example"}, regions("steward", some))
	step("roles/unassign", map[string]any{"dataset": "Regional sales", "role": "France", "person": "steward@sample.example"}, regions("steward", none))
	step("roles/add", map[string]any{"dataset": "Regional sales", "role": "All rows"}, regions("steward", none))
	step("roles/assign", map[string]any{"dataset": "Regional sales", "role": "All rows", "person": "Controllers"}, regions("steward", every))
	step("roles/filter", map[string]any{"dataset": "Regional sales", "role": "All rows", "table": "Region", "filter": `[Country] = "Canada"`}, regions("steward", some))
	step("roles/remove", map[string]any{"dataset": "Regional sales", "role": "All rows"}, regions("steward", none))
	step("roles/clear", map[string]any{"dataset": "Regional sales"}, regions("joiner", every))

	// Datasets and workspaces.
	step("datasets/rename", map[string]any{"dataset": sales, "to": "Sales of all"}, func() { set("Sales of all") })
	step("datasets/describe", map[string]any{"dataset": sales, "description": "other words"}, func() {
		contains(t, text(t, s.call(s.powerBI("viewer"), "GET", personPath+"/datasets/"+sales, nil, nil)), "other words")
	})
	raw := func() string {
		t.Helper()
		token := s.scanner()
		var state struct{ ID string }
		s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true", map[string]any{"workspaces": []string{commercial}}, &state)
		return text(t, s.call(token, "GET", adminPath+"/workspaces/scanResult/"+state.ID, nil, nil))
	}
	before := raw()
	step("datasets/endorse", map[string]any{"dataset": "Web shop", "endorsement": "Certified", "by": "admin@sample.example"}, func() {
		if strings.Count(raw(), `"Certified"`) != strings.Count(before, `"Certified"`)+1 {
			t.Error("it is not certified")
		}
	})
	step("datasets/label", map[string]any{"dataset": "Web shop", "label": "Confidential"}, func() {
		if strings.Count(raw(), `"labelId"`) != strings.Count(before, `"labelId"`)+1 {
			t.Error("it has no label")
		}
	})
	for state, shows := range map[string]func(scannedSet) bool{
		"error":           func(d scannedSet) bool { return d.SchemaRetrievalError != "" && len(d.Tables) == 0 },
		"never_refreshed": func(d scannedSet) bool { return d.SchemaRetrievalError == "" && len(d.Tables) == 0 },
		"stale":           func(scannedSet) bool { return strings.Contains(raw(), `"schemaMayNotBeUpToDate":true`) },
		"":                func(d scannedSet) bool { return d.SchemaRetrievalError == "" && len(d.Tables) > 0 },
	} {
		step("datasets/hole", map[string]any{"dataset": "Web shop", "hole": state}, func() {
			if d := set("Web shop"); !shows(d) {
				t.Errorf("the hole %q does not show: %d tables, %s", state, len(d.Tables), d.SchemaRetrievalError)
			}
		})
	}
	step("datasets/share", map[string]any{"dataset": sales, "person": "outsider@sample.example", "right": "ReadExplore"}, func() {
		if n := rowsIn("outsider", sales, "EVALUATE { 1 }"); n != 1 {
			t.Error("the share does not count")
		}
	})
	step("datasets/refresh", map[string]any{"dataset": sales, "error": "ModelRefreshFailed_CredentialsNotSpecified"}, func() {
		var got list
		s.call(s.powerBI("viewer"), "GET", personPath+"/datasets/"+sales+"/refreshes?$top=1", nil, &got)
		if got.Value[0]["status"] != "Failed" || got.Value[0]["endTime"] != "2026-11-30T12:00:00Z" ||
			got.Value[0]["serviceExceptionJson"] != `{"errorCode":"ModelRefreshFailed_CredentialsNotSpecified"}` {
			t.Errorf("the last refresh is %v", got.Value[0])
		}
	})
	names := func(person string) []string {
		t.Helper()
		var groups list
		s.call(s.powerBI(person), "GET", personPath+"/groups", nil, &groups)
		return groups.names("name")
	}
	apps := func(person string) []string {
		t.Helper()
		var got list
		s.call(s.powerBI(person), "GET", personPath+"/apps", nil, &got)
		return got.names("name")
	}
	step("apps/users", map[string]any{"app": "Tarnwick sales", "person": "outsider@sample.example", "right": "Read"}, func() {
		if got := apps("outsider"); len(got) != 1 {
			t.Errorf("apps %v", got)
		}
	})
	step("groups/add", map[string]any{"group": "West team", "person": "outsider@sample.example"}, func() {
		if got := names("outsider"); !slices.Contains(got, "Commercial") {
			t.Errorf("by the group the outsider reaches %v", got)
		}
	})
	step("groups/remove", map[string]any{"group": "West team", "person": "outsider@sample.example"}, func() {
		if got := names("outsider"); len(got) > 0 {
			t.Errorf("after leaving it %v", got)
		}
	})
	step("workspaces/users", map[string]any{"workspace": "Finance", "person": "outsider@sample.example", "right": "Viewer"}, func() {
		if got := names("outsider"); !slices.Equal(got, []string{"Finance"}) {
			t.Errorf("reaches %v", got)
		}
	})
	step("workspaces/rename", map[string]any{"workspace": "Finance", "to": "Money"}, func() {
		if got := names("outsider"); !slices.Equal(got, []string{"Money"}) {
			t.Errorf("reaches %v", got)
		}
	})
	step("workspaces/remove", map[string]any{"workspace": "Money"}, func() {
		if got := names("outsider"); len(got) > 0 {
			t.Errorf("still reaches %v", got)
		}
	})
	step("datasets/remove", map[string]any{"dataset": sales}, func() {
		if body := raw(); strings.Contains(body, sales) {
			t.Error("the scan still names it, or a report on it")
		}
	})

	// People.
	token := s.powerBI("ada")
	step("people/disable", map[string]any{"person": "ada@sample.example"}, func() {
		if res := s.call(token, "GET", personPath+"/groups", nil, nil); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the token of somebody disabled: %s", res.Status)
		}
	})
	step("people/enable", map[string]any{"person": "ada@sample.example"}, func() { names("ada") })
	userType := func(want string) func() {
		return func() {
			t.Helper()
			if body := text(t, s.call(s.scanner(), "GET", adminPath+"/apps/"+appID(s, s.scanner())+"/users", nil, nil)); !strings.Contains(body, `"userType":"`+want+`"`) {
				t.Errorf("no %s in %s", want, body)
			}
		}
	}
	step("people/guest", map[string]any{"person": "outsider@sample.example"}, userType("Guest"))
	step("people/member", map[string]any{"person": "outsider@sample.example"}, userType("Member"))
	renew := s.tokens("viewer@sample.example", "User.Read").RefreshToken
	step("tokens/revoke", map[string]any{"person": "viewer@sample.example"}, func() {
		if _, problem := s.post(s.client().Endpoint.TokenURL, renewal(renew)); problem.Error != "invalid_grant" {
			t.Errorf("a revoked token: %+v", problem)
		}
	})
	embed, _ := s.generate(s.product(), "Club", map[string]any{})
	club := s.reportID("Commercial", "Club")
	if _, res := s.describe("EmbedToken", embed.Token, club); res.StatusCode != 200 {
		t.Errorf("an embedding token: %s", res.Status)
	}
	step("embedtokens/revoke", map[string]any{"token_id": embed.TokenID}, func() {
		if _, res := s.describe("EmbedToken", embed.Token, club); res.StatusCode != 403 {
			t.Errorf("a revoked embedding token: %s", res.Status)
		}
	})
	step("keys/rotate", map[string]any{}, func() {
		if keyID(t, s.powerBI("viewer")) == keyID(t, token) {
			t.Error("tokens are signed by the same key")
		}
	})

	// The registrations.
	consented := func(want bool) func() {
		return func() {
			t.Helper()
			scope, _ := s.tokens("viewer@sample.example", sample.GraphAudience+"/.default").Extra("scope").(string)
			if slices.Contains(strings.Fields(scope), "Mail.Read") != want {
				t.Errorf("what is consented to is %s", scope)
			}
		}
	}
	mail := map[string]any{"resource": "graph", "permission": "Mail.Read"}
	step("consents/give", mail, consented(true))
	step("consents/take", mail, consented(false))
	role := func(want bool) func() {
		return func() {
			t.Helper()
			claims, err := base64.RawURLEncoding.DecodeString(strings.Split(s.scanner(), ".")[1])
			if err != nil || strings.Contains(string(claims), `"roles":["Tenant.Read.All"]`) != want {
				t.Errorf("the scanner's token says %s, %v", claims, err)
			}
		}
	}
	read := map[string]any{"application": "scanner", "permission": "Tenant.Read.All"}
	step("applications/give", read, role(true))
	step("applications/take", read, role(false))

	recent := func() int { return len(s.modified(s.scanner(), c.at.Add(-time.Hour))) }
	modified := recent()
	step("workspaces/change", map[string]any{"count": 2}, func() {
		if n := recent(); n != modified+2 {
			t.Errorf("%d workspaces changed, before it were %d", n, modified)
		}
	})

	// How it behaves.
	step("scans/fail", map[string]any{"count": 1, "message": "no luck"}, func() {
		var state struct {
			ID, Status string
			Error      struct{ Code, Message, Target string }
		}
		scanner := s.scanner()
		ask := func() {
			s.call(scanner, "POST", adminPath+"/workspaces/getInfo", map[string]any{"workspaces": []string{commercial}}, &state)
			s.call(scanner, "GET", adminPath+"/workspaces/scanStatus/"+state.ID, nil, &state)
		}
		if ask(); state.Status != "Failed" || state.Error.Message != "no luck" || state.Error.Code == "" {
			t.Errorf("got %+v", state)
		}
		if res := s.call(scanner, "GET", adminPath+"/workspaces/scanResult/"+state.ID, nil, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the result of a failed scan: %s", res.Status)
		}
		if ask(); state.Status != "Succeeded" {
			t.Errorf("the next one is %s", state.Status)
		}
	})
	step("faults", map[string]any{"path": "*groups", "status": 503}, func() {
		if res := s.call(token, "GET", personPath+"/groups", nil, nil); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("answered %s", res.Status)
		}
	})
	step("faults/clear", map[string]any{}, func() { names("ada") })
	step("permissions/delay", map[string]any{"seconds": 3600}, func() { delayed(t, s, c) })

	done["workspaces/change"] = true // which a tenant that grew has, and its own test makes
	for _, change := range sample.Changes() {
		if !done[change.Path] {
			t.Errorf("no test makes the change %s", change.Path)
		}
		for _, f := range change.Fields {
			if f.Name == "" || f.Doc == "" || !slices.Contains([]reflect.Kind{reflect.String, reflect.Int, reflect.Bool}, f.Kind) {
				t.Errorf("%s: the field %+v cannot be a flag", change.Path, f)
			}
		}
	}
}

// delayed shows that a change of access counts after the delay, or two minutes
// after a person asked for it, while lists tell it at once.
func delayed(t *testing.T, s *site, c *clock) {
	t.Helper()
	groups := func(person string) int {
		t.Helper()
		var got list
		s.call(s.powerBI(person), "GET", personPath+"/groups", nil, &got)
		return len(got.Value)
	}
	if groups("outsider") != 0 {
		t.Fatal("the outsider reaches something")
	}
	s.change("workspaces/users", map[string]any{"workspace": "People", "person": "outsider@sample.example", "right": "Viewer"})
	if groups("outsider") != 0 {
		t.Error("the role counts at once")
	}
	if found := s.scan(s.WorkspaceID("People")).Workspaces[0].Users; len(found) != 3 {
		t.Errorf("the scan lists %d users, want the new one at once", len(found))
	}
	if res := s.call(s.powerBI("outsider"), "POST", personPath+"/RefreshUserPermissions", nil, nil); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	c.at = c.at.Add(time.Minute)
	if groups("outsider") != 0 {
		t.Error("the role counts before two minutes")
	}
	c.at = c.at.Add(time.Minute)
	if groups("outsider") != 1 {
		t.Error("the role does not count two minutes after permissions were refreshed")
	}
	s.change("workspaces/users", map[string]any{"workspace": "People", "person": "outsider@sample.example", "right": ""})
	c.at = c.at.Add(59 * time.Minute)
	if groups("outsider") != 1 {
		t.Error("what was taken away does not count any more, before the delay")
	}
	c.at = c.at.Add(time.Minute)
	if groups("outsider") != 0 {
		t.Error("what was taken away counts after the delay")
	}
}

// SAMPLE-07: what cannot be changed is said, and nothing is changed by it.
func TestChangesAreRefused(t *testing.T) {
	s := newSite(t, sample.Config{Unlimited: true})
	for name, c := range map[string]struct {
		path   string
		body   any
		status int
		says   string
	}{
		"unknown dataset":       {"datasets/rename", map[string]any{"dataset": "Nope", "to": "x"}, 404, `dataset "Nope"`},
		"unknown table":         {"tables/remove", map[string]any{"dataset": "Sales", "table": "Nope"}, 404, `table "Nope"`},
		"unknown column":        {"columns/remove", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Nope"}, 404, "Customer[Nope]"},
		"unknown measure":       {"measures/remove", map[string]any{"dataset": "Sales", "measure": "Nope"}, 404, `measure "Nope"`},
		"unknown role":          {"roles/remove", map[string]any{"dataset": "Sales", "role": "Nope"}, 404, `role "Nope"`},
		"unknown person":        {"people/disable", map[string]any{"person": "nobody@sample.example"}, 404, "nobody@sample.example"},
		"unknown group":         {"groups/add", map[string]any{"group": "Nope", "person": "ada@sample.example"}, 404, `group "Nope"`},
		"unknown app":           {"apps/users", map[string]any{"app": "Nope", "person": "ada@sample.example", "right": "Read"}, 404, `app "Nope"`},
		"a taken table":         {"tables/rename", map[string]any{"dataset": "Sales", "table": "Store", "to": "customer"}, 400, "already"},
		"a taken column":        {"columns/rename", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Region", "to": "EMAIL"}, 400, "already"},
		"a taken measure":       {"measures/rename", map[string]any{"dataset": "Sales", "measure": "Net sales", "to": "orders"}, 400, "already"},
		"a taken workspace":     {"workspaces/rename", map[string]any{"workspace": "Finance", "to": "people"}, 400, "already"},
		"no new name":           {"measures/rename", map[string]any{"dataset": "Sales", "measure": "Net sales"}, 400, "to is missing"},
		"a column with rows":    {"columns/expression", map[string]any{"dataset": "Sales", "table": "Customer", "column": "Region", "expression": "1"}, 400, "no calculated column"},
		"no such right":         {"workspaces/users", map[string]any{"workspace": "Finance", "person": "ada@sample.example", "right": "Owner"}, 400, "Owner"},
		"no such share":         {"datasets/share", map[string]any{"dataset": "Sales", "person": "ada@sample.example", "right": "ReadWrite"}, 400, "ReadWrite"},
		"no such endorsement":   {"datasets/endorse", map[string]any{"dataset": "Sales", "endorsement": "Nice"}, 400, "Nice"},
		"no such hole":          {"datasets/hole", map[string]any{"dataset": "Sales", "hole": "deep"}, 400, "deep"},
		"an unknown field":      {"keys/rotate", map[string]any{"often": true}, 400, "often"},
		"a fault without path":  {"faults", map[string]any{"status": 500}, 400, "path is missing"},
		"an impossible status":  {"faults", map[string]any{"path": "/x", "status": 42}, 400, "42"},
		"no scans to fail":      {"scans/fail", map[string]any{}, 400, "at least 1"},
		"consent elsewhere":     {"consents/give", map[string]any{"resource": "fabric", "permission": "a"}, 400, "fabric"},
		"no permission":         {"consents/give", map[string]any{"resource": "graph"}, 400, "permission is"},
		"no such registration":  {"applications/give", map[string]any{"application": "x", "permission": "a"}, 400, "app or scanner"},
		"a delay of less":       {"permissions/delay", map[string]any{"seconds": -1}, 400, "-1"},
		"a list":                {"keys/rotate", []any{}, 400, "body"},
		"a token of no person":  {"tokens", map[string]any{"person": "nobody"}, 404, "nobody"},
		"a token for elsewhere": {"tokens", map[string]any{"resource": "fabric"}, 400, "fabric"},
		"somebody disabled":     {"tokens", map[string]any{"person": "former@sample.example"}, 400, "disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			res := s.call("", "POST", sample.ControlPath+c.path, c.body, nil)
			if body := text(t, res); res.StatusCode != c.status || !strings.Contains(body, c.says) {
				t.Errorf("got %s %q, want %d and %q", res.Status, body, c.status, c.says)
			}
		})
	}
	if got := s.as("viewer").number("Sales", "[Net sales]"); got <= 0 {
		t.Errorf("net sales are %v", got)
	}
}

// SAMPLE-07: a page in a browser cannot change the tenant, whatever name leads to
// it, nor read from it what it was asked.
func TestOnlyItsOwnHostMayChangeIt(t *testing.T) {
	s := newSite(t, sample.Config{URL: "http://tenant.example:8090"})
	for name, c := range map[string]struct {
		method, path, host, origin, kind string
		want                             int
	}{
		"loopback":                     {"POST", "keys/rotate", "", "", "application/json", 204},
		"localhost":                    {"POST", "keys/rotate", "localhost:8090", "", "application/json", 204},
		"IPv6":                         {"POST", "keys/rotate", "[::1]:8090", "", "application/json", 204},
		"the address it is given":      {"POST", "keys/rotate", "tenant.example:8090", "", "application/json", 204},
		"a name that was led here":     {"POST", "keys/rotate", "evil.example", "", "application/json", 403},
		"a name like loopback":         {"POST", "keys/rotate", "127.0.0.1.evil.example", "", "application/json", 403},
		"reading by such a name":       {"GET", "requests", "evil.example:8090", "", "", 403},
		"a token by such a name":       {"POST", "tokens", "evil.example:8090", "", "application/json", 403},
		"a page of another origin":     {"POST", "keys/rotate", "", "http://evil.example", "application/json", 403},
		"a page of its own origin":     {"POST", "keys/rotate", "localhost:8090", "http://localhost:8090", "application/json", 204},
		"a form, which needs no leave": {"POST", "keys/rotate", "", "", "text/plain", 415},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, s.url+sample.ControlPath+c.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if c.host != "" {
				req.Host = c.host
			}
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			req.Header.Set("Content-Type", c.kind)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != c.want {
				t.Errorf("answered %s, want %d", res.Status, c.want)
			}
		})
	}
}
