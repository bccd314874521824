package sample

import (
	"encoding/json"
	"net/http"
	"strings"
)

// What a person may ask of one group, dataset, report or app beside the lists.

func (t *Tenant) getGroup(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if ws, ok := t.findGroup(w, r, c); ok {
		t.one(w, r, "groups", groupEntry(ws, t.roleIn(ws, c.person)))
	}
}

func groupEntry(ws *workspace, role string) object {
	return object{
		"id": ws.id, "name": ws.name, "isReadOnly": role == "Viewer", "isOnDedicatedCapacity": true,
		"capacityId": capacityID, "defaultDatasetStorageFormat": "Small", "type": ws.kind,
	}
}

// findReport returns the report of the path, and the workspace that it is named
// in, where the caller may see it: by a role in its workspace or by an app.
func (t *Tenant) findReport(w http.ResponseWriter, r *http.Request, c caller) (*report, *workspace, bool) {
	ws, ok := t.findGroup(w, r, c)
	if !ok {
		return nil, nil, false
	}
	wanted := r.PathValue("report")
	for space := range t.workspaces() {
		if ws != nil && space.id != ws.id {
			continue
		}
		for _, rep := range space.reports {
			if same(rep.id, wanted) && t.roleIn(space, c.person) != "" {
				return rep, space, true
			}
		}
		if ws != nil || space.app == nil || !t.openTo(space.app, c.person) {
			continue
		}
		for _, rep := range space.app.reports {
			if same(rep.id, wanted) {
				return rep, space, true
			}
		}
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
	return nil, nil, false
}

func (t *Tenant) getReport(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if rep, space, ok := t.findReport(w, r, c); ok {
		t.one(w, r, "reports", reportEntry(t.base(r), rep, space.id, c))
	}
}

func (t *Tenant) getApp(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if a, ok := t.findApp(w, r, c); ok {
		t.one(w, r, "apps", appEntry(a))
	}
}

func (t *Tenant) findApp(w http.ResponseWriter, r *http.Request, c caller) (*app, bool) {
	a := t.appByID(r.PathValue("app"))
	if a == nil || !t.openTo(a, c.person) {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return nil, false
	}
	return a, true
}

func (t *Tenant) getAppReport(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	a, ok := t.findApp(w, r, c)
	if !ok {
		return
	}
	for _, rep := range a.reports {
		if same(rep.id, r.PathValue("report")) {
			t.one(w, r, "reports", reportEntry(t.base(r), rep, a.space.id, c))
			return
		}
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
}

// listAppDashboards lists none: no app here has a dashboard.
func (t *Tenant) listAppDashboards(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, ok := t.findApp(w, r, c); ok {
		t.odata(w, r, "dashboards", nil)
	}
}

func (t *Tenant) listDatasources(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d, _, ok := t.findDataset(w, r, c); ok {
		t.odata(w, r, "datasources", []object{sourceOf(d)})
	}
}

func (t *Tenant) getRefreshSchedule(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, _, ok := t.findDataset(w, r, c); ok {
		t.one(w, r, "refreshSchedule", refreshSchedule())
	}
}

func refreshSchedule() object {
	return object{
		"days": []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}, "times": []string{"04:00"},
		"enabled": true, "localTimeZoneId": "UTC", "notifyOption": "MailOnFailure",
	}
}

// listParameters tells the one M parameter that every dataset here has.
func (t *Tenant) listParameters(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, _, ok := t.findDataset(w, r, c); ok {
		t.odata(w, r, "parameters", []object{{
			"name": "Server", "type": "Text", "isRequired": true, "currentValue": "warehouse.sample.example", "suggestedValues": []string{},
		}})
	}
}

// getRefresh tells of one refresh: 202 while it runs. Only those begun by an
// enhanced refresh have such an answer, which is all that a caller can begin with a
// type.
func (t *Tenant) getRefresh(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, _, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	for _, entry := range t.history(d) {
		if entry["requestId"] != strings.ToLower(r.PathValue("refresh")) {
			continue
		}
		answer := object{
			"startTime": entry["startTime"], "type": "Full", "commitMode": "Transactional", "status": entry["status"],
			"extendedStatus": entry["status"], "currentRefreshType": "Full", "numberOfAttempts": 0, "objects": []object{},
			"refreshAttempts": entry["refreshAttempts"],
		}
		status := http.StatusOK
		if end, ended := entry["endTime"]; ended {
			answer["endTime"] = end
		} else {
			answer["extendedStatus"], status = "InProgress", http.StatusAccepted
		}
		if text, failed := entry["serviceExceptionJson"].(string); failed {
			var problem struct{ ErrorCode string }
			_ = json.Unmarshal([]byte(text), &problem) // it was written as JSON
			answer["messages"] = []object{{"code": problem.ErrorCode, "message": "The refresh failed.", "type": "Error"}}
		}
		writeJSON(w, status, answer)
		return
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
}

// capacityID is the one capacity of the tenant, as scans spell it.
const capacityID = "B7A1C0DE-0000-4000-8000-000000000001"

func capacityEntry(right string, admins ...string) object {
	return object{
		"id": capacityID, "displayName": "Tarnwick P1", "admins": admins, "sku": "P1", "state": "Active",
		"region": "North Europe", "capacityUserAccessRight": right,
	}
}

// listCapacities lists the capacity for those who administer it, and nothing for
// others.
func (t *Tenant) listCapacities(w http.ResponseWriter, r *http.Request, c caller) {
	var list []object
	if c.person.fabricAdmin {
		list = append(list, capacityEntry("Admin", c.person.upn))
	}
	t.odata(w, r, "capacities", list)
}

func (t *Tenant) listFeatures(w http.ResponseWriter, r *http.Request, _ caller) {
	writeJSON(w, http.StatusOK, object{
		"@odata.context": t.base(r) + PowerBIPath + "/v1.0/myorg/$metadata#availableFeatures",
		"features": []object{
			{"name": "embedTrial", "state": "Enabled", "extendedState": "Enabled", "additionalInfo": object{"usage": 0}},
		},
	})
}

// executeDaxQueries refuses: the Arrow endpoint is not served, as where the
// capacity or the tenant's settings do not have it.
func (t *Tenant) executeDaxQueries(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, _, ok := t.findDataset(w, r, c); ok {
		powerBIError(w, http.StatusForbidden, "FeatureNotAvailableError", "executeDaxQueries is not available here: use executeQueries.")
	}
}
