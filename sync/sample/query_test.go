package sample_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
	"github.com/pbmb/pbmb/sync/sample"
)

// A queryAnswer is an answer of executeQueries, good or not.
type queryAnswer struct {
	Label   struct{ Name string } `json:"informationProtectionLabel"`
	Results []struct {
		Tables []struct {
			Rows  []map[string]any
			Error *struct{ Message string }
		}
		Error *struct{ Message string }
	}
	Error struct {
		Code  string
		Inner struct {
			Details []struct {
				Code   string
				Detail struct{ Value string }
			}
		} `json:"pbi.error"`
	}
}

func (a queryAnswer) rows() []map[string]any {
	if len(a.Results) != 1 || len(a.Results[0].Tables) != 1 {
		return nil
	}
	return a.Results[0].Tables[0].Rows
}

func (a queryAnswer) message() string {
	for _, d := range a.Error.Inner.Details {
		if d.Code == "DetailsMessage" {
			return d.Detail.Value
		}
	}
	return ""
}

// An asker is a person with a token.
type asker struct {
	*site
	token string
}

func (s *site) as(person string) asker { return asker{s, s.powerBI(person)} }

// query asks a dataset, by its name or id, at the address that needs no role in
// the workspace.
func (a asker) query(dataset, dax string) (queryAnswer, *http.Response) {
	a.t.Helper()
	var answer queryAnswer
	if id := a.DatasetID(dataset); id != "" {
		dataset = id
	}
	res := a.call(a.token, "POST", personPath+"/datasets/"+dataset+"/executeQueries",
		map[string]any{"queries": []any{map[string]any{"query": dax}}, "serializerSettings": map[string]any{"includeNulls": true}}, &answer)
	return answer, res
}

// number asks for one number.
func (a asker) number(dataset, expression string) float64 {
	a.t.Helper()
	answer, res := a.query(dataset, `EVALUATE ROW ( "n", `+expression+" )")
	if len(answer.rows()) != 1 {
		a.t.Fatalf("%s answered %s: %s", expression, res.Status, answer.message())
	}
	n, ok := answer.rows()[0]["[n]"].(float64)
	if !ok {
		a.t.Fatalf("%s is %v", expression, answer.rows()[0])
	}
	return n
}

// lines are the order lines of Sales, to be added up by hand.
type lines struct {
	n                        int
	ordered, shipped         []int // as 20260930; 0 where there is none
	net, gross, order, store []value.Value
	customer                 []value.Value
}

func salesLines(t *testing.T) lines {
	c := sample.GeneratedRows(t, "commercial/sales/Sales")
	return lines{
		n: len(c["Net amount"]), ordered: days(c["Order date"]), shipped: days(c["Ship date"]), net: c["Net amount"], gross: c["Gross amount"],
		order: c["Order number"], store: c["StoreKey"], customer: c["CustomerKey"],
	}
}

// sum adds the scaled amounts of the lines that keep says yes to.
func (l lines) sum(of []value.Value, keep func(i int) bool) float64 {
	total := int64(0)
	for i := range l.n {
		if keep(i) {
			total += of[i].Scaled()
		}
	}
	return float64(total) / 10_000
}

func days(values []value.Value) []int {
	list := make([]int, len(values))
	for i, v := range values {
		if !v.IsBlank() {
			y, m, d := v.Time().Date()
			list[i] = y*10_000 + int(m)*100 + d
		}
	}
	return list
}

func year(day, y int) bool { return day/10_000 == y }

