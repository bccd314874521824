package sample

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of the log of activities.
const (
	activityDays   = 28 // how far back it goes
	eventsAtOnce   = 100
	activitiesKept = 50_000 // of those that callers made
	mostPages      = 1_000_000
)

// activities are the operations that the log tells of, by the route that makes them.
var activities = map[string]string{
	"POST /groups/{group}/datasets/{dataset}/executeQueries": "ExecuteQueries",
	"POST /datasets/{dataset}/executeQueries":                "ExecuteQueries",
	"POST /groups/{group}/datasets/{dataset}/refreshes":      "RefreshDataset",
	"POST /datasets/{dataset}/refreshes":                     "RefreshDataset",
	"GET /groups/{group}/reports/{report}":                   "GetReport",
	"GET /reports/{report}":                                  "GetReport",
	"GET /groups":                                            "GetWorkspaces",
	"GET /groups/{group}/datasets":                           "GetDatasets",
}

// An activity is something that somebody did, as the log keeps it.
type activity struct {
	at        time.Time
	operation string
	person    *person
	dataset   string // id
	report    string // id
	workspace string // id
	ok        bool
}

// An activityLog has what callers did, the oldest first.
type activityLog struct {
	mu   sync.Mutex // guards list
	list []activity
}

func (l *activityLog) add(a activity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == activitiesKept {
		l.list = append(l.list[:0], l.list[activitiesKept/2:]...)
	}
	l.list = append(l.list, a)
}

func (l *activityLog) between(from, to time.Time) []activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []activity
	for _, a := range l.list {
		if !a.at.Before(from) && !a.at.After(to) {
			out = append(out, a)
		}
	}
	return out
}

// noteActivity keeps what a person's request did, where the log tells of such.
func (t *Tenant) noteActivity(pattern string, r *http.Request, c caller, status int) {
	operation, known := activities[pattern]
	if !known || c.person == nil {
		return
	}
	t.did.add(activity{
		at: t.now(), operation: operation, person: c.person, ok: status < 400,
		workspace: r.PathValue("group"), dataset: r.PathValue("dataset"), report: r.PathValue("report"),
	})
}

// activityEvents answers the log of activities: a window within one day (UTC), or
// the next page of one.
func (t *Tenant) activityEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	refuse := func(sentence string) { powerBIError(w, http.StatusBadRequest, "InvalidRequest", sentence) }
	window, page := q, 0
	if token := strings.Trim(q.Get("continuationToken"), "'"); token != "" {
		kept, err := url.ParseQuery(token)
		if page, _ = strconv.Atoi(kept.Get("page")); err != nil || page < 1 || page > mostPages {
			refuse("continuationToken is none of this log")
			return
		}
		window = kept
	}
	from, ok1 := activityTime(window.Get("startDateTime"))
	to, ok2 := activityTime(window.Get("endDateTime"))
	switch {
	case !ok1 || !ok2:
		refuse("startDateTime and endDateTime must be times in UTC within single quotes, such as '2026-11-30T00:00:00'")
		return
	case from.Format(time.DateOnly) != to.Format(time.DateOnly) || to.Before(from):
		refuse("startDateTime and endDateTime must be in order, and within the same day in UTC")
		return
	case from.Before(t.now().AddDate(0, 0, -activityDays-1)):
		refuse("startDateTime is more than " + strconv.Itoa(activityDays) + " days ago")
		return
	}
	who, what, ok := activityFilter(window.Get("$filter"))
	if !ok {
		refuse("$filter takes Activity eq '…' and UserId eq '…', joined by and")
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	events := slices.DeleteFunc(t.events(from, to), func(o object) bool {
		return who != "" && !same(o["UserId"].(string), who) || what != "" && !same(o["Activity"].(string), what)
	})
	start := min(page*eventsAtOnce, len(events))
	end := min(start+eventsAtOnce, len(events))
	answer := object{
		"activityEventEntities": append([]object{}, events[start:end]...),
		"continuationUri":       nil, "continuationToken": nil, "lastResultSet": end == len(events),
	}
	if end < len(events) {
		token := url.Values{
			"startDateTime": {window.Get("startDateTime")}, "endDateTime": {window.Get("endDateTime")},
			"$filter": {window.Get("$filter")}, "page": {strconv.Itoa(page + 1)},
		}.Encode()
		answer["continuationToken"] = token
		answer["continuationUri"] = t.base(r) + r.URL.Path + "?" + url.Values{"continuationToken": {"'" + token + "'"}}.Encode()
	}
	writeJSON(w, http.StatusOK, answer)
}

