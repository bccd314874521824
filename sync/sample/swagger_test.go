package sample_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/sync/sample"
)

// A swagger is Microsoft's description of the Power BI REST API.
type swagger struct {
	Definitions map[string]*schema
	Paths       map[string]map[string]struct {
		Responses  map[string]struct{ Schema *schema }
		Parameters []parameter
	}
	Parameters map[string]parameter
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Pattern    string
	Enum       []any
	Required   []string
	Properties map[string]*schema
	Items      *schema
	AllOf      []*schema
}

// publicData finds the public data that tests may read where it is present.
func publicData(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PBMB_PUBLIC_MODELS"); dir != "" {
		return dir
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for d := wd; filepath.Dir(d) != d; d = filepath.Dir(d) {
		dir := filepath.Join(d, "shared", "data", "powerbi")
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	t.Skip("the public data is not here; set PBMB_PUBLIC_MODELS to its folder")
	return ""
}

func readSwagger(t *testing.T) *swagger {
	t.Helper()
	root := publicData(t)
	var found string
	for _, name := range []string{"powerbi-csharp/swagger.json", "powerbi-csharp/sdk/swaggers/swagger.json"} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			found = filepath.Join(root, filepath.FromSlash(name))
		}
	}
	if found == "" {
		t.Skip("Microsoft's description of the API is not in " + root)
	}
	data, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	var s swagger
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// check lists where a value does not fit a schema. Names compare without letter
// case, since the description's casing is not that of real answers; what the
// description does not know is passed over.
func (s *swagger) check(at string, sch *schema, v any) []string {
	if sch == nil {
		return nil
	}
	if sch.Ref != "" && sch.Type != "array" {
		name := sch.Ref[strings.LastIndex(sch.Ref, "/")+1:]
		return s.check(at, s.Definitions[name], v)
	}
	var problems []string
	for _, part := range sch.AllOf {
		problems = append(problems, s.check(at, part, v)...)
	}
	bad := func(format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	switch v := v.(type) {
	case map[string]any:
		if sch.Type != "" && sch.Type != "object" {
			bad("an object where %s is described", sch.Type)
			return problems
		}
		for _, name := range sch.Required {
			if _, ok := lookUp(v, name); !ok {
				bad("%s is missing", name)
			}
		}
		for name, part := range sch.Properties {
			if value, ok := lookUp(v, name); ok {
				problems = append(problems, s.check(at+"."+name, part, value)...)
			}
		}
	case []any:
		if sch.Type != "array" {
			bad("a list where %q is described", sch.Type)
			return problems
		}
		item := sch.Items
		if item == nil && sch.Ref != "" { // a list that the description writes as if it were one
			item = &schema{Ref: sch.Ref}
		}
		for i, value := range v {
			problems = append(problems, s.check(fmt.Sprintf("%s[%d]", at, i), item, value)...)
		}
	case string:
		if sch.Type != "" && sch.Type != "string" {
			bad("the text %q where %s is described", v, sch.Type)
		}
		if len(sch.Enum) > 0 && !slices.Contains(sch.Enum, any(v)) {
			bad("%q is none of %v", v, sch.Enum)
		}
		if sch.Format == "uuid" && uuid.Validate(v) != nil {
			bad("%q is no uuid", v)
		}
		if sch.Format == "date-time" && !isTime(v) {
			bad("%q is no time", v)
		}
	case float64:
		if sch.Type != "number" && (sch.Type != "integer" || v != math.Trunc(v)) && sch.Type != "" {
			bad("the number %v where %s is described", v, sch.Type)
		}
	case bool:
		if sch.Type != "boolean" && sch.Type != "" {
			bad("%v where %s is described", v, sch.Type)
		}
	}
	return problems
}

func lookUp(m map[string]any, name string) (any, bool) {
	for key, v := range m {
		if strings.EqualFold(key, name) {
			return v, true
		}
	}
	return nil, false
}

// isTime takes times with and without a zone, as real answers have both.
func isTime(text string) bool {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

func TestTheSchemaCheckFindsMistakes(t *testing.T) {
	s := &swagger{Definitions: map[string]*schema{"T": {Type: "object", Required: []string{"a"}, Properties: map[string]*schema{
		"a": {Type: "string", Format: "uuid"}, "b": {Type: "array", Items: &schema{Type: "integer"}}, "c": {Type: "string", Enum: []any{"X"}},
	}}}}
	for _, text := range []string{`{}`, `{"a":"x"}`, `{"a":1}`, `{"A":"` + sample.TenantID + `","b":[1.5]}`, `{"A":"` + sample.TenantID + `","c":"Y"}`, `[]`} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if len(s.check("", &schema{Ref: "#/definitions/T"}, v)) == 0 {
			t.Errorf("%s passes", text)
		}
	}
}

// notDescribed are the operations that the tenant serves and Microsoft's
// description does not have, each with the reason why it is served.
var notDescribed = map[string]string{
	"POST /datasets/{datasetId}/executeDaxQueries":                  "younger than the description; it is refused, so that nobody waits for it",
	"POST /groups/{groupId}/datasets/{datasetId}/executeDaxQueries": "the same in a workspace",
}

// pathNames are the names of the description for the parts of paths that vary.
var pathNames = regexp.MustCompile(`\{(\w+)\}`)

func describedPath(path string) string { return pathNames.ReplaceAllString(path, "{${1}Id}") }

// A described is an operation of the tenant with its place in the description.
type described struct {
	method, path string // as the description has the path
	body         any
	query        string // what it needs
	who          string // of the person; empty for the scanner
	want         int
}

// operations are all that the tenant mounts, as this test asks them.
func operations(s *site) []described {
	special := map[string]described{
		"GET /datasets": {who: "ada"}, // who has a personal workspace
		"POST /datasets/{datasetId}/executeQueries":                  {body: oneQuery(`EVALUATE ROW ( "n", 1 )`)},
		"POST /groups/{groupId}/datasets/{datasetId}/executeQueries": {body: oneQuery(`EVALUATE VALUES ( Store[Channel] )`)},
		"POST /datasets/{datasetId}/refreshes":                       {body: map[string]any{"type": "Full"}, want: 202},
		"POST /groups/{groupId}/datasets/{datasetId}/refreshes":      {body: map[string]any{"notifyOption": "NoNotification"}, want: 202},
		"POST /groups/{groupId}/reports/{reportId}/GenerateToken":    {body: map[string]any{"accessLevel": "View"}},
		"POST /groups/{groupId}/datasets/{datasetId}/GenerateToken":  {body: map[string]any{"accessLevel": "View"}},
		"POST /GenerateToken":                                        {body: map[string]any{"datasets": []any{map[string]any{"id": s.DatasetID("Sales")}}}},
		"GET /capacities":                                            {who: "admin"},
		"POST /admin/workspaces/getInfo":                             {body: map[string]any{"workspaces": []string{s.WorkspaceID("Finance")}}, want: 202},
		"GET /admin/groups":                                          {query: "$top=5000&$expand=users,reports,dashboards,datasets,dataflows,workbooks"},
		"GET /admin/apps":                                            {query: "$top=100"},
		"GET /admin/activityevents":                                  {query: "startDateTime='2026-11-30T00:00:00'&endDateTime='2026-11-30T23:59:59'"},
	}
	var list []described
	for _, route := range s.Routes() {
		method, path, _ := strings.Cut(route, " ")
		path = describedPath(path)
		op := special[method+" "+path]
		op.method, op.path = method, path
		if op.want == 0 {
			op.want = http.StatusOK
		}
		if op.who == "" && !strings.HasPrefix(path, "/admin/") {
			op.who = "curator"
		}
		list = append(list, op)
	}
	return list
}

// placed puts ids in the place of the names in a path.
func placed(path string, ids map[string]string) string {
	if strings.HasPrefix(path, "/apps/") {
		path = strings.Replace(path, "{reportId}", "{appReportId}", 1) // the app's copy has an id of its own
	}
	return pathNames.ReplaceAllStringFunc(path, func(m string) string { return ids[m[1:len(m)-1]] })
}

// SAMPLE-02: every answer of an operation that Microsoft's description has fits it,
// and every operation is asked here.
func TestAnswersFitMicrosoftsDescription(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, Unlimited: true})
	description := readSwagger(t)
	scanner := s.scanner()
	var scan struct{ ID string }
	s.call(scanner, "POST", adminPath+"/workspaces/getInfo?lineage=true&datasourceDetails=true&datasetSchema=true&datasetExpressions=true&getArtifactUsers=true",
		map[string]any{"workspaces": []string{s.WorkspaceID("Commercial"), s.WorkspaceID("Finance"), s.WorkspaceID("People")}}, &scan)
	ids := s.ids(scan.ID)
	var tokens map[string]string
	for i, op := range operations(s) {
		if i%30 == 0 { // before they expire, as a minute passes for each
			tokens = map[string]string{"": s.scanner()}
		}
		t.Run(op.method+" "+op.path, func(t *testing.T) {
			if tokens[op.who] == "" {
				tokens[op.who] = s.powerBI(op.who)
			}
			operation, known := description.Paths["/v1.0/myorg"+op.path][strings.ToLower(op.method)]
			reason := notDescribed[op.method+" "+op.path]
			if known != (reason == "") {
				t.Fatalf("described: %v; the reason why not: %q", known, reason)
			}
			if !known {
				return
			}
			c.at = c.at.Add(time.Minute) // so that no refresh is in the way of the next
			address := personPath + placed(op.path, ids)
			ask := func(query string) (*http.Response, any) {
				res := s.call(tokens[op.who], op.method, address+"?"+strings.ReplaceAll(query, " ", "%20"), op.body, nil)
				var answer any
				if body := text(t, res); body != "" {
					if err := json.Unmarshal([]byte(strings.TrimPrefix(body, "\ufeff")), &answer); err != nil {
						t.Fatalf("answered %s: %s", res.Status, body)
					}
				}
				return res, answer
			}
			res, answer := ask(op.query)
			response, ok := operation.Responses[fmt.Sprint(res.StatusCode)]
			if !ok || res.StatusCode != op.want {
				t.Fatalf("answered %s %v, want %d", res.Status, answer, op.want)
			}
			if res.Header.Get("RequestId") == "" {
				t.Error("the answer has no RequestId")
			}
			problems := description.check("", response.Schema, answer)
			for _, p := range problems[:min(10, len(problems))] {
				t.Error(p)
			}
			// What the description says is required is missed.
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = description.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
				}
				if p.In != "query" || !p.Required {
					continue
				}
				if res, answer := ask(""); res.StatusCode != http.StatusBadRequest || !isError(answer) {
					t.Errorf("without %s it answers %s %v", p.Name, res.Status, answer)
				}
			}
		})
	}
}

