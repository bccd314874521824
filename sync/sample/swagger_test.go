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
		Responses map[string]struct{ Schema *schema }
	}
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

// SAMPLE-02: every answer of an operation that Microsoft's description has fits it.
func TestAnswersFitMicrosoftsDescription(t *testing.T) {
	s := sharedSite(t)
	described := readSwagger(t)
	curator, scanner := s.powerBI("curator"), s.scanner()
	var scan struct{ ID string }
	s.call(scanner, "POST", adminPath+"/workspaces/getInfo?lineage=true&datasourceDetails=true&datasetSchema=true&datasetExpressions=true&getArtifactUsers=true",
		map[string]any{"workspaces": []string{s.WorkspaceID("Commercial"), s.WorkspaceID("Finance"), s.WorkspaceID("People")}}, &scan)
	names := map[string]string{
		"groupId": s.WorkspaceID("Commercial"), "datasetId": s.DatasetID("Sales"), "scanId": scan.ID, "appId": appID(s, scanner),
	}
	for _, op := range []struct {
		method, path, token, query string
		body                       any
	}{
		{"get", "/groups", curator, "", nil},
		{"get", "/groups/{groupId}/users", curator, "", nil},
		{"get", "/groups/{groupId}/datasets", curator, "", nil},
		{"get", "/groups/{groupId}/datasets/{datasetId}", curator, "", nil},
		{"get", "/groups/{groupId}/datasets/{datasetId}/users", curator, "", nil},
		{"get", "/groups/{groupId}/datasets/{datasetId}/refreshes", curator, "", nil},
		{"get", "/groups/{groupId}/reports", curator, "", nil},
		{"get", "/datasets", s.powerBI("ada"), "", nil},
		{"get", "/datasets/{datasetId}", curator, "", nil},
		{"get", "/datasets/{datasetId}/users", curator, "", nil},
		{"get", "/datasets/{datasetId}/refreshes", curator, "?$top=1", nil},
		{"get", "/reports", curator, "", nil},
		{"get", "/apps", curator, "", nil},
		{"get", "/apps/{appId}/reports", curator, "", nil},
		{"post", "/datasets/{datasetId}/executeQueries", curator, "", oneQuery(`EVALUATE ROW ( "n", 1 )`)},
		{"post", "/groups/{groupId}/datasets/{datasetId}/executeQueries", curator, "", oneQuery(`EVALUATE VALUES ( Store[Channel] )`)},
		{"get", "/admin/workspaces/modified", scanner, "", nil},
		{"post", "/admin/workspaces/getInfo", scanner, "", map[string]any{"workspaces": []string{s.WorkspaceID("Finance")}}},
		{"get", "/admin/workspaces/scanStatus/{scanId}", scanner, "", nil},
		{"get", "/admin/workspaces/scanResult/{scanId}", scanner, "", nil},
		{"get", "/admin/apps", scanner, "?$top=100", nil},
		{"get", "/admin/apps/{appId}/users", scanner, "", nil},
	} {
		t.Run(op.method+" "+op.path, func(t *testing.T) {
			operation, ok := described.Paths["/v1.0/myorg"+op.path][op.method]
			if !ok {
				t.Fatal("the description has no such operation")
			}
			path := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(op.path, func(m string) string { return names[m[1:len(m)-1]] })
			var answer any
			res := s.call(op.token, strings.ToUpper(op.method), sample.PowerBIPath+"/v1.0/myorg"+path+op.query, op.body, &answer)
			response, ok := operation.Responses[fmt.Sprint(res.StatusCode)]
			if !ok {
				t.Fatalf("answered %s, which the description does not have", res.Status)
			}
			problems := described.check("", response.Schema, answer)
			if len(problems) > 10 {
				problems = problems[:10]
			}
			for _, p := range problems {
				t.Error(p)
			}
		})
	}
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
