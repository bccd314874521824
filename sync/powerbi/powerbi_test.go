package powerbi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/sync/powerbi"
)

const dataset = "2b1c0000-0000-4000-8000-000000000001"

func newClient(t *testing.T, h http.HandlerFunc) *powerbi.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := fetch.NewFixed([]string{s.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return powerbi.New(s.URL+"/v1.0/myorg", c)
}

func answering(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// QUERY-01, QUERY-03
func TestExecuteQueryRequest(t *testing.T) {
	var path, auth string
	var body map[string]any
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.Method+" "+r.URL.RequestURI(), r.Header.Get("Authorization")
		json.NewDecoder(r.Body).Decode(&body)
		io.WriteString(w, `{"results":[{"tables":[{"rows":[]}]}]}`)
	})
	res, err := c.ExecuteQuery(t.Context(), "tok", dataset, "EVALUATE Sales")
	if err != nil || len(res.Rows) != 0 {
		t.Fatalf("got %v, %v", res, err)
	}
	if want := "POST /v1.0/myorg/datasets/" + dataset + "/executeQueries"; path != want || auth != "Bearer tok" {
		t.Errorf("got %s with %s", path, auth)
	}
	want := map[string]any{
		"queries":            []any{map[string]any{"query": "EVALUATE Sales"}},
		"serializerSettings": map[string]any{"includeNulls": true},
	}
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
}

