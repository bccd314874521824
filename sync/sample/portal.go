package sample

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax/eval"
	reports "github.com/pbmb/pbmb/sync/sample/report"
)

// The pages that take the place of app.powerbi.com: what a person may open, and a
// report as that person sees it. As at the sign-in page, whoever comes says whom
// they are.

// An opening is a report in a person's list.
type opening struct {
	Name, Dataset, Address string
	Secured                bool // the dataset has security roles
}

// A shelf is a workspace or an app with the reports that a person may open.
type shelf struct {
	Name    string
	Reports []opening
}

// HomePath is where a person picks a report.
const HomePath = "/home"

func (t *Tenant) mountPortal(mux *http.ServeMux) {
	mountPortalFiles(mux)
	mux.HandleFunc("GET "+HomePath, t.home)
	mux.HandleFunc("GET /groups/{group}/reports/{report}", t.showReport)
	mux.HandleFunc("GET /Redirect", func(w http.ResponseWriter, r *http.Request) {
		t.mu.RLock()
		rep, ok := t.anyReport(r.URL.Query().Get("reportObjectId"))
		t.mu.RUnlock()
		if !ok {
			portalPage(w, http.StatusNotFound, "missing", nil)
			return
		}
		http.Redirect(w, r, addressOf(rep, ""), http.StatusFound)
	})
}

// addressOf is where a person opens a report.
func addressOf(rep located, upn string) string {
	address := "/groups/" + rep.space.id + "/reports/" + rep.id
	if upn != "" {
		address += "?" + url.Values{"person": {upn}}.Encode()
	}
	return address
}

// visitor is the person whom a request names, where they may sign in.
func (t *Tenant) visitor(r *http.Request) *person {
	if p := t.personByName(r.URL.Query().Get("person")); p != nil && !p.disabled.Load() {
		return p
	}
	return nil
}

func (t *Tenant) home(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.visitor(r)
	if p == nil {
		t.askWho(w, HomePath)
		return
	}
	portalPage(w, http.StatusOK, "home", struct {
		Person  Person
		Shelves []shelf
	}{p.public(), t.shelvesOf(p)})
}

// shelvesOf lists what a person may open: the reports of their workspaces, and
// those of apps where they are in the audience only.
func (t *Tenant) shelvesOf(p *person) []shelf {
	var list []shelf
	add := func(name string, in *workspace, all []*report) {
		s := shelf{Name: name}
		for _, each := range all {
			if rep := (located{each, in}); rep.drawn != nil && t.reads(p, rep) {
				s.Reports = append(s.Reports, opening{
					Name: rep.name, Dataset: rep.dataset.name, Address: addressOf(rep, p.upn), Secured: len(rep.dataset.model().Roles) > 0,
				})
			}
		}
		if len(s.Reports) > 0 {
			list = append(list, s)
		}
	}
	for ws := range t.workspaces() {
		add(ws.name, ws, ws.reports)
	}
	for a := range t.appsOf(p) {
		if t.roleIn(a.space, p) == "" {
			add("App "+a.name, a.space, a.reports)
		}
	}
	return list
}

// askWho lists the people of the tenant, each with the way on.
func (t *Tenant) askWho(w http.ResponseWriter, next string) {
	type choice struct {
		Person
		Address string
	}
	var list []choice
	for _, p := range t.people {
		if !p.disabled.Load() {
			list = append(list, choice{p.public(), next + "?" + url.Values{"person": {p.upn}}.Encode()})
		}
	}
	portalPage(w, http.StatusOK, "who", list)
}

// showReport embeds a report by a token for it, made for the person.
func (t *Tenant) showReport(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rep, ok := t.anyReport(r.PathValue("report"))
	if !ok || !strings.EqualFold(rep.space.id, r.PathValue("group")) {
		portalPage(w, http.StatusNotFound, "missing", nil)
		return
	}
	p := t.visitor(r)
	if p == nil {
		t.askWho(w, addressOf(rep, ""))
		return
	}
	data := struct {
		Person                   Person
		Report, ID, Token, Frame string
		Others                   []Person
		Allowed, Secured         bool
	}{Person: p.public(), Report: rep.name, ID: rep.id, Secured: len(rep.dataset.model().Roles) > 0}
	for _, other := range t.people {
		if !other.disabled.Load() && t.reads(other, rep) {
			data.Others = append(data.Others, other.public())
		}
	}
	if !t.reads(p, rep) {
		portalPage(w, http.StatusForbidden, "report", data)
		return
	}
	as := t.identityOf(p, rep.dataset)
	identities := map[string]*eval.Identity{rep.dataset.id: &as}
	data.Token, _ = t.embeds.issue(embedToken{
		reports: map[string]bool{rep.id: true}, datasets: identities, expires: t.now().Add(time.Hour),
	})
	data.Allowed = true
	data.Frame = reports.PagePath + "?" + url.Values{"reportId": {rep.id}, "groupId": {rep.space.id}, "uid": {"portal"}}.Encode()
	portalPage(w, http.StatusOK, "report", data)
}
