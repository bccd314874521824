package sample_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// newGrownSite is a tenant that grew by some workspaces, without limits on calls.
func newGrownSite(t *testing.T, workspaces int) (*site, *clock) {
	t.Helper()
	c := newClock()
	return newSite(t, sample.Config{Workspaces: workspaces, Unlimited: true, Now: c.now}), c
}

// modified lists the workspaces that changed since a time.
func (s *site) modified(token string, since time.Time) []string {
	s.t.Helper()
	path := adminPath + "/workspaces/modified"
	if !since.IsZero() {
		path += "?modifiedSince=" + since.UTC().Format("2006-01-02T15:04:05Z")
	}
	var list []struct{ ID string }
	s.call(token, "GET", path, nil, &list)
	ids := make([]string, len(list))
	for i, w := range list {
		ids[i] = w.ID
	}
	return ids
}

// scanOf scans workspaces, at most 100 at once, and gives the answers as they came.
func (s *site) scanOf(token string, ids []string) [][]byte {
	s.t.Helper()
	var answers [][]byte
	for some := range slices.Chunk(ids, 100) {
		var scan struct{ ID string }
		s.call(token, "POST", adminPath+"/workspaces/getInfo?lineage=true&datasourceDetails=true&datasetSchema=true&datasetExpressions=true&getArtifactUsers=true", map[string]any{"workspaces": some}, &scan)
		res := s.call(token, "GET", adminPath+"/workspaces/scanResult/"+scan.ID, nil, nil)
		answers = append(answers, []byte(text(s.t, res)))
	}
	return answers
}

// A grownScan is what the tests count in an answer.
type grownScan struct {
	Workspaces []struct {
		ID, Name, Type string
		Datasets       []struct {
			ID, Name string
			Roles    []struct{ Name string }
			Tables   []struct {
				Columns  []struct{ Name string }
				Measures []struct{ Name, Expression string }
			}
		}
	}
	DatasourceInstances []any
}

