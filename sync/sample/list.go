package sample

import (
	"iter"
	"net/http"
	"slices"
	"time"

	reports "github.com/pbmb/pbmb/sync/sample/report"
)

// findGroup returns the workspace of the path, as the caller sees it. Without
// one in the path it is nil, which stands for the caller's own workspace.
func (t *Tenant) findGroup(w http.ResponseWriter, r *http.Request, c caller) (*workspace, bool) {
	groupID := r.PathValue("group")
	if groupID == "" {
		return nil, true
	}
	ws := t.workspaceByID(groupID)
	if ws == nil || ws.kind != "Workspace" || t.roleIn(ws, c.person) == "" {
		powerBIError(w, http.StatusNotFound, "PowerBIFolderNotFound", "")
		return nil, false
	}
	return ws, true
}

// findDataset returns the dataset of the path with what the caller may do with
// it, where they may read it.
func (t *Tenant) findDataset(w http.ResponseWriter, r *http.Request, c caller) (*dataset, rights, bool) {
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return nil, rights{}, false
	}
	d := t.datasetByID(r.PathValue("dataset"))
	var may rights
	if d != nil && (ws == nil || d.space.id == ws.id) {
		may = t.rightsOn(c.person, d)
	}
	if !may.read {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return nil, rights{}, false
	}
	return d, may, true
}

func (t *Tenant) listGroups(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.listed(w, r, "groups", func(yield func(object) bool) {
		for ws := range t.workspaces() {
			if role := t.roleIn(ws, c.person); ws.kind == "Workspace" && role != "" && !yield(groupEntry(ws, role)) {
				return
			}
		}
	})
}

func (t *Tenant) listGroupUsers(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return
	}
	var list []object
	for _, a := range live(ws.users) {
		list = append(list, userEntry(a, "groupUserAccessRight", false))
	}
	t.odata(w, r, "groups/users", list)
}

// userEntry is a principal in a list of users; only admin answers have graphId.
func userEntry(a access, right string, admin bool) object {
	entry := object{right: a.right}
	switch p := a.to.(type) {
	case *person:
		entry["principalType"], entry["displayName"] = "User", p.name
		entry["identifier"], entry["emailAddress"] = p.upn, p.mail
		if admin {
			entry["userType"] = map[bool]string{false: "Member", true: "Guest"}[p.guest.Load()]
		}
	case *group:
		entry["principalType"], entry["displayName"], entry["identifier"] = "Group", p.name, p.id
	case *servicePrincipal:
		entry["principalType"], entry["displayName"], entry["identifier"] = "App", p.name, p.id
	}
	if admin {
		entry["graphId"] = a.to.objectID()
	}
	return entry
}

func (t *Tenant) listDatasets(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return
	}
	var datasets []*dataset
	if ws != nil {
		datasets = ws.datasets
	} else {
		for space := range t.workspaces() {
			if space.kind == "PersonalGroup" && t.roleIn(space, c.person) != "" {
				datasets = append(datasets, space.datasets...)
			}
		}
	}
	t.odataEach(w, r, "datasets", func(yield func(object) bool) {
		for _, d := range datasets {
			if !yield(datasetEntry(d)) {
				return
			}
		}
	})
}

func datasetEntry(d *dataset) object {
	hasRoles := len(d.model().Roles) > 0
	return object{
		"id": d.id, "name": d.name, "addRowsAPIEnabled": false, "configuredBy": d.by.upn, "isRefreshable": true,
		"isEffectiveIdentityRequired": hasRoles, "isEffectiveIdentityRolesRequired": hasRoles, "isOnPremGatewayRequired": false,
		"webUrl":               "https://app.powerbi.com/groups/" + d.space.id + "/datasets/" + d.id,
		"createReportEmbedURL": "https://app.powerbi.com/reportEmbed?config=e30%3D",
		"qnaEmbedURL":          "https://app.powerbi.com/qnaEmbed?config=e30%3D",
		"createdDate":          "2023-02-01T08:15:00.123Z", "targetStorageMode": "Abf", "description": d.description,
		"upstreamDatasets": []object{}, "users": []object{},
		"queryScaleOutSettings": object{"autoSyncReadOnlyReplicas": true, "maxReadOnlyReplicas": 0},
	}
}

func (t *Tenant) getDataset(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, _, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	entry := datasetEntry(d)
	entry["@odata.context"] = t.base(r) + PowerBIPath + "/v1.0/myorg/$metadata#datasets/$entity"
	writeJSON(w, http.StatusOK, entry)
}

