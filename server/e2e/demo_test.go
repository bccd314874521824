package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const refused = "DEFINE VAR customer_names = VALUES(Customer[Customer]) EVALUATE Customer"

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

type rows struct {
	Columns     []struct{ Name, Type string } `json:"columns"`
	Rows        [][]any                       `json:"rows"`
	DataAt      string                        `json:"data_at"`
	RanAs       string                        `json:"ran_as"`
	RowSecurity string                        `json:"row_level_security"`
	DAX         string                        `json:"dax"`
}

type page struct {
	Items []struct {
		Name, Table, Dataset, Kind, DAX string
		PII                             bool
	} `json:"items"`
	Total     int `json:"total"`
	PIIHidden int `json:"pii_hidden"`
}

func (p page) names() []string {
	var names []string
	for _, i := range p.Items {
		names = append(names, i.Name)
	}
	return names
}

// queriesSeen is how many queries the sample tenant's Power BI was ever asked.
func (d *demo) queriesSeen(t *testing.T) int {
	t.Helper()
	resp, err := http.Get(d.SampleURL + "/_sample/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(raw), "executeQueries")
}

// OPS-01, OPS-03: the walk that the product is for, through real clients.
func TestDemo(t *testing.T) {
	d := newDemo(t, newData(t))
	// How soon is measured by make bench, on a machine that does nothing else.
	t.Logf("ready in %v", d.ReadyIn)
	if !strings.HasPrefix(d.URL, "http://localhost:") || d.MCPURL != d.URL+"/api/mcp" {
		t.Errorf("addresses %q and %q", d.URL, d.MCPURL)
	}
	const sales, viewer, admin, outsider = "Sales", "viewer@sample.example", "admin@sample.example", "outsider@sample.example"
	byRegion := `EVALUATE SUMMARIZECOLUMNS ( Customer[Region], "Net sales", [Net sales] ) ORDER BY Customer[Region]`
	reads := []call{
		{"whoami", nil},
		{"search", map[string]any{"query": "net sales by region last quarter"}},
		{"list_datasets", nil},
		{"get_dataset", map[string]any{"dataset": sales}},
		{"list_measures", map[string]any{"dataset": sales}},
		{"list_columns", map[string]any{"dataset": sales, "table": "Customer"}},
		{"execute_dax", map[string]any{"dataset": sales, "dax": byRegion}},
	}

	for _, generation := range []string{"v1", "v2"} {
		t.Run("a client of generation "+generation+" connects and asks", func(t *testing.T) {
			s := d.connect(t, generation, viewer, reads...)
			// OAUTH-01, -06, -08, -29, -30, -32
			if s.Authorization["code_challenge_method"] != "S256" || s.Authorization["resource"] != d.MCPURL {
				t.Errorf("authorization request %v", s.Authorization)
			}
			if s.ISS != d.URL+"/api/auth" || s.State != "state-of-the-client" {
				t.Errorf("iss %q, state %q", s.ISS, s.State)
			}
			if s.TokenHeader["alg"] != "EdDSA" || s.TokenHeader["typ"] != "at+jwt" || fmt.Sprint(s.Token["aud"]) != "["+d.MCPURL+"]" && s.Token["aud"] != d.MCPURL {
				t.Errorf("token %v %v", s.TokenHeader, s.Token)
			}
			if life := s.Token["exp"].(float64) - s.Token["iat"].(float64); life != 3600 {
				t.Errorf("the token lives %v s", life)
			}
			// OAUTH-18: it refreshed by itself.
			if !s.Refreshed || s.AfterRefresh.IsError || s.AfterRefresh.Thrown != "" {
				t.Errorf("after the access token was spoilt: refreshed %v, %+v", s.Refreshed, s.AfterRefresh)
			}
			// MCP-03
			if s.Session != nil {
				t.Errorf("a session id was issued: %q", *s.Session)
			}
			// TOOLS-06, as far as it is built.
			var names []string
			for _, tool := range s.Tools {
				names = append(names, tool["name"].(string))
			}
			if want := []string{"execute_dax", "get_dataset", "list_columns", "list_datasets", "list_measures", "search", "whoami"}; !slices.Equal(names, want) {
				t.Errorf("tools %q, want %q", names, want)
			}
			for _, r := range s.Results {
				if r.IsError || r.Thrown != "" {
					t.Errorf("%s: %s%s", r.Tool, r.Thrown, r.Text)
				}
			}
			if t.Failed() {
				return
			}
			who := decode[map[string]any](t, s.Results[0].Structured)
			if who["email"] != viewer || fmt.Sprint(who["roles"]) != "[viewer]" || who["via"] != "connector" {
				t.Errorf("whoami %v", who)
			}
			found := decode[page](t, s.Results[1].Structured)
			if len(found.Items) == 0 || found.Items[0].Name != "Net sales" || found.Items[0].Kind != "measure" || found.Items[0].Dataset != sales {
				t.Errorf("search found %+v first", found.Items)
			}
			if columns := decode[page](t, s.Results[5].Structured); !slices.Contains(columns.names(), "Customer") || columns.PIIHidden != 0 {
				t.Errorf("columns %v", columns)
			}
			answer := decode[rows](t, s.Results[6].Structured)
			if len(answer.Rows) < 3 || answer.RanAs == "" || answer.DataAt == "" || answer.RowSecurity != "not defined" {
				t.Errorf("execute_dax answered %+v", answer)
			}
			t.Logf("generation %s: protocol %s, connected in %d ms", generation, s.Protocol, s.ConnectedMS)
		})
	}

	t.Run("sign-in through the sample tenant's Entra page", func(t *testing.T) {
		var s session
		node(t, &s, []call{{"whoami", map[string]any{}}}, "mcp.mjs", "v1", d.MCPURL, viewer, "microsoft")
		if who := decode[map[string]any](t, s.Results[0].Structured); who["email"] != viewer {
			t.Errorf("whoami %v", who)
		}
	})

	t.Run("the numbers are those of the rows", func(t *testing.T) {
		s := d.connect(t, "v1", viewer, call{"execute_dax", map[string]any{"dataset": sales, "dax": byRegion}},
			call{"execute_dax", map[string]any{"dataset": sales, "dax": `EVALUATE ROW ( "all", [Net sales], "sum", SUMX ( VALUES ( Customer[Region] ), [Net sales] ) )`}})
		var sum float64
		for _, r := range decode[rows](t, s.Results[0].Structured).Rows {
			sum += r[1].(float64)
		}
		all := decode[rows](t, s.Results[1].Structured).Rows[0]
		if diff := all[0].(float64) - sum; diff > 0.01 || diff < -0.01 {
			t.Errorf("the regions add up to %v, all of it is %v", sum, all[0])
		}
	})

	t.Run("personal data is marked", func(t *testing.T) {
		// PII-07
		if a := d.rest(t, viewer, restCall{"POST", "/api/v1/admin/pii/mark", map[string]any{"reference": "Customer[Customer]"}})[0]; a.Status != 403 {
			t.Errorf("a viewer marking got %d", a.Status)
		}
		a := d.rest(t, admin, restCall{"POST", "/api/v1/admin/pii/mark", map[string]any{"reference": "Customer[Customer]", "note": "Customer names are personal data"}})[0]
		if a.Status != 200 || a.Body["columns"].(float64) < 1 {
			t.Fatalf("marking answered %+v", a)
		}
		before := d.queriesSeen(t)
		// PII-21, -64, -71, -81, -83, -84, -88, -90, -101, -139
		spellings := []string{
			refused,
			"DEFINE VAR customer_names = VALUES ( 'CUSTOMER' [customer] ) /* nothing */ EVALUATE Customer -- really",
			"EVALUATE VALUES ( Ｃｕｓｔｏｍｅｒ[Ｃｕｓｔｏｍｅｒ] )",
			"EVALUATE 'Customer'",
		}
		calls := []call{{"list_columns", map[string]any{"dataset": sales, "table": "Customer"}}}
		for _, q := range spellings {
			calls = append(calls, call{"execute_dax", map[string]any{"dataset": sales, "dax": q}})
		}
		calls = append(calls, call{"execute_dax", map[string]any{"dataset": sales, "dax": byRegion}})
		s := d.connect(t, "v2", viewer, calls...)
		columns := decode[page](t, s.Results[0].Structured)
		if slices.Contains(columns.names(), "Customer") || columns.PIIHidden != 1 {
			t.Errorf("columns %v, %d hidden", columns.names(), columns.PIIHidden)
		}
		for i, q := range spellings {
			r := s.Results[1+i]
			if !r.IsError || !strings.Contains(r.Text, "pii_refused") {
				t.Errorf("%s: answered %s", q, r.Text)
			}
		}
		for _, part := range []string{"Customer[Customer]", "table Customer", "pii_reader", "other columns"} {
			if !strings.Contains(s.Results[1].Text, part) {
				t.Errorf("the refusal lacks %q: %s", part, s.Results[1].Text)
			}
		}
		if last := s.Results[len(s.Results)-1]; last.IsError {
			t.Errorf("a query without personal data: %s", last.Text)
		}
		if got := d.queriesSeen(t) - before; got != 1 {
			t.Errorf("Power BI was asked %d queries, want the one that is sound", got)
		}
		// PII-95
		audit := d.rest(t, admin, restCall{Method: "GET", Path: "/api/v1/admin/audit?action=execute_dax&outcome=deny"})[0]
		items, _ := audit.Body["items"].([]any)
		if len(items) != len(spellings) {
			t.Fatalf("the audit has %d refusals, want %d: %v", len(items), len(spellings), audit.Body)
		}
		row := items[len(items)-1].(map[string]any)
		if row["principal"] != viewer || row["reason"] != "pii_refused" || row["via"] != "connector" || !strings.Contains(row["detail"].(string), "Customer[Customer]") {
			t.Errorf("the audit row %v", row)
		}
	})

	t.Run("over REST the same answers", func(t *testing.T) {
		// PII-03, TOOLS-05
		a := d.rest(t, viewer,
			restCall{"POST", "/api/v1/queries", map[string]any{"dataset": sales, "dax": refused}},
			restCall{Method: "GET", Path: "/api/v1/columns?dataset=Sales&table=Customer"},
			restCall{Method: "GET", Path: "/api/v1/openapi.json"},
			restCall{Method: "GET", Path: "/api/v1/columns?dataset=Sales&tabel=Customer"},
			restCall{"POST", "/api/v1/queries", map[string]any{"dataset": sales, "dax": "EVALUATE VALUES ( Customer[Region]"}},
		)
		if a[0].Status != 403 || a[0].Body["kind"] != "pii_refused" || !strings.HasPrefix(a[0].Headers["content-type"], "application/problem+json") {
			t.Errorf("the refusal over REST: %+v", a[0])
		}
		if a[1].Body["pii_hidden"] != 1.0 {
			t.Errorf("columns over REST: %v", a[1].Body)
		}
		paths, _ := a[2].Body["paths"].(map[string]any)
		for _, path := range []string{"/api/v1/me", "/api/v1/search", "/api/v1/datasets", "/api/v1/datasets/{dataset}", "/api/v1/measures", "/api/v1/columns", "/api/v1/queries"} {
			if paths[path] == nil {
				t.Errorf("the OpenAPI document lacks %s", path)
			}
		}
		if a[3].Status != 400 || !strings.Contains(a[3].Body["detail"].(string), `"tabel"`) || !strings.Contains(a[3].Body["next"].(string), "table") {
			t.Errorf("an unknown argument: %v", a[3].Body)
		}
		if a[4].Status != 403 && a[4].Status != 400 {
			t.Errorf("broken DAX: %v", a[4].Body)
		}
	})

	t.Run("with pii_reader the same query returns the rows", func(t *testing.T) {
		// PII-140, PII-141
		given := d.rest(t, admin, restCall{"POST", "/api/v1/admin/roles", map[string]any{"role": "pii_reader", "person": viewer}})[0]
		if given.Status != 200 {
			t.Fatalf("assigning: %v", given.Body)
		}
		s := d.connect(t, "v1", viewer, call{"execute_dax", map[string]any{"dataset": sales, "dax": refused, "max_rows": 5}},
			call{"list_columns", map[string]any{"dataset": sales, "table": "Customer"}})
		if s.Results[0].IsError {
			t.Fatalf("a reader got %s", s.Results[0].Text)
		}
		answer := decode[rows](t, s.Results[0].Structured)
		var header []string
		for _, c := range answer.Columns {
			header = append(header, c.Name)
		}
		if !slices.Contains(header, "Customer[Customer]") || len(answer.Rows) != 5 {
			t.Errorf("columns %q, %d rows", header, len(answer.Rows))
		}
		columns := decode[page](t, s.Results[1].Structured)
		if i := slices.IndexFunc(columns.Items, func(c struct {
			Name, Table, Dataset, Kind, DAX string
			PII                             bool
		}) bool {
			return c.Name == "Customer"
		}); i < 0 || !columns.Items[i].PII {
			t.Errorf("columns %+v", columns.Items)
		}
		gone := d.rest(t, admin, restCall{Method: "DELETE", Path: "/api/v1/admin/roles/" + given.Body["id"].(string)})[0]
		if gone.Status != 200 {
			t.Fatalf("revoking: %v", gone.Body)
		}
		s = d.connect(t, "v1", viewer, call{"execute_dax", map[string]any{"dataset": sales, "dax": refused}})
		if !s.Results[0].IsError {
			t.Error("the role was taken away and the rows still come")
		}
	})

	t.Run("to an outsider everything of Sales is missing", func(t *testing.T) {
		// VIS-06, PII-72: the hidden and the unknown answer alike.
		lists := []call{{"list_datasets", nil}, {"search", map[string]any{"query": "net sales"}}, {"list_measures", nil}, {"list_columns", nil}}
		var pairs []call
		for tool, args := range map[string]map[string]any{
			"get_dataset":   {},
			"list_measures": {},
			"list_columns":  {},
			"search":        {"query": "x"},
			"execute_dax":   {"dax": byRegion},
		} {
			for _, name := range []string{sales, "Salez"} {
				named := maps.Clone(args)
				named["dataset"] = name
				pairs = append(pairs, call{tool, named})
			}
		}
		s := d.connect(t, "v1", outsider, append(lists, pairs...)...)
		for pair := range slices.Chunk(s.Results[len(lists):], 2) {
			real, made := normal(pair[0].Text, sales), normal(pair[1].Text, "Salez")
			if !pair[0].IsError || real != made {
				t.Errorf("%s: Sales gives\n%s\nand an unknown name\n%s", pair[0].Tool, real, made)
			}
		}
		for _, r := range s.Results[:len(lists)] {
			if r.IsError {
				t.Errorf("%s: %s", r.Tool, r.Text)
				continue
			}
			if p := decode[page](t, r.Structured); len(p.Items) != 0 || p.Total != 0 || p.PIIHidden != 0 {
				t.Errorf("%s shows an outsider %s", r.Tool, r.Structured)
			}
		}
		a := d.rest(t, outsider, restCall{Method: "GET", Path: "/api/v1/datasets/Sales"}, restCall{Method: "GET", Path: "/api/v1/datasets/Salez"})
		if a[0].Status != 404 || a[1].Status != 404 {
			t.Errorf("over REST %d and %d", a[0].Status, a[1].Status)
		}
	})

	t.Run("what the sign-in answers", func(t *testing.T) { signInAnswers(t, d) })
}

var requestID = regexp.MustCompile(`[A-Z2-7]{26}`)

// normal takes the request id and the name that was asked for out of an answer.
func normal(text, name string) string {
	return strings.ReplaceAll(requestID.ReplaceAllString(text, "ID"), name, "NAME")
}
