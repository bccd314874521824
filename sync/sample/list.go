package sample

import (
	"net/http"
	"strconv"
	"time"
)

// findGroup returns the workspace of the path, as the caller sees it. Without
// one in the path it is nil, which stands for the caller's own workspace.
func (t *Tenant) findGroup(w http.ResponseWriter, r *http.Request, c caller) (*workspace, bool) {
	groupID := r.PathValue("group")
	if groupID == "" {
		return nil, true
	}
	ws := t.workspaceByID(groupID)
	if ws == nil || ws.kind != "Workspace" || ws.roleIn(c.person) == "" {
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
	if d != nil && (ws == nil || d.space == ws) {
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
	var list []object
	for _, ws := range t.spaces {
		if ws.kind != "Workspace" {
			continue
		}
		if role := ws.roleIn(c.person); role != "" {
			list = append(list, object{
				"id": ws.id, "name": ws.name, "isReadOnly": role == "Viewer", "isOnDedicatedCapacity": true,
				"capacityId": "B7A1C0DE-0000-4000-8000-000000000001", "defaultDatasetStorageFormat": "Small", "type": ws.kind,
			})
		}
	}
	t.odata(w, r, "groups", cutList(r, list))
}

// cutList cuts a list by $top and $skip.
func cutList(r *http.Request, list []object) []object {
	if n, err := strconv.Atoi(r.URL.Query().Get("$skip")); err == nil && n > 0 {
		list = list[min(n, len(list)):]
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("$top")); err == nil && n > 0 {
		list = list[:min(n, len(list))]
	}
	return list
}

func (t *Tenant) listGroupUsers(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return
	}
	var list []object
	for _, a := range ws.users {
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
			entry["userType"] = map[bool]string{false: "Member", true: "Guest"}[p.guest]
		}
	case *group:
		entry["principalType"], entry["displayName"], entry["identifier"] = "Group", p.name, p.id
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
	var list []object
	for _, space := range t.spaces {
		own := ws == nil && space.kind == "PersonalGroup" && space.roleIn(c.person) != ""
		if space != ws && !own {
			continue
		}
		for _, d := range space.datasets {
			list = append(list, t.datasetEntry(r, d))
		}
	}
	t.odata(w, r, "datasets", list)
}

func (t *Tenant) datasetEntry(r *http.Request, d *dataset) object {
	hasRoles := len(d.model.Roles) > 0
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
	entry := t.datasetEntry(r, d)
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
	for _, a := range append(roleRights(d.space), d.shares...) {
		entry := userEntry(a, "datasetUserAccessRight", false)
		delete(entry, "displayName")
		delete(entry, "emailAddress")
		list = append(list, entry)
	}
	t.odata(w, r, "datasets/users", list)
}

// roleRights are the rights on the datasets of a workspace that come of roles in it.
func roleRights(ws *workspace) []access {
	rights := map[string]string{
		"Admin": "ReadWriteReshareExplore", "Member": "ReadWriteReshareExplore",
		"Contributor": "ReadWriteExplore", "Viewer": "Read",
	}
	var list []access
	for _, a := range ws.users {
		list = append(list, access{to: a.to, right: rights[a.right]})
	}
	return list
}

// lastRefresh is the end of the nightly refresh before now.
func (t *Tenant) lastRefresh() time.Time {
	now := t.now().UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), 4, 10, 30, 120_000_000, time.UTC)
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at
}

func (t *Tenant) listRefreshes(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, _, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	var list []object
	for i := range 7 {
		end := t.lastRefresh().AddDate(0, 0, -i)
		const form = "2006-01-02T15:04:05.999Z"
		start := end.Add(-7 * time.Minute)
		request := id("refresh", d.id+end.Format(form))
		list = append(list, object{
			"requestId": request, "id": 7000 - i, "refreshType": "Scheduled", "status": "Completed",
			"startTime": start.Format(form), "endTime": end.Format(form),
			"refreshAttempts": []object{{"attemptId": 1, "startTime": start.Format(form), "endTime": end.Format(form), "type": "Data"}},
		})
	}
	t.odata(w, r, "refreshes", cutList(r, list))
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
			list = append(list, reportEntry(rep, ws.id, c))
		}
	}
	t.odata(w, r, "reports", list)
}

func reportEntry(rep *report, space string, c caller) object {
	entry := object{
		"id": rep.id, "name": rep.name, "datasetId": rep.dataset.id, "datasetWorkspaceId": rep.dataset.space.id,
		"reportType": "PowerBIReport", "isOwnedByMe": rep.by == c.person, "isFromPbix": true,
		"webUrl":   "https://app.powerbi.com/groups/" + space + "/reports/" + rep.id,
		"embedUrl": "https://app.powerbi.com/reportEmbed?reportId=" + rep.id + "&groupId=" + space,
		"users":    []object{}, "subscriptions": []object{},
	}
	if rep.app != nil {
		entry["appId"] = rep.app.id
		entry["originalReportId"] = rep.original.id
		entry["webUrl"] = "https://app.powerbi.com/Redirect?action=OpenReport&appId=" + rep.app.id + "&reportObjectId=" + rep.id
		entry["embedUrl"] = "https://app.powerbi.com/reportEmbed?reportId=" + rep.id + "&appId=" + rep.app.id
		delete(entry, "isOwnedByMe")
	}
	return entry
}

// appsOf lists the apps that are open to a person.
func (t *Tenant) appsOf(p *person) []*app {
	var list []*app
	for _, ws := range t.spaces {
		if ws.app == nil {
			continue
		}
		open := ws.roleIn(p) != ""
		for _, a := range ws.app.users {
			open = open || reaches(a.to, p)
		}
		if open {
			list = append(list, ws.app)
		}
	}
	return list
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
	var list []object
	for _, a := range t.appsOf(c.person) {
		list = append(list, appEntry(a))
	}
	t.odata(w, r, "apps", cutList(r, list))
}

func (t *Tenant) listAppReports(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, a := range t.appsOf(c.person) {
		if a.id != r.PathValue("app") {
			continue
		}
		var list []object
		for _, rep := range a.reports {
			list = append(list, reportEntry(rep, a.space.id, c))
		}
		t.odata(w, r, "reports", list)
		return
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
}

// refreshPermissions is taken once an hour; here permissions are never stale.
func (t *Tenant) refreshPermissions(w http.ResponseWriter, _ *http.Request, c caller) {
	if t.take(w, "permissions "+c.key, 1, time.Hour) {
		w.WriteHeader(http.StatusOK)
	}
}
