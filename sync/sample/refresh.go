package sample

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// refreshForm is how refreshes tell times.
const refreshForm = "2006-01-02T15:04:05.999Z"

// lastRefresh is the end of the nightly refresh before now.
func (t *Tenant) lastRefresh() time.Time {
	now := t.now().UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), 4, 10, 30, 120_000_000, time.UTC)
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at
}

// history lists the refreshes of a dataset, the newest first: those that somebody
// began, and those of the last seven nights.
func (t *Tenant) history(d *dataset) []object {
	runs := slices.Clone(d.refreshes)
	for i := range 7 {
		runs = append(runs, refreshRun{kind: "Scheduled", started: t.lastRefresh().AddDate(0, 0, -i).Add(-7 * time.Minute)})
	}
	slices.SortStableFunc(runs, func(a, b refreshRun) int { return b.started.Compare(a.started) })
	var list []object
	for i, run := range runs {
		list = append(list, t.refreshEntry(d, run, 7000+len(d.refreshes)-i))
	}
	return list
}

// refreshEntry is one refresh. While it runs its status is Unknown and it has no end.
func (t *Tenant) refreshEntry(d *dataset, run refreshRun, number int) object {
	length := refreshTime
	if run.kind == "Scheduled" {
		length = 7 * time.Minute
	}
	start := run.started.UTC()
	attempt := object{"attemptId": 1, "startTime": start.Format(refreshForm), "type": "Data"}
	entry := object{
		"requestId": id("refresh", d.id+start.Format(refreshForm)), "id": number, "refreshType": run.kind,
		"startTime": start.Format(refreshForm), "status": "Unknown", "refreshAttempts": []object{attempt},
	}
	end := start.Add(length)
	if end.After(t.now()) {
		return entry
	}
	entry["endTime"], attempt["endTime"], entry["status"] = end.Format(refreshForm), end.Format(refreshForm), "Completed"
	if run.failure != "" {
		// The service's own error is JSON inside a text.
		text, _ := json.Marshal(object{"errorCode": run.failure}) // texts always encode
		entry["status"], entry["serviceExceptionJson"], attempt["serviceExceptionJson"] = "Failed", string(text), string(text)
	}
	return entry
}

// startRefresh begins a refresh of rows that stay as they are.
func (t *Tenant) startRefresh(w http.ResponseWriter, r *http.Request, c caller) {
	var body struct {
		NotifyOption string `json:"notifyOption"`
		Type         string `json:"type"`
	}
	if r.ContentLength != 0 {
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
			powerBIError(w, http.StatusBadRequest, "BadRequest", "Bad Request")
			return
		}
	}
	if !slices.Contains([]string{"", "NoNotification", "MailOnFailure", "MailOnCompletion"}, body.NotifyOption) {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "notifyOption "+strconv.Quote(body.NotifyOption)+" is not known")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d, may, ok := t.findDataset(w, r, c)
	if !ok {
		return
	}
	if !may.write {
		powerBIError(w, http.StatusForbidden, "PowerBINotAuthorizedException", "")
		return
	}
	if n := len(d.refreshes); n > 0 && t.now().Sub(d.refreshes[n-1].started) < refreshTime {
		powerBIError(w, http.StatusBadRequest, "InvalidRequest", "Another refresh request is already executing")
		return
	}
	run := refreshRun{kind: "ViaApi", started: t.now()}
	if body.Type != "" {
		run.kind = "ViaEnhancedApi"
	}
	d.refreshes = append(slices.Clip(d.refreshes), run)
	request := id("refresh", d.id+run.started.UTC().Format(refreshForm))
	w.Header().Set("x-ms-request-id", request)
	w.Header().Set("Location", t.base(r)+r.URL.Path+"/"+request)
	w.WriteHeader(http.StatusAccepted)
}
