package sample_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

func TestGraphPagesGroups(t *testing.T) {
	s := sharedSite(t)
	token := s.tokens("joiner@sample.example", "User.Read").AccessToken
	path := sample.GraphPath + "/v1.0/me/transitiveMemberOf/microsoft.graph.group?$select=id,displayName&$top=999"
	seen := map[string]bool{}
	pages := 0
	for path != "" {
		var page struct {
			Next  string `json:"@odata.nextLink"`
			Value []struct{ ID string }
		}
		if res := s.call(token, "GET", path, nil, &page); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		for _, g := range page.Value {
			seen[g.ID] = true
		}
		pages++
		path = strings.TrimPrefix(page.Next, s.url)
	}
	if pages != 2 || len(seen) != 1200 {
		t.Errorf("%d groups on %d pages, want 1200 on 2", len(seen), pages)
	}
	var all struct{ Value []string }
	s.call(token, "POST", sample.GraphPath+"/v1.0/me/getMemberGroups", map[string]any{"securityEnabledOnly": false}, &all)
	if len(all.Value) != 1200 {
		t.Errorf("getMemberGroups gave %d", len(all.Value))
	}
}

// SAMPLE-03: groups nested three deep.
func TestGraphGivesNestedGroups(t *testing.T) {
	s := sharedSite(t)
	var got list
	s.call(s.tokens("grace@sample.example", "User.Read").AccessToken, "GET",
		sample.GraphPath+"/v1.0/me/transitiveMemberOf/microsoft.graph.group", nil, &got)
	if names := strings.Join(got.names("displayName"), ", "); names != "Commercial department, Regional managers, West team" {
		t.Errorf("groups %s", names)
	}
	var problem struct{ Error struct{ Code string } }
	res := s.call("", "GET", sample.GraphPath+"/v1.0/me", nil, &problem)
	if res.StatusCode != 401 || problem.Error.Code != "InvalidAuthenticationToken" {
		t.Errorf("without a token: %s %+v", res.Status, problem)
	}
}

// SAMPLE-02: what else of the directory may be read, and how Graph says no.
func TestGraphDirectory(t *testing.T) {
	s := sharedSite(t)
	token := s.tokens("admin@sample.example", "User.Read GroupMember.Read.All").AccessToken
	const root = sample.GraphPath + "/v1.0"
	get := func(path string) (*http.Response, map[string]any) {
		t.Helper()
		var answer map[string]any
		return s.call(token, "GET", root+path, nil, &answer), answer
	}
	own := objectID(s, "admin@sample.example")
	for _, name := range []string{own, "ADMIN@sample.example"} {
		if res, me := get("/users/" + name); res.StatusCode != http.StatusOK || me["id"] != own {
			t.Errorf("oneself as %s: %s %v", name, res.Status, me)
		}
	}
	var groups list
	s.call(token, "GET", root+"/me/transitiveMemberOf", nil, &groups)
	kinds := map[any]int{}
	for _, g := range groups.Value {
		kinds[g["@odata.type"]]++
	}
	if kinds["#microsoft.graph.directoryRole"] != 1 || kinds["#microsoft.graph.group"] != 1 {
		t.Errorf("without the cast: %v", kinds)
	}
	s.call(s.tokens("grace@sample.example", "User.Read").AccessToken, "GET", root+"/me/transitiveMemberOf/microsoft.graph.group", nil, &groups)
	regional := ""
	for _, g := range groups.Value {
		if g["displayName"] == "Regional managers" {
			regional = g["id"].(string)
		}
	}
	if res := s.call(s.tokens("admin@sample.example", "User.Read").AccessToken, "GET", root+"/groups/"+regional, nil, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a group without the permission: %s", res.Status)
	}
	if res, g := get("/groups/" + regional); res.StatusCode != http.StatusOK || g["displayName"] != "Regional managers" {
		t.Errorf("a group: %s %v", res.Status, g)
	}
	var members list
	s.call(token, "GET", root+"/groups/"+regional+"/members", nil, &members)
	if got := strings.Join(members.names("displayName"), ", "); got != "Ada Ferrant, Noor Haddad, West team" {
		t.Errorf("its members are %s", got)
	}
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/users/viewer@sample.example":                 {403, "Authorization_RequestDenied"},
		"/users/nobody":                                {403, "Authorization_RequestDenied"},
		"/groups/" + own:                               {404, "Request_ResourceNotFound"},
		"/groups/" + regional + "/members?$top=0":      {400, "Request_UnsupportedQuery"},
		"/groups/" + regional + "/members?$count=true": {400, "Request_UnsupportedQuery"},
		"/me/messages":                                 {404, "NotServedBySampleTenant"},
	} {
		res, answer := get(path)
		problem, _ := answer["error"].(map[string]any)
		inner, _ := problem["innerError"].(map[string]any)
		if res.StatusCode != want.status || problem["code"] != want.code || inner["request-id"] == nil || inner["client-request-id"] == nil {
			t.Errorf("%s: %s %v", path, res.Status, answer)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+root+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("client-request-id", "mine")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Header.Get("client-request-id") != "mine" || res.Header.Get("request-id") == "" {
		t.Errorf("the ids of a request are %q and %q", res.Header.Get("client-request-id"), res.Header.Get("request-id"))
	}
}