func parseScans(t *testing.T, answers [][]byte) []grownScan {
	t.Helper()
	var list []grownScan
	for _, a := range answers {
		var one grownScan
		if err := json.Unmarshal(a, &one); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// SAMPLE-08: a grown tenant has as many workspaces, datasets, measures and columns
// as were asked for, beside the company, and two of them answer byte for byte alike.
func TestGrownTenantIsDeterministic(t *testing.T) {
	one, _ := newGrownSite(t, 132)
	two, _ := newGrownSite(t, 132)
	small := newSite(t, sample.Config{Unlimited: true})
	token := one.scanner()
	ids := one.modified(token, time.Time{})
	company := small.modified(small.scanner(), time.Time{})
	if !slices.Equal(ids[:len(company)], company) || len(ids) != len(company)+132 {
		t.Fatalf("%d workspaces, of which the company's are not the first", len(ids))
	}
	ids = ids[len(company):]
	answers := one.scanOf(token, ids)
	again := two.scanOf(two.scanner(), ids)
	for i := range answers {
		if !bytes.Equal(answers[i], again[i]) {
			t.Errorf("part %d is another one the second time", i)
		}
	}
	workspaces, datasets, measures, columns, sources := 0, 0, 0, 0, 0
	seen := map[string]bool{}
	for _, scan := range parseScans(t, answers) {
		sources += len(scan.DatasourceInstances)
		for _, w := range scan.Workspaces {
			workspaces++
			for _, d := range w.Datasets {
				if seen[d.ID] {
					t.Fatalf("two datasets have the id %s", d.ID)
				}
				seen[d.ID] = true
				datasets++
				for _, tbl := range d.Tables {
					measures += len(tbl.Measures)
					for _, c := range tbl.Columns {
						if !strings.HasPrefix(c.Name, "RowNumber-") {
							columns++
						}
					}
				}
			}
		}
	}
	if got, want := fmt.Sprint(workspaces, datasets, measures, columns, sources), fmt.Sprint(132, 275, 5500, 22000, 275); got != want {
		t.Errorf("workspaces, datasets, measures, columns, sources: %s, want %s", got, want)
	}
	if _, err := sample.New(sample.Config{Workspaces: -1}); err == nil || !strings.Contains(err.Error(), "grow") {
		t.Errorf("a tenant that shrinks: %v", err)
	}
}

// SAMPLE-08: the reach of the named persons is what it is said to be, by the
// person's own API, and nobody of the company reaches more than before.
func TestReachInAGrownTenant(t *testing.T) {
	s, _ := newGrownSite(t, 120)
	token := s.scanner()
	var datasets []string
	for _, scan := range parseScans(t, s.scanOf(token, s.modified(token, time.Time{})[6:])) {
		for _, w := range scan.Workspaces {
			for _, d := range w.Datasets {
				datasets = append(datasets, d.ID)
			}
		}
	}
	for person, want := range map[string]int{"wide": 200, "tenth": 24, "none": 0, "viewer": 0} {
		token, n := s.powerBI(person), 0
		for _, d := range datasets {
			switch res := s.call(token, "GET", personPath+"/datasets/"+d, nil, nil); res.StatusCode {
			case 200:
				n++
			case 404:
			default:
				t.Fatal(res.Status)
			}
		}
		if n != want || len(datasets) != 250 {
			t.Errorf("%s reaches %d of %d datasets, want %d", person, n, len(datasets), want)
		}
	}
	var groups struct{ Value []struct{ ID string } }
	res := s.call(s.tokens("tenth@sample.example", "User.Read").AccessToken, "POST", sample.GraphPath+"/v1.0/me/getMemberGroups", map[string]any{"securityEnabledOnly": false}, nil)
	if err := json.Unmarshal([]byte(text(t, res)), &struct{ Value *[]string }{new([]string)}); err != nil || !strings.Contains(text(t, res), "-4") {
		t.Errorf("groups of tenth: %s %v", text(t, res), err)
	}
	s.call(s.powerBI("tenth"), "GET", personPath+"/groups", nil, &groups)
	if len(groups.Value) != 11 { // one block of twelve, without the personal one
		t.Errorf("tenth has a role in %d workspaces", len(groups.Value))
	}
	var some struct{ Value []struct{ ID string } }
	s.call(s.powerBI("tenth"), "GET", personPath+"/groups?$top=3&$skip=2", nil, &some)
	if len(some.Value) != 3 || some.Value[0].ID != groups.Value[2].ID {
		t.Errorf("a page of groups: %v", some.Value)
	}
	var apps list
	s.call(s.powerBI("tenth"), "GET", personPath+"/apps", nil, &apps)
	if len(apps.Value) != 1 {
		t.Fatalf("tenth has the apps %v", apps.Value)
	}
	var reports list
	if res := s.call(s.powerBI("tenth"), "GET", personPath+"/apps/"+apps.Value[0]["id"].(string)+"/reports", nil, &reports); len(reports.Value) == 0 {
		t.Errorf("the app's reports: %s", res.Status)
	}
	if res := s.call(s.powerBI("none"), "GET", personPath+"/apps/"+apps.Value[0]["id"].(string)+"/reports", nil, nil); res.StatusCode != 404 {
		t.Errorf("none is answered %s for the app", res.Status)
	}
}

// SAMPLE-08: DAX runs on what was made up, under its row-level security.
func TestQueriesOfAGrownDataset(t *testing.T) {
	s, _ := newGrownSite(t, 24)
	token := s.scanner()
	asked, secured := 0, 0
	wide, tenth := s.powerBI("wide"), s.powerBI("tenth")
	for _, scan := range parseScans(t, s.scanOf(token, s.modified(token, time.Time{})[6:])) {
		for _, w := range scan.Workspaces {
			for _, d := range w.Datasets {
				if len(d.Tables) == 0 || len(d.Tables[0].Measures) == 0 {
					continue
				}
				query := func(token string) (queryAnswer, *http.Response) {
					var answer queryAnswer
					res := s.call(token, "POST", personPath+"/datasets/"+d.ID+"/executeQueries", oneQuery(`EVALUATE ROW ( "x", [`+d.Tables[0].Measures[0].Name+`] )`), &answer)
					return answer, res
				}
				answer, res := query(wide)
				if res.StatusCode == 404 {
					continue
				}
				asked++
				if res.StatusCode != 200 || len(answer.rows()) != 1 {
					t.Errorf("%s of %s: %s %s", d.Name, w.Name, res.Status, answer.message())
				}
				if len(d.Roles) > 0 && asked > 0 {
					if own, res := query(tenth); res.StatusCode == 200 {
						secured++
						if text := fmt.Sprint(own.rows()); text == fmt.Sprint(answer.rows()) {
							t.Errorf("%s of %s: somebody of no region sees what everybody sees: %s", d.Name, w.Name, text)
						}
					}
				}
			}
		}
	}
	if asked < 25 || secured == 0 {
		t.Errorf("only %d datasets were asked, %d of them secured", asked, secured)
	}
}

// SAMPLE-08, SAMPLE-07: so many workspaces change as are told to, and no others.
func TestWorkspacesOfAGrownTenantChange(t *testing.T) {
	s, c := newGrownSite(t, 120)
	token := s.scanner()
	all := s.modified(token, time.Time{})
	before := s.scanOf(token, all)
	c.at = c.at.Add(24 * time.Hour)
	token = s.scanner()
	since := c.at.Add(-12 * time.Hour)
	if n := len(s.modified(token, since)); n != 0 {
		t.Fatalf("%d workspaces changed by themselves", n)
	}
	change := func(n int) *http.Response {
		return s.call("", "POST", "/_sample/workspaces/change", map[string]any{"count": n}, nil)
	}
	if res := change(30); res.StatusCode != 204 {
		t.Fatalf("%s: %s", res.Status, text(t, res))
	}
	first := s.modified(token, since)
	if len(first) != 30 {
		t.Errorf("%d workspaces changed, want 30", len(first))
	}
	changed := func(ids []string) (n int) {
		one, two := parseScans(t, before), parseScans(t, s.scanOf(token, all))
		for i := range one {
			for k, w := range one[i].Workspaces {
				if differs := fmt.Sprint(w) != fmt.Sprint(two[i].Workspaces[k]); differs && !slices.Contains(ids, w.ID) {
					t.Errorf("%s changed and does not say so", w.Name)
				} else if differs {
					n++
				}
			}
		}
		return n
	}
	if n := changed(first); n < 20 { // some are empty
		t.Errorf("only %d of the 30 look otherwise than before", n)
	}
	change(90)
	if n := len(s.modified(token, since)); n != 120 {
		t.Errorf("after two changes of others %d changed, want 120", n)
	}
	if res := change(121); res.StatusCode != 400 {
		t.Errorf("more than there are: %s", res.Status)
	}
	if res := newSite(t, sample.Config{}).call("", "POST", "/_sample/workspaces/change", map[string]any{"count": 1}, nil); res.StatusCode != 400 {
		t.Errorf("a tenant that did not grow: %s", res.Status)
	}

	// What is changed by name is held, in what was made up as in the company.
	if err := s.SetWorkspaceRight("Retail North Performance", "none@sample.example", "Contributor"); err != nil {
		t.Fatal(err)
	}
	var groups list
	s.call(s.powerBI("none"), "GET", personPath+"/groups", nil, &groups)
	if names := groups.names("name"); !slices.Equal(names, []string{"Retail North Performance"}) {
		t.Errorf("none has a role in %v", names)
	}
}

// A stuckWriter takes nothing until it is let go.
type stuckWriter struct {
	*httptest.ResponseRecorder
	asked chan struct{} // closed at the first write
	letGo chan struct{}
	once  sync.Once
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.asked) })
	<-w.letGo
	return w.ResponseRecorder.Write(p)
}

// SAMPLE-08: an answer comes in pieces, and who reads it slowly holds nobody up who
// changes the tenant.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	s, _ := newGrownSite(t, 24)
	token := s.scanner()
	var scan struct{ ID string }
	ids := s.modified(token, time.Time{})
	s.call(token, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true", map[string]any{"workspaces": ids}, &scan)
	req := httptest.NewRequestWithContext(t.Context(), "GET", adminPath+"/workspaces/scanResult/"+scan.ID, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	w := &stuckWriter{ResponseRecorder: httptest.NewRecorder(), asked: make(chan struct{}), letGo: make(chan struct{})}
	answered, changed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(answered)
		s.Handler().ServeHTTP(w, req)
	}()
	<-w.asked
	go func() { changed <- s.SetWorkspaceRight("Finance", "outsider@sample.example", "Viewer") }()
	select {
	case err := <-changed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the tenant cannot be changed while an answer is on its way")
	}
	close(w.letGo)
	<-answered
	if got := parseScans(t, [][]byte{w.Body.Bytes()}); len(got[0].Workspaces) != len(ids) {
		t.Errorf("%d workspaces, want %d", len(got[0].Workspaces), len(ids))
	}
}