// SAMPLE-02: every operation refuses alike who has no token, one for another
// audience, none of the rights, and asks for what is not there.
func TestRefusalsHaveTheirShape(t *testing.T) {
	s := sharedSite(t)
	scan := "5a3b1c00-7e57-4000-8000-0000000000ff"
	outsider, scanner, graph := s.powerBI("outsider"), s.scanner(), s.tokens("admin@sample.example", "User.Read").AccessToken
	admin := s.powerBI("admin")
	ids, nowhere := s.ids(scan), map[string]string{}
	for name := range ids {
		nowhere[name] = "5a3b1c00-7e57-4000-8000-0000000000ff"
	}
	for _, op := range operations(s) {
		t.Run(op.method+" "+op.path, func(t *testing.T) {
			query := "?" + strings.ReplaceAll(op.query, " ", "%20")
			address, missing := personPath+placed(op.path, ids)+query, personPath+placed(op.path, nowhere)+query
			for name, token := range map[string]string{"no token": "", "a token for Graph": graph, "no token at all": "x.y.z"} {
				res := s.call(token, op.method, address, op.body, nil)
				if res.StatusCode != http.StatusUnauthorized || text(t, res) != "" || res.Header.Get("WWW-Authenticate") == "" || res.Header.Get("RequestId") == "" {
					t.Errorf("%s is answered %s %s", name, res.Status, text(t, res))
				}
			}
			refused := func(what, token, address string, statuses ...int) {
				t.Helper()
				var answer any
				res := s.call(token, op.method, address, op.body, &answer)
				if !slices.Contains(statuses, res.StatusCode) || !isError(answer) {
					t.Errorf("%s is answered %s %v, want one of %v", what, res.Status, answer, statuses)
				}
			}
			if op.who == "" {
				refused("somebody who is no administrator", outsider, address, http.StatusUnauthorized)
				if strings.Contains(op.path, "{") {
					refused("what is not there", scanner, missing, http.StatusNotFound)
				}
				return
			}
			refused("an app on its own behalf", scanner, address, http.StatusForbidden)
			if strings.Contains(op.path, "{") {
				refused("who has no right", outsider, address, http.StatusNotFound)
				refused("what is not there", admin, missing, http.StatusNotFound)
			}
		})
	}
	var answer any
	if res := s.call(admin, "DELETE", personPath+"/groups/"+ids["groupId"], nil, &answer); res.StatusCode != http.StatusNotFound || !isError(answer) ||
		!strings.Contains(text(t, res), "does not serve DELETE") {
		t.Errorf("what is not served is answered %s %v", res.Status, answer)
	}
}