// The numbers of Sales are those that adding up its rows in Go gives.
func TestSalesNumbers(t *testing.T) {
	s := sharedSite(t)
	viewer := s.as("viewer")
	l := salesLines(t)
	every := func(int) bool { return true }
	orders, buyers := map[int64]bool{}, map[int64]bool{}
	for i := range l.n {
		orders[l.order[i].Int()] = true
		buyers[l.customer[i].Int()] = true
	}
	between := func(from, to int) func(int) bool {
		return func(i int) bool { return l.ordered[i] >= from && l.ordered[i] <= to }
	}
	all := l.sum(l.net, every)
	for expression, want := range map[string]float64{
		"[Net sales]":           all,
		"[Gross sales]":         l.sum(l.gross, every),
		"[Order lines]":         float64(l.n),
		"[Orders]":              float64(len(orders)),
		"[Active customers]":    float64(len(buyers)),
		"[Customer count]":      1200,
		"[Average order value]": all / float64(len(orders)),
		"[Discount %]":          (l.sum(l.gross, every) - all) / l.sum(l.gross, every),
		"CALCULATE ( [Net sales], 'Calendar'[Year] = 2025 )":                                      l.sum(l.net, func(i int) bool { return year(l.ordered[i], 2025) }),
		"CALCULATE ( [Net sales LY], 'Calendar'[Year] = 2025 )":                                   l.sum(l.net, func(i int) bool { return year(l.ordered[i], 2024) }),
		"CALCULATE ( [Net sales shipped], 'Calendar'[Year] = 2025 )":                              l.sum(l.net, func(i int) bool { return year(l.shipped[i], 2025) }),
		`CALCULATE ( [Net sales], 'Calendar'[Year quarter] = "2026 Q3" )`:                         l.sum(l.net, between(20260701, 20260930)),
		`CALCULATE ( [Net sales YTD], 'Calendar'[Year month] = "2026-05" )`:                       l.sum(l.net, between(20260101, 20260531)),
		`CALCULATE ( [Net sales QTD], 'Calendar'[Year month] = "2026-05" )`:                       l.sum(l.net, between(20260401, 20260531)),
		`CALCULATE ( [Net sales previous month], 'Calendar'[Year month] = "2026-05" )`:            l.sum(l.net, between(20260401, 20260430)),
		"CALCULATE ( [Net sales 28 days], 'Calendar'[Date] = DATE ( 2026, 9, 30 ) )":              l.sum(l.net, between(20260903, 20260930)),
		"CALCULATE ( [Net sales], Store[StoreKey] = 3, KEEPFILTERS ( 'Calendar'[Year] = 2024 ) )": l.sum(l.net, func(i int) bool { return year(l.ordered[i], 2024) && l.store[i].Int() == 3 }),
		`CALCULATE ( [Net sales online], 'Calendar'[Year] = 2023 )`:                               l.sum(l.net, func(i int) bool { return year(l.ordered[i], 2023) && l.store[i].Int() > 18 }),
	} {
		t.Run(expression, func(t *testing.T) {
			a := asker{&site{Tenant: s.Tenant, t: t, url: s.url}, viewer.token}
			if got := a.number("Sales", expression); math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// Groups add up to the whole, and columns are named as executeQueries names them.
func TestSalesByRegion(t *testing.T) {
	s := sharedSite(t)
	viewer := s.as("viewer")
	answer, res := viewer.query("Sales", `EVALUATE SUMMARIZECOLUMNS ( Customer[Region], "Net", [Net sales] ) ORDER BY Customer[Region]`)
	if len(answer.rows()) != 4 {
		t.Fatalf("%s: %v %s", res.Status, answer.rows(), answer.message())
	}
	total, names := 0.0, []string{}
	for _, r := range answer.rows() {
		total += r["[Net]"].(float64)
		names = append(names, r["Customer[Region]"].(string))
	}
	if want := viewer.number("Sales", "[Net sales]"); math.Abs(total-want) > .01 {
		t.Errorf("regions add up to %v, want %v", total, want)
	}
	if got := strings.Join(names, " "); got != "East North South West" {
		t.Errorf("regions %s", got)
	}
	if answer.Label.Name != "General" {
		t.Errorf("label %q", answer.Label.Name)
	}
}

// SAMPLE-02
func TestAnswerShapes(t *testing.T) {
	s := sharedSite(t)
	viewer := s.as("viewer")
	path := personPath + "/datasets/" + s.DatasetID("Sales") + "/executeQueries"
	t.Run("a byte order mark and blanks left out", func(t *testing.T) {
		body := text(t, s.call(viewer.token, "POST", path, oneQuery(`EVALUATE { ( 1, BLANK () ), ( 2, "x" ) }`), nil))
		if want := "\ufeff" + `{"informationProtectionLabel":{"id":"`; !strings.HasPrefix(body, want) {
			t.Errorf("starts with %q", body[:min(60, len(body))])
		}
		contains(t, body, `"results":[{"tables":[{"rows":[{"[Value1]":1},{"[Value1]":2,"[Value2]":"x"}]}]}]}`)
	})
	t.Run("blanks where they are asked for", func(t *testing.T) {
		answer, _ := viewer.query("Sales", `EVALUATE { ( 1, BLANK () ) }`)
		if v, ok := answer.rows()[0]["[Value2]"]; !ok || v != nil {
			t.Errorf("row %v", answer.rows()[0])
		}
	})
	t.Run("kinds of values", func(t *testing.T) {
		body := text(t, s.call(viewer.token, "POST", path, oneQuery(`EVALUATE ROW ( "d", DATE ( 2026, 3, 1 ), "b", TRUE (), "f", 1 / 4, "i", 7, "s", "é<" )`), nil))
		contains(t, body, `{"[d]":"2026-03-01T00:00:00","[b]":true,"[f]":0.25,"[i]":7,"[s]":"é<"}`)
	})
	t.Run("two tables", func(t *testing.T) {
		answer, res := viewer.query("Sales", "EVALUATE { 1 } EVALUATE { 2 }")
		if res.StatusCode != 200 || len(answer.rows()) != 1 || answer.Results[0].Error == nil {
			t.Errorf("%s %+v", res.Status, answer)
		}
	})
	t.Run("too many rows", func(t *testing.T) {
		answer, res := viewer.query("Sales", "EVALUATE SELECTCOLUMNS ( Sales, \"q\", Sales[Quantity] )")
		table := answer.Results[0].Tables[0]
		if res.StatusCode != 200 || len(table.Rows) != 100_000 || table.Error == nil || table.Error.Message != "More than 100000 rows in a query result" {
			t.Errorf("%s, %d rows, %+v", res.Status, len(table.Rows), table.Error)
		}
	})
	for name, c := range map[string]struct{ dax, message string }{
		"no query":          {"SELECT 1", "Query (1, 1)"},
		"unknown table":     {"EVALUATE Nope", "Nope"},
		"unknown measure":   {`EVALUATE ROW ( "x", [Nope] )`, "Nope"},
		"function unknown":  {`EVALUATE ROW ( "x", NOPE ( 1 ) )`, "NOPE"},
		"bare INFO refused": {"EVALUATE INFO.TABLES ()", "INFO.TABLES"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, res := viewer.query("Sales", c.dax)
			if res.StatusCode != 400 || answer.Error.Code != "DatasetExecuteQueriesError" {
				t.Errorf("%s %+v", res.Status, answer)
			}
			contains(t, answer.message(), c.message)
		})
	}
}

// What a person may not query is answered as Power BI does, and the shares of the
// company give what its file says.
func TestWhoMayQuery(t *testing.T) {
	s := sharedSite(t)
	for person, may := range map[string]string{
		"admin":    "Sales, Web shop, Inventory, Finance, Board pack, People, Regional sales, Loyalty, Deliveries, Receivables, Service desk",
		"curator":  "Sales, Web shop, Inventory, Finance, Regional sales, People, Loyalty, Deliveries, Service desk",
		"viewer":   "Sales, Web shop, Loyalty, Service desk",
		"steward":  "Sales, Finance, Board pack, Web shop, People, Receivables",
		"ada":      "Sales, Sales scratch, Regional sales, People, Service desk",
		"grace":    "Sales, Regional sales, Service desk",
		"outsider": "",
	} {
		t.Run(person, func(t *testing.T) {
			a := (&site{Tenant: s.Tenant, t: t, url: s.url}).as(person)
			for _, dataset := range []string{"Sales", "Web shop", "Inventory", "Finance", "Board pack", "Sales scratch", "Regional sales", "People",
				"Loyalty", "Deliveries", "Receivables", "Service desk"} {
				answer, res := a.query(dataset, "EVALUATE { 1 }")
				listed := strings.Contains(", "+may+",", ", "+dataset+",")
				switch {
				case listed && res.StatusCode != 200:
					t.Errorf("%s: %s %s", dataset, res.Status, answer.message())
				case !listed && res.StatusCode == 200:
					t.Errorf("%s is answered", dataset)
				case !listed && res.StatusCode == 404 && answer.Error.Code != "PowerBIEntityNotFound":
					t.Errorf("%s: %+v", dataset, answer.Error)
				}
			}
		})
	}
	answer, res := s.as("viewer").query("Inventory", "EVALUATE { 1 }") // sees it, without Build
	if res.StatusCode != 404 || !strings.HasPrefix(answer.message(), "You cannot query the dataset") {
		t.Errorf("without Build: %s %+v", res.Status, answer)
	}
}

// SAMPLE-06: roles apply to readers and not to writers; a person in no role gets
// nothing; hidden objects do not exist.
func TestSecurity(t *testing.T) {
	s := sharedSite(t)
	rows := sample.GeneratedRows(t, "commercial/regional-sales/Sales")
	sum := func(keys ...int64) float64 {
		total := int64(0)
		for i, k := range rows["RegionKey"] {
			for _, key := range keys {
				if k.Int() == key {
					total += rows["Net amount"][i].Scaled()
				}
			}
		}
		return float64(total) / 10_000
	}
	for person, want := range map[string]float64{
		"curator": sum(1, 2, 3, 4, 5, 6, 7), // a member of the workspace
		"ada":     sum(4),                   // the mapping has West
		"grace":   sum(1, 2),                // two rows of the mapping
		"joiner":  sum(4),                   // the static role West
	} {
		if got := s.as(person).number("Regional sales", "[Net sales]"); math.Abs(got-want) > .01 {
			t.Errorf("%s sees %v, want %v", person, got, want)
		}
	}
	guest := asker{s, s.tokens("noor_partner.example#EXT#@sample.onmicrosoft.com", powerBIScope).AccessToken}
	if got, want := guest.number("Regional sales", "[Net sales]"), sum(7); math.Abs(got-want) > .01 {
		t.Errorf("the guest sees %v, want %v", got, want)
	}
	if answer, res := s.as("steward").query("Regional sales", "EVALUATE Region"); res.StatusCode != 400 || len(answer.rows()) > 0 {
		t.Errorf("a person in no role: %s %+v", res.Status, answer)
	}
	if got := s.as("viewer").number("Web shop", "[Orders]"); got == 0 {
		t.Error("the rule that fails open shows nothing")
	}
	for _, dax := range []string{"EVALUATE 'Review notes'", "EVALUATE VALUES ( Employee[Salary] )", `EVALUATE ROW ( "x", [Average salary] )`} {
		if _, res := s.as("ada").query("People", dax); res.StatusCode != 400 {
			t.Errorf("%s answered %s for somebody from whom it is hidden", dax, res.Status)
		}
		if answer, res := s.as("steward").query("People", dax); res.StatusCode != 200 {
			t.Errorf("%s answered %s for the pay office: %s", dax, res.Status, answer.message())
		}
	}
}

// The relationships that a scan lacks are read with a query.
func TestRelationshipsAreQueried(t *testing.T) {
	s := sharedSite(t)
	answer, res := s.as("viewer").query("Sales", "EVALUATE INFO.VIEW.RELATIONSHIPS ()")
	active, inactive := 0, 0
	for _, r := range answer.rows() {
		if r["[IsActive]"] == true {
			active++
		} else {
			inactive++
		}
	}
	if active != 11 || inactive != 1 {
		t.Errorf("%s: %d active and %d inactive, want 11 and 1: %s", res.Status, active, inactive, answer.message())
	}
}

// broken are the measures of the company that somebody left behind unfinished, with
// what is said of them.
var broken = map[string]string{
	"Half finished":   "the ( of SUM is not closed",
	"Before the fair": "The value for 'Net sales before the fair' cannot be determined",
	"Wrong column":    "The column 'Amont' in table 'Fair leads' cannot be found",
}

// SAMPLE-05: every measure of the company evaluates, but for the broken ones, which
// fail as such.
func TestEveryMeasureEvaluates(t *testing.T) {
	s := sharedSite(t)
	var scan struct{ ID string }
	token := s.scanner()
	ids := []string{}
	for _, w := range []string{"Commercial", "Customer care", "Finance", "Supply chain", "PersonalWorkspace Ada Ferrant"} {
		ids = append(ids, s.WorkspaceID(w))
	}
	s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true", map[string]any{"workspaces": ids}, &scan)
	var got scanAnswer
	s.call(token, "GET", adminPath+"/workspaces/scanResult/"+scan.ID, nil, &got)
	admin, ada := s.as("admin"), s.as("ada")
	n, found := 0, 0
	for _, w := range got.Workspaces {
		asker := admin
		if w.Type == "PersonalGroup" {
			asker = ada
		}
		for _, d := range w.Datasets {
			for _, tbl := range d.Tables {
				for _, m := range tbl.Measures {
					n++
					answer, res := asker.query(d.Name, fmt.Sprintf(`EVALUATE ROW ( "x", [%s] )`, strings.ReplaceAll(m.Name, "]", "]]")))
					if problem := broken[m.Name]; problem != "" {
						found++
						if res.StatusCode != 400 || !strings.Contains(answer.message(), problem) {
							t.Errorf("%s[%s]: %s %q, want %q", d.Name, m.Name, res.Status, answer.message(), problem)
						}
						continue
					}
					if res.StatusCode != 200 || len(answer.rows()) != 1 {
						t.Errorf("%s[%s]: %s %s", d.Name, m.Name, res.Status, answer.message())
					}
				}
			}
		}
	}
	if n < 250 {
		t.Errorf("only %d measures", n)
	}
	if found != len(broken) {
		t.Errorf("%d measures are broken, want %d", found, len(broken))
	}
}

func TestQueriesAMinute(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	viewer := s.as("viewer")
	for range 120 {
		if _, res := viewer.query("Sales", "EVALUATE { 1 }"); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	var body json.RawMessage
	res := s.call(viewer.token, "POST", personPath+"/datasets/"+s.DatasetID("Sales")+"/executeQueries", oneQuery("EVALUATE { 1 }"), &body)
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "60" {
		t.Errorf("%s, Retry-After %s", res.Status, res.Header.Get("Retry-After"))
	}
	c.at = c.at.Add(time.Minute)
	if _, res := viewer.query("Sales", "EVALUATE { 1 }"); res.StatusCode != 200 {
		t.Errorf("a minute later: %s", res.Status)
	}
}

// What calculation groups do and the functions of a model are told to who may edit
// it; which tables are groups, to whoever may query it.
func TestItemsAndFunctionsAreForEditors(t *testing.T) {
	s := sharedSite(t)
	for dax, want := range map[string]int{"INFO.CALCULATIONGROUPS": 1, "INFO.CALCULATIONITEMS": 4, "INFO.USERDEFINEDFUNCTIONS": 1} {
		answer, res := s.as("steward").query("Finance", "EVALUATE "+dax+" ()")
		if res.StatusCode != http.StatusOK || len(answer.rows()) != want {
			t.Errorf("%s to an editor: %s, %d rows, want %d", dax, res.Status, len(answer.rows()), want)
		}
		answer, res = s.as("curator").query("Finance", "EVALUATE "+dax+" ()")
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(answer.message(), dax) {
			t.Errorf("%s to a reader: %s %s", dax, res.Status, answer.message())
		}
	}
	answer, _ := s.as("curator").query("Finance", "EVALUATE INFO.VIEW.TABLES ()")
	for _, r := range answer.rows() {
		if isGroup := r["[CalculationGroupPrecedence]"] != nil; isGroup != (r["[Name]"] == "Time view") {
			t.Errorf("%v has the precedence %v", r["[Name]"], r["[CalculationGroupPrecedence]"])
		}
	}
	// A group is told by its table's number.
	answer, _ = s.as("steward").query("Finance", `EVALUATE NATURALINNERJOIN (
		SELECTCOLUMNS ( INFO.VIEW.TABLES (), "t", [ID], "table", [Name] ), SELECTCOLUMNS ( INFO.CALCULATIONGROUPS (), "t", [TableID] ) )`)
	if rows := answer.rows(); len(rows) != 1 || rows[0]["[table]"] != "Time view" {
		t.Errorf("the group is of %v: %s", rows, answer.message())
	}
}
