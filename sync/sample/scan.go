package sample

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	scanLife        = 24 * time.Hour
	scansAtOnce     = 16
	workspacesAtOne = 100
)

// A scan is what the admin API is asked for in one call.
type scan struct {
	id      string
	started time.Time
	flags   scanFlags
	ids     []string
}

// scanFlags are what a scan is asked to tell.
type scanFlags struct {
	lineage, datasources, schema, expressions, users bool
}

func (t *Tenant) modifiedWorkspaces(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var since time.Time
	if text := q.Get("modifiedSince"); text != "" {
		var err error
		since, err = time.Parse("2006-01-02T15:04:05.999999999Z07:00", text)
		now := t.now()
		if err != nil || since.Before(now.Add(-30*24*time.Hour)) || since.After(now.Add(-30*time.Minute)) {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "modifiedSince must be in ISO 8601 format, between 30 minutes and 30 days ago")
			return
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := []object{}
	for _, ws := range t.spaces {
		if strings.EqualFold(q.Get("excludePersonalWorkspaces"), "true") && ws.kind == "PersonalGroup" {
			continue
		}
		if ws.modified.After(since) {
			list = append(list, object{"id": ws.id})
		}
	}
	writeJSON(w, http.StatusOK, list)
}

func (t *Tenant) startScan(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Workspaces []string `json:"workspaces"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
		powerBIError(w, http.StatusBadRequest, "BadRequest", "Bad Request")
		return
	}
	if n := len(body.Workspaces); n < 1 || n > workspacesAtOne {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "workspaces must have between 1 and 100 items")
		return
	}
	for _, ws := range body.Workspaces {
		if _, err := uuid.Parse(ws); err != nil {
			powerBIError(w, http.StatusBadRequest, "InvalidRequest", "workspaces must be a list of guids")
			return
		}
	}
	q := r.URL.Query()
	flag := func(name string) bool { return strings.EqualFold(q.Get(name), "true") }
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	running := 0
	for key, s := range t.scans {
		switch {
		case now.Sub(s.started) > scanLife:
			delete(t.scans, key)
		case now.Sub(s.started) < t.cfg.ScanTime:
			running++
		}
	}
	if running >= scansAtOnce {
		w.Header().Set("Retry-After", "30")
		writeJSON(w, http.StatusTooManyRequests, object{"message": "You have exceeded the amount of scans that run at the same time."})
		return
	}
	s := &scan{id: uuid.NewString(), started: now, ids: body.Workspaces, flags: scanFlags{
		lineage: flag("lineage"), datasources: flag("datasourceDetails"), schema: flag("datasetSchema"),
		expressions: flag("datasetExpressions"), users: flag("getArtifactUsers"),
	}}
	t.scans[s.id] = s
	w.Header().Set("Location", t.base(r)+PowerBIPath+"/v1.0/myorg/admin/workspaces/scanStatus/"+s.id)
	writeJSON(w, http.StatusAccepted, s.state("NotStarted"))
}

func (s *scan) state(status string) object {
	return object{"id": s.id, "createdDateTime": s.started.UTC().Format("2006-01-02T15:04:05.999Z"), "status": status}
}

// findScan returns a scan of the path that has not been thrown away.
func (t *Tenant) findScan(w http.ResponseWriter, r *http.Request) *scan {
	s := t.scans[r.PathValue("scan")]
	if s == nil || t.now().Sub(s.started) > scanLife {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return nil
	}
	return s
}

func (t *Tenant) scanStatus(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.findScan(w, r)
	switch {
	case s == nil:
	case t.now().Sub(s.started) < t.cfg.ScanTime:
		writeJSON(w, http.StatusOK, s.state("Running"))
	default:
		w.Header().Set("Location", t.base(r)+PowerBIPath+"/v1.0/myorg/admin/workspaces/scanResult/"+s.id)
		writeJSON(w, http.StatusOK, s.state("Succeeded"))
	}
}

func (t *Tenant) scanResult(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.findScan(w, r)
	if s == nil {
		return
	}
	if t.now().Sub(s.started) < t.cfg.ScanTime {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "The scan is not complete")
		return
	}
	list, sources := []object{}, []object{}
	for _, ws := range t.spaces {
		// A workspace that is gone by now is left out without a word.
		if !slices.ContainsFunc(s.ids, func(id string) bool { return strings.EqualFold(id, ws.id) }) {
			continue
		}
		list = append(list, t.scanned(ws, s.flags))
		for _, d := range ws.datasets {
			sources = append(sources, sourceOf(d))
		}
	}
	answer := object{"workspaces": list}
	if s.flags.datasources {
		answer["datasourceInstances"] = sources
		answer["misconfiguredDatasourceInstances"] = []object{}
	}
	writeJSON(w, http.StatusOK, answer)
}

func sourceOf(d *dataset) object {
	return object{
		"datasourceType": "Sql", "datasourceId": id("datasource", d.id), "gatewayId": id("gateway", "main"),
		"connectionDetails": object{"server": "warehouse.sample.example", "database": strings.ReplaceAll(strings.ToLower(d.name), " ", "_")},
	}
}

func (t *Tenant) adminApps(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("$top") == "" {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "$top is missing")
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []object
	for _, ws := range t.spaces {
		if ws.app != nil {
			entry := appEntry(ws.app)
			entry["workspaceId"] = ws.id
			list = append(list, entry)
		}
	}
	t.odata(w, r, "apps", cutList(r, list))
}

func (t *Tenant) adminAppUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, ws := range t.spaces {
		if ws.app == nil || ws.app.id != r.PathValue("app") {
			continue
		}
		var list []object
		for _, a := range ws.app.users {
			list = append(list, userEntry(a, "appUserAccessRight", true))
		}
		t.odata(w, r, "users", list)
		return
	}
	powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
}
