package sample_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/sync/sample"
)

// SAMPLE-05 SAMPLE-07 SAMPLE-08 SAMPLE-09: while everything changes, what is asked
// is answered: never with an error of the tenant's own, and never a connection lost.
func TestChangesBesideQueriesScansAndReports(t *testing.T) {
	s := newSite(t, sample.Config{Unlimited: true, Workspaces: 30})
	sales, regional := s.DatasetID("Sales"), s.DatasetID("Regional sales")
	overview, regions := s.reportID("Commercial", "Sales overview"), s.reportID("Commercial", "Regions")
	embedded, _ := s.generate(s.product(), "Regions", map[string]any{"identities": []any{s.identity("ada@sample.example", "West")}})
	curator, ada, scanner := s.powerBI("curator"), s.powerBI("ada"), s.scanner()
	commercial := s.WorkspaceID("Commercial")

	stop := make(chan struct{})
	var wg sync.WaitGroup
	again := func(do func(i int)) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					do(i)
				}
			}
		})
	}
	send := func(authorization, method, path string, body any) {
		if status, text, err := s.try(authorization, method, path, body); err != nil || status >= 500 {
			t.Errorf("%s %s answered %d %v: %.300s", method, path, status, err, text)
		}
	}
	ask := func(token, method, path string, body any) { send("Bearer "+token, method, path, body) }
	// draw asks for a visual of the first page of a report, as the report page does.
	draw := func(authorization, report string, d drawnReport) {
		send(authorization, "GET", "/reportEmbed/explore/"+report, nil)
		send(authorization, "POST", "/reportEmbed/explore/"+report+"/query", map[string]any{
			"page": d.Pages[0].Name, "visuals": []any{map[string]any{"name": d.Pages[0].Visuals[2].Name}},
		})
	}
	drawn := map[string]drawnReport{}
	for _, report := range []string{overview, regions} {
		drawn[report], _ = s.describe("Bearer", curator, report)
	}
	control := func(path string, body map[string]any) { ask("", "POST", sample.ControlPath+path, body) }
	flip := func(i int, a, b string) (from, to string) {
		if i%2 == 0 {
			return a, b
		}
		return b, a
	}
	again(func(i int) {
		from, to := flip(i, "Net sales", "Net turnover")
		control("measures/rename", map[string]any{"dataset": sales, "measure": from, "to": to})
		from, to = flip(i, "Customer", "Client")
		control("tables/rename", map[string]any{"dataset": sales, "table": from, "to": to})
		from, to = flip(i, "Order date", "Ordered on")
		control("columns/rename", map[string]any{"dataset": sales, "table": "Sales", "column": from, "to": to})
	})
	again(func(i int) {
		control("roles/add", map[string]any{"dataset": regional, "role": "Storm"})
		control("roles/assign", map[string]any{"dataset": regional, "role": "Storm", "person": "grace@sample.example"})
		control("roles/filter", map[string]any{"dataset": regional, "role": "Storm", "table": "Region", "filter": `[Region] = "West"`})
		control("roles/remove", map[string]any{"dataset": regional, "role": "Storm"})
		control("people/guest", map[string]any{"person": "joiner@sample.example"})
		control("people/member", map[string]any{"person": "joiner@sample.example"})
		control("groups/add", map[string]any{"group": "Sales readers", "person": "outsider@sample.example"})
		control("groups/remove", map[string]any{"group": "Sales readers", "person": "outsider@sample.example"})
		control("workspaces/users", map[string]any{"workspace": commercial, "person": "outsider@sample.example", "right": "Viewer"})
		control("workspaces/users", map[string]any{"workspace": commercial, "person": "outsider@sample.example", "right": ""})
		control("datasets/refresh", map[string]any{"dataset": sales})
		control("workspaces/change", map[string]any{"count": 7})
		control("keys/rotate", map[string]any{})
		control("embedtokens/revoke", map[string]any{"token_id": "none"})
	})
	query := func(bearer, dataset, dax string) {
		ask(bearer, "POST", personPath+"/datasets/"+dataset+"/executeQueries", oneQuery(dax))
	}
	again(func(int) { query(curator, sales, `EVALUATE ROW ( "n", COUNTROWS ( Store ) )`) })
	again(func(int) { query(ada, regional, `EVALUATE VALUES ( Region[Region] )`) })
	again(func(int) {
		ask(scanner, "POST", adminPath+"/workspaces/getInfo?datasetSchema=true&datasetExpressions=true&getArtifactUsers=true", map[string]any{"workspaces": []string{commercial, s.WorkspaceID("Finance")}})
		ask(scanner, "GET", adminPath+"/workspaces/modified", nil)
		ask(scanner, "GET", adminPath+"/groups?$top=100&$expand=users,reports,dashboards,datasets", nil)
		ask(scanner, "GET", adminPath+"/apps?$top=100", nil)
		ask(curator, "GET", personPath+"/groups/"+commercial+"/datasets", nil)
		ask(curator, "GET", personPath+"/apps", nil)
		ask("", "GET", sample.ControlPath+"datasets", nil)
		ask("", "GET", sample.ControlPath+"people", nil)
	})
	again(func(int) {
		for _, report := range []string{overview, regions} {
			ask(curator, "POST", personPath+"/groups/"+commercial+"/reports/"+report+"/GenerateToken", map[string]any{})
			draw("Bearer "+curator, report, drawn[report])
		}
		draw("EmbedToken "+embedded.Token, regions, drawn[regions])
	})
	time.Sleep(3 * time.Second)
	close(stop)
	wg.Wait()
}

// try is send for other goroutines: what fails is returned.
func (s *site) try(authorization, method, path string, body any) (status int, text []byte, err error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, s.url+path, reader)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", authorization)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, text, err
}
