package sample

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// listed answers a list of the admin API with $filter, $top and $skip.
func (t *Tenant) listed(w http.ResponseWriter, r *http.Request, of string, list iter.Seq[object]) {
	if list, ok := filtered(w, r, list); ok {
		t.odataEach(w, r, of, cut(r, list))
	}
}

// mostGroups is how many workspaces one call gives at most.
const mostGroups = 5000

func (t *Tenant) adminGroups(w http.ResponseWriter, r *http.Request) {
	top, err := strconv.Atoi(r.URL.Query().Get("$top"))
	if err != nil || top < 1 || top > mostGroups {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", fmt.Sprintf("$top must be between 1 and %d", mostGroups))
		return
	}
	expand, ok := expansions(w, r)
	if !ok {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.listed(w, r, "groups", func(yield func(object) bool) {
		for ws := range t.workspaces() {
			if !yield(adminGroup(ws, expand)) {
				return
			}
		}
	})
}

// expansions reads $expand of workspaces.
func expansions(w http.ResponseWriter, r *http.Request) ([]string, bool) {
	known := []string{"users", "reports", "dashboards", "datasets", "dataflows", "workbooks"}
	var list []string
	for part := range strings.SplitSeq(r.URL.Query().Get("$expand"), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !slices.Contains(known, part) {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "$expand has "+strconv.Quote(part)+", which is none of "+strings.Join(known, ", "))
			return nil, false
		}
		list = append(list, part)
	}
	return list, true
}

func adminGroup(ws *workspace, expand []string) object {
	out := object{
		"id": ws.id, "name": ws.name, "description": ws.description, "type": ws.kind, "state": "Active", "isReadOnly": false,
		"isOnDedicatedCapacity": ws.kind == "Workspace", "defaultDatasetStorageFormat": "Small", "hasWorkspaceLevelSettings": false,
	}
	if ws.kind == "Workspace" {
		out["capacityId"] = capacityID
	}
	for _, part := range expand {
		list := []object{}
		switch part {
		case "users":
			list = append(list, usersOf(ws.users, "groupUserAccessRight")...)
		case "reports":
			list = append(list, adminReports(ws)...)
		case "dashboards":
			list = append(list, adminDashboards(ws)...)
		case "datasets":
			list = append(list, adminDatasets(ws)...)
		}
		out[part] = list
	}
	return out
}

func usersOf(list []access, right string) []object {
	var out []object
	for _, a := range live(list) {
		out = append(out, userEntry(a, right, true))
	}
	return out
}

// adminSpace returns the workspace of the path, personal ones too.
func (t *Tenant) adminSpace(w http.ResponseWriter, r *http.Request) *workspace {
	ws := t.workspaceByID(r.PathValue("group"))
	if ws == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIFolderNotFound", "")
	}
	return ws
}

func (t *Tenant) adminGetGroup(w http.ResponseWriter, r *http.Request) {
	expand, ok := expansions(w, r)
	if !ok {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if ws := t.adminSpace(w, r); ws != nil {
		t.one(w, r, "groups", adminGroup(ws, expand))
	}
}

func (t *Tenant) adminGroupUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if ws := t.adminSpace(w, r); ws != nil {
		t.odata(w, r, "users", usersOf(ws.users, "groupUserAccessRight"))
	}
}

// adminSpaces are the workspaces that a list of the admin API is of: that of the
// path, or all.
func (t *Tenant) adminSpaces(w http.ResponseWriter, r *http.Request) (iter.Seq[*workspace], bool) {
	if r.PathValue("group") == "" {
		return t.workspaces(), true
	}
	ws := t.adminSpace(w, r)
	return func(yield func(*workspace) bool) { yield(ws) }, ws != nil
}

// adminList answers the things of workspaces.
func (t *Tenant) adminList(of string, entries func(*workspace) []object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t.mu.RLock()
		defer t.mu.RUnlock()
		spaces, ok := t.adminSpaces(w, r)
		if !ok {
			return
		}
		t.listed(w, r, of, func(yield func(object) bool) {
			for ws := range spaces {
				for _, entry := range entries(ws) {
					if !yield(entry) {
						return
					}
				}
			}
		})
	}
}

func adminDatasets(ws *workspace) []object {
	var list []object
	for _, d := range ws.datasets {
		list = append(list, adminDataset(d))
	}
	return list
}

func adminDataset(d *dataset) object {
	entry := datasetEntry(d)
	entry["workspaceId"], entry["contentProviderType"] = d.space.id, "PbixInImportMode"
	return entry
}

func adminReports(ws *workspace) []object {
	var list []object
	for _, rep := range ws.reports {
		// Nobody opens a report by an address of these lists.
		entry := reportEntry("https://app.powerbi.com", rep, ws.id, caller{})
		delete(entry, "isOwnedByMe")
		entry["workspaceId"] = ws.id
		entry["createdDateTime"], entry["modifiedDateTime"] = "2025-02-01T08:00:00.1Z", "2026-06-02T09:30:00.123Z"
		entry["createdBy"], entry["modifiedBy"] = rep.by.upn, rep.by.upn
		list = append(list, entry)
	}
	return list
}

// adminDashboards has the tiles with it, as $expand=tiles asks and nobody minds.
func adminDashboards(ws *workspace) []object {
	var list []object
	for _, d := range ws.dashboards() {
		entry := dashboardEntry(d)
		entry["workspaceId"] = ws.id
		entry["tiles"] = tileEntries(d)
		list = append(list, entry)
	}
	return list
}

func (t *Tenant) adminDatasetUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d := t.adminFind(w, t.datasetByID(r.PathValue("dataset"))); d != nil {
		t.odata(w, r, "users", usersOf(rightsGiven(d), "datasetUserAccessRight"))
	}
}

func (t *Tenant) adminDatasources(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d := t.adminFind(w, t.datasetByID(r.PathValue("dataset"))); d != nil {
		t.odata(w, r, "datasources", []object{sourceOf(d)})
	}
}

// adminFind passes a dataset on, or answers that there is none.
func (t *Tenant) adminFind(w http.ResponseWriter, d *dataset) *dataset {
	if d == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
	}
	return d
}

func (t *Tenant) adminReportUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for ws := range t.workspaces() {
		for _, rep := range ws.reports {
			if same(rep.id, r.PathValue("report")) {
				t.odata(w, r, "users", usersOf(contentRights(ws, rep.by), "reportUserAccessRight"))
				return
			}
		}
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
}

func (t *Tenant) adminDashboardUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d := t.dashboardByID(r.PathValue("dashboard"))
	if d == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return
	}
	t.odata(w, r, "users", usersOf(contentRights(d.space, nil), "dashboardUserAccessRight"))
}

func (t *Tenant) adminTiles(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d := t.dashboardByID(r.PathValue("dashboard"))
	if d == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return
	}
	t.odata(w, r, "tiles", tileEntries(d))
}

// contentRights are the rights on a report or dashboard: its owner's, and those
// that come of roles in its workspace.
func contentRights(ws *workspace, owner *person) []access {
	var list []access
	for _, a := range live(ws.users) {
		right := map[string]string{"Admin": "ReadWrite", "Member": "ReadWrite", "Contributor": "ReadWrite", "Viewer": "Read"}[a.right]
		if owner != nil && a.to.objectID() == owner.id {
			right = "Owner"
		}
		list = append(list, access{to: a.to, right: right})
	}
	return list
}

func (t *Tenant) adminCapacities(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var admins []string
	for _, p := range t.people {
		if p.fabricAdmin {
			admins = append(admins, p.upn)
		}
	}
	t.odata(w, r, "capacities", []object{capacityEntry("Admin", admins...)})
}