// activityTime reads a time within single quotes.
func activityTime(text string) (time.Time, bool) {
	inner, ok := strings.CutPrefix(text, "'")
	inner, ok2 := strings.CutSuffix(inner, "'")
	for _, layout := range []string{"2006-01-02T15:04:05.999Z", "2006-01-02T15:04:05.999"} {
		if at, err := time.Parse(layout, inner); err == nil && ok && ok2 {
			return at, true
		}
	}
	return time.Time{}, false
}

var activityCondition = regexp.MustCompile(`^\s*(?i:(activity|userid))\s+eq\s+'([^']*)'\s*$`)

func activityFilter(text string) (person, operation string, ok bool) {
	if strings.TrimSpace(text) == "" {
		return "", "", true
	}
	for _, part := range regexp.MustCompile(`(?i)\s+and\s+`).Split(text, -1) {
		m := activityCondition.FindStringSubmatch(part)
		switch {
		case m == nil:
			return "", "", false
		case strings.EqualFold(m[1], "activity"):
			operation = m[2]
		default:
			person = m[2]
		}
	}
	return person, operation, true
}

// events are what happened in a window, in the order of time: what callers did,
// and that everybody who may looks at each report of the company once a day.
func (t *Tenant) events(from, to time.Time) []object {
	var list []activity
	end := to
	if now := t.now(); end.After(now) {
		end = now // nothing has happened yet of what is to come
	}
	minute := 0
	for w := range t.held.workspaces() {
		for _, rep := range w.reports {
			for _, p := range t.people {
				if t.roleIn(w, p) == "" || p.disabled.Load() {
					continue
				}
				minute += 7
				at := from.Truncate(24 * time.Hour).Add(8*time.Hour + time.Duration(minute%600)*time.Minute)
				if !at.Before(from) && !at.After(end) {
					list = append(list, activity{at: at, operation: "ViewReport", person: p, workspace: w.id, dataset: rep.dataset.id, report: rep.id, ok: true})
				}
			}
		}
	}
	list = append(list, t.did.between(from, end)...)
	slices.SortStableFunc(list, func(a, b activity) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.person.upn, b.person.upn))
	})
	out := make([]object, len(list))
	for i, a := range list {
		out[i] = t.event(a, i)
	}
	return out
}

func (t *Tenant) event(a activity, n int) object {
	when := a.at.UTC()
	key := id("activity", strconv.Itoa(n)+a.operation+a.person.id+when.Format(time.RFC3339Nano))
	e := object{
		"Id": key, "RecordType": 20, "CreationTime": when.Format("2006-01-02T15:04:05"), "Operation": a.operation, "Activity": a.operation,
		"OrganizationId": TenantID, "UserType": 0, "UserKey": a.person.id, "UserId": a.person.upn, "Workload": "PowerBI",
		"ClientIP": "203.0.113.7", "IsSuccess": a.ok, "RequestId": id("request", key), "ActivityId": id("activity id", key),
	}
	if d := t.datasetByID(a.dataset); d != nil {
		e["DatasetId"], e["DatasetName"], e["ItemName"], e["ObjectId"] = d.id, d.name, d.name, d.id
		a.workspace = cmp.Or(a.workspace, d.space.id)
	}
	if w := t.workspaceByID(a.workspace); w != nil {
		e["WorkspaceId"], e["WorkSpaceName"] = w.id, w.name
		for _, rep := range w.reports {
			if same(rep.id, a.report) {
				e["ReportId"], e["ReportName"], e["ReportType"], e["ItemName"], e["ObjectId"] = rep.id, rep.name, "PowerBIReport", rep.name, rep.id
			}
		}
	}
	return e
}
