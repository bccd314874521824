package sample

import (
	"cmp"
	"encoding/json"
	"iter"
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
	failure object // what it ends with where it fails; nil otherwise
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
	withoutPersonal := strings.EqualFold(q.Get("excludePersonalWorkspaces"), "true")
	s := t.stream(w)
	array(s, t.workspacesSince(since, withoutPersonal), func(ws *workspace) { s.value(object{"id": ws.id}) })
	s.end()
}

func (t *Tenant) workspacesSince(since time.Time, withoutPersonal bool) iter.Seq[*workspace] {
	return func(yield func(*workspace) bool) {
		for ws := range t.workspaces() {
			if withoutPersonal && ws.kind == "PersonalGroup" || !ws.modified.After(since) {
				continue
			}
			if !yield(ws) {
				return
			}
		}
	}
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
	if t.failing.Count > 0 {
		t.failing.Count--
		s.failure = object{
			"code": cmp.Or(t.failing.Code, "InternalError"), "message": cmp.Or(t.failing.Message, "The scan could not be completed."), "target": s.id,
		}
	}
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
	case s.failure != nil:
		state := s.state("Failed")
		state["error"] = s.failure
		writeJSON(w, http.StatusOK, state)
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
	if t.now().Sub(s.started) < t.cfg.ScanTime || s.failure != nil {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "The scan is not complete")
		return
	}
	out := t.stream(w)
	out.raw(`{"workspaces":`)
	array(out, t.scannedSpaces(s), func(ws *workspace) { writeScanned(out, ws, s.flags) })
	if s.flags.datasources {
		out.raw(`,"datasourceInstances":`)
		array(out, t.scannedSources(s), func(o object) { out.value(o) })
		out.raw(`,"misconfiguredDatasourceInstances":[]`)
	}
	out.raw("}")
	out.end()
}

// scannedSpaces are the workspaces that a scan was asked for. One that is gone by
// now is left out without a word.
func (t *Tenant) scannedSpaces(s *scan) iter.Seq[*workspace] {
	return func(yield func(*workspace) bool) {
		for i, id := range s.ids {
			if slices.ContainsFunc(s.ids[:i], func(before string) bool { return strings.EqualFold(before, id) }) {
				continue
			}
			if ws := t.workspaceByID(id); ws != nil && !yield(ws) {
				return
			}
		}
	}
}

func (t *Tenant) scannedSources(s *scan) iter.Seq[object] {
	return func(yield func(object) bool) {
		for ws := range t.scannedSpaces(s) {
			for _, d := range ws.datasets {
				if !yield(sourceOf(d)) {
					return
				}
			}
		}
	}
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
	t.odataEach(w, r, "apps", cut(r, func(yield func(object) bool) {
		for a := range t.apps() {
			entry := appEntry(a)
			entry["workspaceId"] = a.space.id
			if !yield(entry) {
				return
			}
		}
	}))
}

func (t *Tenant) adminAppUsers(w http.ResponseWriter, r *http.Request) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	app := t.appByID(r.PathValue("app"))
	if app == nil {
		powerBIError(w, http.StatusNotFound, "PowerBIEntityNotFound", "")
		return
	}
	var list []object
	for _, a := range live(app.users) {
		list = append(list, userEntry(a, "appUserAccessRight", true))
	}
	t.odata(w, r, "users", list)
}
