package sample_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body = io.NopCloser(strings.NewReader(string(data)))
	return string(data)
}

// SAMPLE-07
func TestStateChangesWhileItRuns(t *testing.T) {
	s := newSite(t, sample.Config{})
	change := func(path string, body any) {
		t.Helper()
		if res := s.call("", "POST", "/_sample/"+path, body, nil); res.StatusCode != http.StatusNoContent {
			t.Fatalf("%s answered %s: %s", path, res.Status, text(t, res))
		}
	}
	outsider := s.powerBI("outsider")
	groups := func() *http.Response { return s.call(outsider, "GET", personPath+"/groups", nil, nil) }

	change("workspaces/users", map[string]any{"workspace": "Finance", "person": "outsider@sample.example", "right": "Viewer"})
	contains(t, text(t, groups()), `"name":"Finance"`)
	change("workspaces/users", map[string]any{"workspace": "Finance", "person": "outsider@sample.example", "right": ""})
	if body := text(t, groups()); strings.Contains(body, "Finance") {
		t.Errorf("still a member: %s", body)
	}

	change("faults", sample.Fault{Path: sample.PowerBIPath, Count: 1, Status: 429, RetryAfter: 7})
	if res := groups(); res.StatusCode != 429 || res.Header.Get("Retry-After") != "7" {
		t.Errorf("throttled: %s", res.Status)
	}
	if res := groups(); res.StatusCode != 200 {
		t.Errorf("after the fault: %s", res.Status)
	}
	change("faults", sample.Fault{Path: "*groups", Status: 503})
	for range 3 {
		if res := groups(); res.StatusCode != 503 {
			t.Errorf("failing: %s", res.Status)
		}
	}
	if res := s.call("", "DELETE", "/_sample/faults", nil, nil); res.StatusCode != http.StatusNoContent {
		t.Fatal(res.Status)
	}
	if res := groups(); res.StatusCode != 200 {
		t.Errorf("mended: %s", res.Status)
	}

	change("measures/rename", map[string]any{"dataset": "Sales", "measure": "Net sales", "to": "Net revenue"})
	var scan struct{ ID string }
	token := s.scanner()
	s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true", map[string]any{"workspaces": []string{s.WorkspaceID("Commercial")}}, &scan)
	var got scanAnswer
	s.call(token, "GET", adminPath+"/workspaces/scanResult/"+scan.ID, nil, &got)
	if expression(got.Workspaces[0].Datasets[0], "Net revenue") == "" || expression(got.Workspaces[0].Datasets[0], "Net sales") != "" {
		t.Error("the measure kept its name")
	}
	if res := s.call("", "POST", "/_sample/measures/rename", map[string]any{"dataset": "Sales", "measure": "Nope", "to": "x"}, nil); res.StatusCode != 404 {
		t.Errorf("an unknown measure: %s", res.Status)
	}
	before := s.Requests("*executeQueries")
	s.call(outsider, "POST", personPath+"/datasets/"+s.DatasetID("Sales")+"/executeQueries", oneQuery("EVALUATE { 1 }"), nil)
	if n := s.Requests("*executeQueries"); n != before+1 {
		t.Errorf("%d requests counted, want %d", n, before+1)
	}
	if res, err := http.Post(s.url+"/_sample/faults", "text/plain", strings.NewReader("{}")); err != nil || res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form of another origin is taken: %v %v", res.Status, err)
	}
}
