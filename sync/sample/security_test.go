package sample_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/pbmb/pbmb/sync/sample"
)

// RLS-101: the days of Regional sales are reached by one active relationship, and
// by one inactive one.
func TestDaysOfRegionalSales(t *testing.T) {
	s := sharedSite(t)
	answer, res := s.as("curator").query("Regional sales", "EVALUATE INFO.VIEW.RELATIONSHIPS ()")
	got := []string{}
	for _, r := range answer.rows() {
		if r["[ToTable]"] == "Date" {
			got = append(got, fmt.Sprintf("%v[%v] %v", r["[FromTable]"], r["[FromColumn]"], r["[IsActive]"]))
		}
	}
	slices.Sort(got)
	if want := []string{"Sales[Order date] true", "Sales[Ship date] false"}; !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", res.Status, got, want)
	}
}

// SAMPLE-06: a writer who asks as somebody else gets what that person gets, and
// what a person gets is never more than what is there; nobody but a writer may ask
// as somebody else.
func TestAskingAsSomebodyElse(t *testing.T) {
	s := sharedSite(t)
	const guest = "noor_partner.example#EXT#@sample.onmicrosoft.com"
	tokens := map[string]string{guest: s.tokens(guest, powerBIScope).AccessToken}
	for _, p := range []string{"curator", "viewer", "steward", "ada", "grace", "joiner"} {
		tokens[p+"@sample.example"] = s.powerBI(p)
	}
	ask := func(token, dataset, dax, as string) (string, int) {
		body := map[string]any{"queries": []any{map[string]any{"query": dax}}, "impersonatedUserName": as}
		var answer queryAnswer
		res := s.call(token, "POST", personPath+"/datasets/"+s.DatasetID(dataset)+"/executeQueries", body, &answer)
		return fmt.Sprint(answer.rows(), answer.message()), res.StatusCode
	}
	compared, differ := 0, 0
	for dataset, c := range map[string]struct{ writer, dax string }{
		"Regional sales": {"curator", `EVALUATE SUMMARIZECOLUMNS ( Region[Region], "n", [Net sales], "lines", [Sales lines] ) ORDER BY Region[Region]`},
		"Service desk":   {"curator", `EVALUATE SUMMARIZECOLUMNS ( Agent[Agent], "n", COUNTROWS ( Ticket ) ) ORDER BY Agent[Agent]`},
		"Web shop":       {"curator", `EVALUATE SUMMARIZECOLUMNS ( Sales[Country], "n", [Net sales] ) ORDER BY Sales[Country]`},
	} {
		writer := tokens[c.writer+"@sample.example"]
		everything, status := ask(writer, dataset, c.dax, "")
		if status != http.StatusOK {
			t.Fatalf("%s: %s", dataset, everything)
		}
		for person, token := range tokens {
			own, status := ask(token, dataset, c.dax, "")
			if status != http.StatusOK {
				continue // they may not query it themselves
			}
			compared++
			if own != everything {
				differ++
			}
			if as, status := ask(writer, dataset, c.dax, person); status != http.StatusOK || as != own {
				t.Errorf("%s: as %s the writer gets %d %s, the person %s", dataset, person, status, as, own)
			}
		}
		for person, token := range tokens {
			if own, _ := ask(token, dataset, c.dax, ""); own == everything {
				continue // a writer, or somebody whom the roles let see everything
			}
			if got, status := ask(token, dataset, c.dax, "curator@sample.example"); status == http.StatusOK {
				t.Errorf("%s: %s asks as the curator and gets %s", dataset, person, got)
			}
		}
	}
	if compared < 8 || differ < 5 {
		t.Errorf("only %d answers were compared, %d of them of less than everything", compared, differ)
	}
}

// SAMPLE-01 SAMPLE-02: a continuation token that somebody made up is refused or ends
// the list, and loses no connection.
func TestMadeUpContinuationTokens(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now, Unlimited: true})
	day := url.Values{"startDateTime": {"'2026-11-30T00:00:00'"}, "endDateTime": {"'2026-11-30T23:59:59'"}}
	for _, page := range []string{"92233720368547759", "184467440737095516", "9223372036854775807", "-1", "0", "99999999999999999999", "x"} {
		day.Set("page", page)
		for what, path := range map[string]string{
			"activities": "/admin/activityevents?" + url.Values{"continuationToken": {"'" + day.Encode() + "'"}}.Encode(),
			"artifacts":  "/admin/users/ada@sample.example/artifactAccess?" + url.Values{"continuationToken": {"'at-" + page + "'"}}.Encode(),
		} {
			var answer map[string]any
			res := s.call(s.powerBI("admin"), "GET", personPath+path, nil, &answer)
			list, _ := answer["activityEventEntities"].([]any)
			more, _ := answer["artifactAccessEntities"].([]any)
			if res.StatusCode != 400 && (res.StatusCode != 200 || len(list) > 0 || len(more) > 0) {
				t.Errorf("%s from page %s are answered %s with %d", what, page, res.Status, len(list)+len(more))
			}
		}
		for what, path := range map[string]string{"people": "/v1.0/users?$skiptoken=" + page, "groups": "/v1.0/me/transitiveMemberOf?$skiptoken=" + page} {
			if res := s.call(s.tokens("admin@sample.example", "User.Read").AccessToken, "GET", sample.GraphPath+path, nil, nil); res.StatusCode >= 500 {
				t.Errorf("%s from %s are answered %s", what, page, res.Status)
			}
		}
	}
}
