package restapi_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/restapi"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

var update = flag.Bool("update", false, "rewrite the OpenAPI document")

// TOOLS-19, TOOLS-21: the document is generated from the catalogue, and a change
// of it shows in the committed one.
func TestDocument(t *testing.T) {
	got, err := restapi.Document(catalogue.All(catalogue.Stores{}))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil || string(got) != string(want) {
		t.Error("the document differs from openapi.json; run make generate and look at the difference")
	}
	var document struct {
		OpenAPI string                               `json:"openapi"`
		Paths   map[string]map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(got, &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s", document.OpenAPI)
	}
	// TOOLS-01: both ways.
	served := map[string]bool{}
	for path, methods := range document.Paths {
		for method, op := range methods {
			served[strings.ToUpper(method)+" "+path] = true
			if op["operationId"] == "" || op["summary"] == "" {
				t.Errorf("%s %s has no id or summary", method, path)
			}
		}
	}
	for _, d := range catalogue.All(catalogue.Stores{}) {
		key := d.Method + " " + restapi.Prefix + d.Path
		if !served[key] {
			t.Errorf("the document lacks %s", key)
		}
		delete(served, key)
	}
	for key := range served {
		t.Errorf("the document has %s, which no operation declares", key)
	}
}

type allow struct{}

func (allow) Allowed(context.Context, *policies.Principal, policies.Action, policies.Resource) (bool, error) {
	return true, nil
}
func (allow) Plan(context.Context, *policies.Principal, policies.Action, policies.Kind) (policies.Plan, error) {
	return policies.Plan{Kind: policies.Always}, nil
}

type noDatasets struct{}

func (noDatasets) FindDatasets(context.Context, *visibility.View, string) ([]knowledge.Dataset, error) {
	return nil, nil
}
func (noDatasets) NearestDatasets(context.Context, *visibility.View, string) ([]string, error) {
	return []string{"Sales"}, nil
}

type noAudit struct{}

func (noAudit) Refused(context.Context, *policies.Principal, operation.Refusal) error { return nil }

type input struct {
	Name  string `json:"name" doc:"A name" minLength:"1"`
	Count int    `json:"count,omitempty" doc:"How many" minimum:"1" default:"1"`
	Loud  bool   `json:"loud,omitempty" doc:"Loudly"`
}

type output struct {
	Name  string `json:"name" doc:"The name"`
	Count int    `json:"count" doc:"How many"`
	Loud  bool   `json:"loud" doc:"Loudly"`
}

func newServer(t *testing.T, failure error) *httptest.Server {
	t.Helper()
	handle := func(_ context.Context, _ *operation.Call, in input) (output, error) { return output(in), failure }
	say := operation.Operation[input, output]{
		Title: "Say", Doc: "Says it.", Command: "say", Surfaces: operation.API, Effect: operation.Reads,
		Ask: operation.OnBook[input](policies.Read), Handle: handle,
	}
	get, post := say, say
	get.Name, get.Route = "get_it", "GET /things/{name}"
	post.Name, post.Route = "post_it", "POST /things"
	log := slog.New(slog.DiscardHandler)
	api := restapi.New(restapi.Config{
		Operations: []*operation.Def{get.Def(), post.Def()},
		Guard:      &operation.Guard{Decider: allow{}, Visibility: visibility.New(allow{}, log), Datasets: noDatasets{}, Audit: noAudit{}, Log: log},
	})
	p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{policies.RoleViewer}, Via: policies.ViaBrowser}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(policies.NewContext(r.Context(), p)))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestArguments(t *testing.T) {
	s := newServer(t, nil)
	tests := map[string]struct {
		method, path, kind, body string
		status                   int
		says                     string
	}{
		"from path and query":           {"GET", "/things/tea?count=3&loud=true", "", "", 200, `{"name":"tea","count":3,"loud":true}`},
		"a name with a slash":           {"GET", "/things/a%2Fb", "", "", 200, `"name":"a/b"`},
		"from the body":                 {"POST", "/things", "application/json", `{"name":"tea"}`, 200, `{"name":"tea","count":1,"loud":false}`},
		"a number that is none":         {"GET", "/things/tea?count=three", "", "", 400, `\"count\": expected integer`},
		"an unknown parameter":          {"GET", "/things/tea?cuont=3", "", "", 400, `unknown argument`},
		"a parameter twice":             {"GET", "/things/tea?count=1&count=2", "", "", 400, `repeated`},
		"a body that is not JSON":       {"POST", "/things", "application/json", `{`, 400, `not a JSON object`},
		"a list for a body":             {"POST", "/things", "application/json", `[1]`, 400, `not a JSON object`},
		"a form":                        {"POST", "/things", "application/x-www-form-urlencoded", `name=tea`, 400, `Content-Type: application/json`},
		"arguments in a query and body": {"POST", "/things?name=x", "application/json", `{"name":"tea"}`, 400, `in the query string are not read`},
		"nothing that is needed":        {"POST", "/things", "", "", 400, `is missing`},
		"a path that is not there":      {"GET", "/nothing", "", "", 404, `nothing at this path`},
		"a method that is not served":   {"PUT", "/things", "", "", 404, `It serves POST`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+restapi.Prefix+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.kind != "" {
				r.Header.Set("Content-Type", tt.kind)
			}
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var raw json.RawMessage
			if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || !strings.Contains(strings.ToLower(string(raw)), strings.ToLower(tt.says)) {
				t.Errorf("%d %s, want %d with %s", resp.StatusCode, raw, tt.status, tt.says)
			}
		})
	}
}

// TOOLS-05: every kind is served as problem details with its status.
func TestProblems(t *testing.T) {
	for _, kind := range operation.ErrorKinds() {
		s := newServer(t, &operation.Error{Kind: kind, Sentence: "It went so.", Next: "Do that.", Names: []string{"a"}})
		resp, err := s.Client().Get(s.URL + restapi.Prefix + "/things/x")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var p restapi.Problem
		if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != kind.Status() || p.Status != kind.Status() || p.Kind != string(kind) || p.Detail != "It went so." || p.Next != "Do that." ||
			!slices.Equal(p.Names, []string{"a"}) || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %+v", kind, resp.StatusCode, p)
		}
	}
}
