package sample

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// artifactsAtOnce is how many entries one page of what a person reaches has.
const artifactsAtOnce = 20

// artifactTypes are the kinds of things by their names in lists of access.
var artifactTypes = []string{
	"Report", "PaginatedReport", "Dashboard", "Dataset", "Dataflow", "PersonalGroup", "Group", "Workspace", "Capacity", "App",
}

// artifactAccess lists what a person reaches, page by page.
func (t *Tenant) artifactAccess(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var types []string
	for part := range strings.SplitSeq(q.Get("artifactTypes"), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !slices.Contains(artifactTypes, part) {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "artifactTypes has "+strconv.Quote(part)+", which is none of "+strings.Join(artifactTypes, ", "))
			return
		}
		types = append(types, part)
	}
	from := 0
	if token := strings.Trim(q.Get("continuationToken"), "'"); token != "" {
		var err error
		if from, err = strconv.Atoi(strings.TrimPrefix(token, "at-")); err != nil || from < 1 || !strings.HasPrefix(token, "at-") {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "continuationToken is none of this list")
			return
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.personByID(strings.ToLower(r.PathValue("user")))
	if p == nil {
		p = t.personByName(r.PathValue("user"))
	}
	if p == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return
	}
	all := slices.DeleteFunc(t.artifactsOf(p), func(o object) bool {
		kind, _ := o["artifactType"].(string)
		return len(types) > 0 && !slices.Contains(types, kind)
	})
	from = min(from, len(all))
	to := min(from+artifactsAtOnce, len(all))
	answer := object{"artifactAccessEntities": append([]object{}, all[from:to]...), "continuationUri": nil, "continuationToken": nil}
	if to < len(all) {
		token := "at-" + strconv.Itoa(to)
		next := url.Values{"continuationToken": {"'" + token + "'"}}
		if len(types) > 0 {
			next.Set("artifactTypes", strings.Join(types, ","))
		}
		answer["continuationToken"] = token
		answer["continuationUri"] = t.base(r) + r.URL.EscapedPath() + "?" + next.Encode()
	}
	writeJSON(w, http.StatusOK, answer)
}

// artifactsOf lists what a person reaches by roles, shares and apps.
func (t *Tenant) artifactsOf(p *person) []object {
	var list []object
	add := func(kind, id, name, right string) {
		list = append(list, object{"artifactId": id, "displayName": name, "artifactType": kind, "accessRight": right})
	}
	for ws := range t.workspaces() {
		role := t.roleIn(ws, p)
		if role != "" {
			kind := "Workspace"
			if ws.kind == "PersonalGroup" {
				kind = ws.kind
			}
			add(kind, ws.id, ws.name, role)
			right := map[bool]string{true: "Read", false: "ReadWrite"}[role == "Viewer"]
			for _, rep := range ws.reports {
				add("Report", rep.id, rep.name, right)
			}
			for _, d := range ws.dashboards() {
				add("Dashboard", d.id, d.name, right)
			}
		}
		for _, d := range ws.datasets {
			if may := t.rightsOn(p, d); may.read {
				add("Dataset", d.id, d.name, may.String())
			}
		}
		if ws.app == nil {
			continue
		}
		for _, a := range ws.app.users {
			if t.inForce(a.span, p) && reaches(a.to, p) {
				add("App", ws.app.id, ws.app.name, a.right)
				break
			}
		}
	}
	return list
}

// String puts rights together as Power BI does: ReadWriteReshareExplore.
func (r rights) String() string {
	var b strings.Builder
	for _, part := range []struct {
		has  bool
		name string
	}{{r.read, "Read"}, {r.write, "Write"}, {r.reshare, "Reshare"}, {r.explore, "Explore"}} {
		if part.has {
			b.WriteString(part.name)
		}
	}
	return b.String()
}