// isError reports whether an answer has one of Power BI's two shapes of errors.
func isError(answer any) bool {
	outer, _ := answer.(map[string]any)
	inner, _ := outer["error"].(map[string]any)
	code, _ := inner["code"].(string)
	message, _ := inner["message"].(string)
	newer, _ := inner["pbi.error"].(map[string]any)
	return code != "" && (message != "" || newer["code"] == code)
}

// ids are those of things that curator and the scanner reach, by their names in paths.
func (s *site) ids(scan string) map[string]string {
	s.t.Helper()
	commercial := s.WorkspaceID("Commercial")
	scanner := s.scanner()
	first := func(path string) string {
		s.t.Helper()
		var got list
		s.call(scanner, http.MethodGet, adminPath+path, nil, &got)
		return got.Value[0]["id"].(string)
	}
	ids := map[string]string{
		"groupId": commercial, "datasetId": s.DatasetID("Sales"), "scanId": scan, "appId": appID(s, scanner),
		"reportId": first("/groups/" + commercial + "/reports"), "dashboardId": first("/groups/" + commercial + "/dashboards"),
		"userId": "viewer@sample.example",
	}
	var copies list
	s.call(s.powerBI("curator"), http.MethodGet, personPath+"/apps/"+ids["appId"]+"/reports", nil, &copies)
	ids["appReportId"] = copies.Value[0]["id"].(string)
	ids["tileId"] = first("/dashboards/" + ids["dashboardId"] + "/tiles")
	var history list
	s.call(s.powerBI("curator"), http.MethodGet, personPath+"/datasets/"+ids["datasetId"]+"/refreshes?$top=1", nil, &history)
	ids["refreshId"] = history.Value[0]["requestId"].(string)
	return ids
}

const adminPath = sample.PowerBIPath + "/v1.0/myorg/admin"

func oneQuery(dax string) any {
	return map[string]any{"queries": []any{map[string]any{"query": dax}}}
}

func appID(s *site, scanner string) string {
	var apps list
	s.call(scanner, http.MethodGet, adminPath+"/apps?$top=10", nil, &apps)
	return apps.Value[0]["id"].(string)
}