// QUERY-04, QUERY-09
func TestExecuteQueryAnswers(t *testing.T) {
	num := func(s string) json.Number { return json.Number(s) }
	cases := map[string]struct {
		body string
		want powerbi.Result
	}{
		"a byte order mark and columns out of alphabetical order": {
			"\xef\xbb\xbf" + `{"results":[{"tables":[{"rows":[{"Product[Name]":"Bike","Product[Age]":3,"[n]":1.5}]}]}]}`,
			powerbi.Result{Columns: []string{"Product[Name]", "Product[Age]", "[n]"}, Rows: [][]any{{"Bike", num("3"), num("1.5")}}},
		},
		"blanks left out, in the first row too": {
			`{"results":[{"tables":[{"rows":[{"[b]":1},{"[a]":2},{},{"[c]":true,"[b]":null}]}]}]}`,
			powerbi.Result{Columns: []string{"[b]", "[a]", "[c]"}, Rows: [][]any{
				{num("1"), nil, nil}, {nil, num("2"), nil}, {nil, nil, nil}, {nil, nil, true},
			}},
		},
		"integers beyond 2^53 and long decimals": {
			`{"results":[{"tables":[{"rows":[{"[i]":9223372036854775807,"[d]":12345678901234.5678,"[e]":1E-7}]}]}]}`,
			powerbi.Result{Columns: []string{"[i]", "[d]", "[e]"}, Rows: [][]any{{num("9223372036854775807"), num("12345678901234.5678"), num("1E-7")}}},
		},
		"properties in other letter case, unknown ones, null errors": {
			`{"@odata.context":"x","InformationProtectionLabel":{"id":"5"},"Results":[{"Error":null,"more":[1,{"a":[]}],"Tables":[{"new":{},"Rows":[{"[a]":"x"}],"error":null}]}]}`,
			powerbi.Result{Columns: []string{"[a]"}, Rows: [][]any{{"x"}}},
		},
		"too many rows, said inside the table": {
			`{"results":[{"tables":[{"rows":[{"[a]":1}],"error":{"code":"X","message":"More than 100000 rows in a query result"}}]}]}`,
			powerbi.Result{Columns: []string{"[a]"}, Rows: [][]any{{num("1")}}, Truncated: "More than 100000 rows in a query result"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newClient(t, answering(200, nil, c.body)).ExecuteQuery(t.Context(), "tok", dataset, "EVALUATE x")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// QUERY-04
func TestErrorInsideA200IsNoResult(t *testing.T) {
	const fault = `{"code":"SomeError","message":"Something broke."}`
	for name, body := range map[string]string{
		"top level":                       `{"error":` + fault + `,"results":[{"tables":[{"rows":[{"[a]":1}]}]}]}`,
		"result level":                    `{"results":[{"tables":[{"rows":[{"[a]":1}]}],"error":` + fault + `}]}`,
		"result level, before the tables": `{"results":[{"error":` + fault + `,"tables":[{"rows":[{"[a]":1}]}]}]}`,
		"table level":                     `{"results":[{"tables":[{"rows":[{"[a]":1}],"error":` + fault + `}]}]}`,
		"beside two tables":               `{"results":[{"tables":[{"rows":[{"[a]":1}]},{"rows":[{"[a]":1}]}],"error":` + fault + `}]}`,
		"after a truncation": `{"results":[{"tables":[{"rows":[{"[a]":1}],"error":{"message":"More than 9 rows in a query result"}}],
			"error":` + fault + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			res, err := newClient(t, answering(200, nil, body)).ExecuteQuery(t.Context(), "tok", dataset, "EVALUATE x")
			var e *powerbi.Error
			if !errors.As(err, &e) || res != nil {
				t.Fatalf("got %v, %v", res, err)
			}
			if e.Code != "SomeError" || e.Message != "Something broke." || e.Status != 200 {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// QUERY-06
func TestRefusals(t *testing.T) {
	details := func(code, text string) string {
		return fmt.Sprintf(`{"error":{"code":%q,"pbi.error":{"code":%q,"parameters":{},"details":[
			{"code":"DetailsMessage","detail":{"type":1,"value":%q}},{"code":"AnalysisServicesErrorCode","detail":{"type":1,"value":"3241803862"}}]}}}`, code, code, text)
	}
	cases := map[string]struct {
		status int
		header http.Header
		body   string
		want   powerbi.Error
		unseen bool
	}{
		"a DAX error": {400, http.Header{"Requestid": {"r-1"}}, "\xef\xbb\xbf" + details("DatasetExecuteQueriesError", "Query (1, 15) Not found."),
			powerbi.Error{Status: 400, Code: "DatasetExecuteQueriesError", Message: "Query (1, 15) Not found.", RequestID: "r-1"}, false},
		"an older error": {400, nil, `{"error":{"code":"InvalidRequest","message":"Bad.","target":"x"}}`,
			powerbi.Error{Status: 400, Code: "InvalidRequest", Message: "Bad."}, false},
		"an error with a code at the inner level only": {400, nil, `{"Error":{"pbi.error":{"code":"Inner","details":[]}}}`,
			powerbi.Error{Status: 400, Code: "Inner"}, false},
		"a token that ended": {401, nil, ``, powerbi.Error{Status: 401}, true},
		"no right":           {403, nil, details("PowerBINotAuthorizedException", ""), powerbi.Error{Status: 403, Code: "PowerBINotAuthorizedException"}, true},
		"no such thing":      {404, nil, details("PowerBIEntityNotFound", "You cannot."), powerbi.Error{Status: 404, Code: "PowerBIEntityNotFound", Message: "You cannot."}, true},
		"throttled":          {429, http.Header{"Retry-After": {"17"}}, `{}`, powerbi.Error{Status: 429, RetryAfter: 17 * time.Second}, false},
		"a gateway's page":   {502, nil, `<html>`, powerbi.Error{Status: 502}, false},
		"a date to retry at": {429, http.Header{"Retry-After": {"Fri, 31 Dec 1999 23:59:59 GMT"}}, ``, powerbi.Error{Status: 429}, false},
		"a negative waiting": {429, http.Header{"Retry-After": {"-5"}}, ``, powerbi.Error{Status: 429}, false},
		"an error as a text": {500, nil, `{"error":"boom"}`, powerbi.Error{Status: 500}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, answering(c.status, c.header, c.body)).ExecuteQuery(t.Context(), "tok", dataset, "EVALUATE x")
			var e *powerbi.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(c.want, *e); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if e.Unseen() != c.unseen || e.Throttled() != (c.status == 429) {
				t.Errorf("unseen %v, throttled %v", e.Unseen(), e.Throttled())
			}
			if e.Message != "" && strings.Contains(err.Error(), e.Message) {
				t.Errorf("the error's text %q has Power BI's sentence in it", err)
			}
		})
	}
}

func TestUnknownShapesAreErrors(t *testing.T) {
	for name, body := range map[string]string{
		"empty":         ``,
		"not JSON":      `<html>secret</html>`,
		"cut off":       `{"results":[{"tables":[{"rows":[{"[a]":`,
		"no table":      `{"results":[]}`,
		"an array":      `[]`,
		"nested values": `{"results":[{"tables":[{"rows":[{"[a]":{"secret":1}}]}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			res, err := newClient(t, answering(200, nil, body)).ExecuteQuery(t.Context(), "tok", dataset, "EVALUATE x")
			if err == nil || res != nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, %v", res, err)
			}
			if !errors.Is(err, powerbi.ErrShape) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLastRefresh(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"the newest completed one": {`{"value":[{"status":"Unknown","endTime":null},{"Status":"Failed","endTime":"2026-03-03T00:00:00Z"},
			{"status":"Completed","endTime":"2026-03-02T01:02:03.25Z"},{"status":"Completed","endTime":"2026-03-01T00:00:00Z"}]}`, "2026-03-02T01:02:03.25Z"},
		"a time without a zone": {`{"value":[{"status":"completed","endTime":"2026-03-02T01:02:03.5"}]}`, "2026-03-02T01:02:03.5Z"},
		"none":                  {`{"value":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at, ok, err := newClient(t, answering(200, nil, c.body)).LastRefresh(t.Context(), "tok", dataset)
			if err != nil {
				t.Fatal(err)
			}
			if got := at.Format(time.RFC3339Nano); ok != (c.want != "") || ok && got != c.want {
				t.Errorf("got %v %v, want %q", got, ok, c.want)
			}
		})
	}
}

// SYNC-04, SYNC-05, VIS-19, VIS-20
func TestScanResult(t *testing.T) {
	c := newClient(t, answering(200, nil, `{"datasourceInstances":[{"connectionDetails":{"server":"MARK"}}],"workspaces":[
		{"id":"w1","Name":"North","type":"Workspace","users":[
			{"groupUserAccessRight":"Viewer","identifier":"mira@north.example","graphId":"O1","principalType":"User"},
			{"groupUserAccessRight":"Admin","identifier":"G1","principalType":"Group"},
			{"groupUserAccessRight":"Admin","identifier":"mira@north.example","principalType":"User"},
			{"identifier":"G2","graphId":"G2","principalType":"Group"}],
		 "Lakehouse":[{"id":"x"}],
		 "datasets":[{"id":"d1","name":"Sales","expressions":[{"name":"Server","expression":"MARK"}],
			"datasetUserAccessRight":"None","sensitivityLabel":{"labelId":"l1"},"endorsementDetails":{"endorsement":"Certified"},
			"tables":[{"name":"T","source":[{"expression":"MARK"}],"measures":[{"name":"M","expression":"SUM ( T[a] )"}],
				"columns":[{"name":"a","dataType":"Int64","columnType":"Data"}]}],
			"users":[{"appUserAccessRight":"ReadExplore","graphId":"O2","principalType":"User"},{"datasetUserAccessRight":null,"graphId":"O3"}]}]},
		{"id":"w2"}]}`))
	var got []*powerbi.Workspace
	err := c.ScanResult(t.Context(), "tok", "s1", func(w *powerbi.Workspace) error { got = append(got, w); return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []*powerbi.Workspace{{
		ID: "w1", Name: "North", Type: "Workspace",
		Users: []powerbi.Access{
			{Right: "Viewer", ObjectID: "O1", PrincipalType: "User"},
			{Right: "Admin", ObjectID: "G1", PrincipalType: "Group"},
			{Right: "Admin", ObjectID: "", PrincipalType: "User"},
			{Right: "", ObjectID: "G2", PrincipalType: "Group"},
		},
		Datasets: []powerbi.Dataset{{
			ID: "d1", Name: "Sales", Endorsement: powerbi.Endorsement{Endorsement: "Certified"}, SensitivityLabel: powerbi.Label{LabelID: "l1"},
			Tables: []powerbi.Table{{
				Name: "T", Measures: []powerbi.Measure{{Name: "M", Expression: "SUM ( T[a] )"}},
				Columns: []powerbi.Column{{Name: "a", DataType: "Int64", ColumnType: "Data"}},
			}},
			Users: []powerbi.Access{{Right: "ReadExplore", ObjectID: "O2", PrincipalType: "User"}, {ObjectID: "O3"}},
		}},
	}, {ID: "w2"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(fmt.Sprintf("%+v", *got[0]), "MARK") {
		t.Error("an expression or source came through")
	}

	stop := errors.New("stop")
	calls := 0
	if err := c.ScanResult(t.Context(), "tok", "s1", func(*powerbi.Workspace) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// SYNC-06
func TestScanResultWithoutWorkspacesIsAnError(t *testing.T) {
	for _, body := range []string{`{}`, `{"workspaces":[{"id":"w1"}`, `{"error":{"code":"X"}}`, `{"workspaces":{}}`} {
		if err := newClient(t, answering(200, nil, body)).ScanResult(t.Context(), "tok", "s", func(*powerbi.Workspace) error { return nil }); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
}

// What is of another shape than is documented is counted and left out, and the rest
// of the workspace comes.
func TestScanResultWithOddPieces(t *testing.T) {
	const body = `{"workspaces":[
		{"id":"w1","name":"W","users":[{"groupUserAccessRight":"Viewer","graphId":"g"},"odd"],"Lakehouse":[{"id":1}],
			"datasets":[{"id":"d1","name":"D"},{"id":"d2","name":["odd"]},7,{"id":"d3","tables":"odd"},null],
			"reports":[{"id":3},{"id":"r1","name":"R","new":{"a":1}}]},
		{"id":"w2","users":"odd"},
		{"id":["odd"],"name":"W3"},
		{"name":"W4"}]}`
	var got []powerbi.Workspace
	err := newClient(t, answering(200, nil, body)).ScanResult(t.Context(), "tok", "s", func(w *powerbi.Workspace) error {
		got = append(got, *w)
		return nil
	})
	if err != nil || len(got) != 4 {
		t.Fatalf("got %+v, %v", got, err)
	}
	w := got[0]
	if len(w.Datasets) != 2 || w.Datasets[0].Name != "D" || len(w.Reports) != 1 || w.Reports[0].Name != "R" || w.Unreadable != 4 {
		t.Errorf("got %+v", w)
	}
	if len(w.Users) != 2 || w.Users[0].Right != "Viewer" || w.Users[1] != (powerbi.Access{}) || w.DataRetrievalState != "" {
		t.Errorf("users %+v", w.Users)
	}
	for _, w := range got[1:3] {
		if w.DataRetrievalState == "" {
			t.Errorf("it came in full: %+v", w)
		}
	}
}
