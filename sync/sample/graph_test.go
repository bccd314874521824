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
