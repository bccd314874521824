package sample

import (
	"net/http"
	"slices"
)

// A dashboard has a tile of each report of its workspace.
type dashboard struct {
	id, name string

	space *workspace
}

// A tile of a dashboard.
type tile struct {
	id     string
	report *report
}

// dashboards are those of a workspace: one where it has several reports.
func (w *workspace) dashboards() []*dashboard {
	if w.kind != "Workspace" || len(w.reports) < 2 {
		return nil
	}
	return []*dashboard{{id: id("dashboard", w.id), name: "At a glance", space: w}}
}

func (d *dashboard) tiles() []tile {
	var list []tile
	for _, r := range d.space.reports {
		list = append(list, tile{id: id("tile", d.id+r.id), report: r})
	}
	return list
}

func dashboardEntry(d *dashboard) object {
	return object{
		"id": d.id, "displayName": d.name, "isReadOnly": false,
		"webUrl":   "https://app.powerbi.com/groups/" + d.space.id + "/dashboards/" + d.id,
		"embedUrl": "https://app.powerbi.com/dashboardEmbed?dashboardId=" + d.id + "&config=e30%3D",
		"users":    []object{}, "subscriptions": []object{},
	}
}

func tileEntry(d *dashboard, t tile) object {
	return object{
		"id": t.id, "title": t.report.name, "rowSpan": 1, "colSpan": 2, "reportId": t.report.id, "datasetId": t.report.dataset.id,
		"embedUrl": "https://app.powerbi.com/embed?dashboardId=" + d.id + "&tileId=" + t.id + "&config=e30%3D", "embedData": "",
	}
}

func (t *Tenant) dashboardByID(id string) *dashboard {
	for w := range t.workspaces() {
		for _, d := range w.dashboards() {
			if same(d.id, id) {
				return d
			}
		}
	}
	return nil
}

// findDashboard returns the dashboard of the path where the caller may see it.
func (t *Tenant) findDashboard(w http.ResponseWriter, r *http.Request, c caller) (*dashboard, bool) {
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return nil, false
	}
	d := t.dashboardByID(r.PathValue("dashboard"))
	if d == nil || ws != nil && d.space.id != ws.id || t.roleIn(d.space, c.person) == "" {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return nil, false
	}
	return d, true
}

// listDashboards lists those of a workspace; without one there are none, since
// nobody here has one in a personal workspace.
func (t *Tenant) listDashboards(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return
	}
	var list []object
	if ws != nil {
		for _, d := range ws.dashboards() {
			list = append(list, dashboardEntry(d))
		}
	}
	t.odata(w, r, "dashboards", list)
}

func (t *Tenant) getDashboard(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d, ok := t.findDashboard(w, r, c); ok {
		t.one(w, r, "dashboards", dashboardEntry(d))
	}
}

func (t *Tenant) listTiles(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, ok := t.findDashboard(w, r, c)
	if !ok {
		return
	}
	t.odata(w, r, "dashboards/tiles", tileEntries(d))
}

func tileEntries(d *dashboard) []object {
	var list []object
	for _, tile := range d.tiles() {
		list = append(list, tileEntry(d, tile))
	}
	return list
}

func (t *Tenant) getTile(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, ok := t.findDashboard(w, r, c)
	if !ok {
		return
	}
	tiles := d.tiles()
	i := slices.IndexFunc(tiles, func(x tile) bool { return same(x.id, r.PathValue("tile")) })
	if i < 0 {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return
	}
	t.one(w, r, "tiles", tileEntry(d, tiles[i]))
}

// one answers a single thing as Power BI does.
func (t *Tenant) one(w http.ResponseWriter, r *http.Request, of string, entry object) {
	entry["@odata.context"] = t.base(r) + root + "/$metadata#" + of + "/$entity"
	writeJSON(w, http.StatusOK, entry)
}