func (t *Tenant) listDatasetUsers(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, may, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	if !may.reshare {
		powerBIError(w, http.StatusForbidden, "PowerBINotAuthorizedException", "")
		return
	}
	var list []object
	for _, a := range rightsGiven(d) {
		entry := userEntry(a, "datasetUserAccessRight", false)
		delete(entry, "displayName")
		delete(entry, "emailAddress")
		list = append(list, entry)
	}
	t.odata(w, r, "datasets/users", list)
}

// rightsGiven are the rights on a dataset by a role in its workspace and by shares.
func rightsGiven(d *dataset) []access {
	rights := map[string]string{
		"Admin": "ReadWriteReshareExplore", "Member": "ReadWriteReshareExplore",
		"Contributor": "ReadWriteExplore", "Viewer": "Read",
	}
	var list []access
	for _, a := range live(d.space.users) {
		list = append(list, access{to: a.to, right: rights[a.right]})
	}
	return append(list, live(d.shares)...)
}

func (t *Tenant) listRefreshes(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, _, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	t.odataEach(w, r, "refreshes", cut(r, slices.Values(t.history(d))))
}

func (t *Tenant) listReports(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return
	}
	var list []object
	if ws != nil {
		for _, rep := range ws.reports {
			list = append(list, reportEntry(t.base(r), rep, ws.id, c))
		}
	}
	t.odata(w, r, "reports", list)
}

// reportEntry is a report in a list. Its addresses are those of app.powerbi.com,
// in whose place the tenant's own address is.
func reportEntry(base string, rep *report, space string, c caller) object {
	entry := object{
		"id": rep.id, "name": rep.name, "datasetId": rep.dataset.id, "datasetWorkspaceId": rep.dataset.space.id,
		"reportType": "PowerBIReport", "isOwnedByMe": c.person != nil && rep.by.id == c.person.id, "isFromPbix": true,
		"webUrl":   base + "/groups/" + space + "/reports/" + rep.id,
		"embedUrl": base + reports.PagePath + "?reportId=" + rep.id + "&groupId=" + space,
		"users":    []object{}, "subscriptions": []object{},
	}
	if rep.app != nil {
		entry["appId"] = rep.app.id
		entry["originalReportId"] = rep.original.id
		entry["webUrl"] = base + "/Redirect?action=OpenReport&appId=" + rep.app.id + "&reportObjectId=" + rep.id
		entry["embedUrl"] = base + reports.PagePath + "?reportId=" + rep.id + "&appId=" + rep.app.id
		delete(entry, "isOwnedByMe")
	}
	return entry
}

// listPages lists the pages of a report, in their order.
func (t *Tenant) listPages(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rep, _, ok := t.findReport(w, r, c)
	if !ok {
		return
	}
	var list []object
	if rep.drawn != nil {
		for i, p := range rep.drawn.Pages {
			list = append(list, object{"name": p.ID, "displayName": p.Name, "order": i})
		}
	}
	t.odata(w, r, "pages", list)
}

// appsOf gives the apps that are open to a person.
func (t *Tenant) appsOf(p *person) iter.Seq[*app] {
	return func(yield func(*app) bool) {
		for a := range t.apps() {
			if t.openTo(a, p) && !yield(a) {
				return
			}
		}
	}
}

// openTo reports whether an app is open to a person: to its audience, and to
// whoever has a role in its workspace.
func (t *Tenant) openTo(a *app, p *person) bool {
	return t.roleIn(a.space, p) != "" || slices.ContainsFunc(a.users, func(u access) bool { return t.inForce(u.span, p) && reaches(u.to, p) })
}

func appEntry(a *app) object {
	return object{
		"id": a.id, "name": a.name, "description": a.description, "publishedBy": a.by.name,
		"lastUpdate": "2026-06-15T09:30:00.77Z",
	}
}

func (t *Tenant) listApps(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.odataEach(w, r, "apps", cut(r, func(yield func(object) bool) {
		for a := range t.appsOf(c.person) {
			if !yield(appEntry(a)) {
				return
			}
		}
	}))
}

func (t *Tenant) listAppReports(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	a, ok := t.findApp(w, r, c)
	if !ok {
		return
	}
	var list []object
	for _, rep := range a.reports {
		list = append(list, reportEntry(t.base(r), rep, a.space.id, c))
	}
	t.odata(w, r, "reports", list)
}

// refreshPermissions makes changes count for the caller sooner; once an hour.
func (t *Tenant) refreshPermissions(w http.ResponseWriter, _ *http.Request, c caller) {
	if !t.take(w, "permissions "+c.key, 1, time.Hour) {
		return
	}
	t.mu.Lock()
	t.refreshed[c.person.id] = t.now()
	t.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}
