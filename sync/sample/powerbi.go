package sample

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// root is where the API of Power BI is, below the tenant's address.
const root = PowerBIPath + "/v1.0/myorg"

func (t *Tenant) mountPowerBI(mux *http.ServeMux) {
	t.mountPerson(mux)
	t.mountAdmin(mux)
	mux.HandleFunc(PowerBIPath+"/", notServed(func(w http.ResponseWriter, sentence string) {
		powerBIError(w, http.StatusNotFound, "NotServedBySampleTenant", sentence)
	}))
}

// notServed answers what a service has and the tenant has not, in that service's
// way.
func notServed(answer func(w http.ResponseWriter, sentence string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(w, "The sample tenant does not serve "+r.Method+" "+r.URL.Path+".")
	}
}

// mountPerson serves what people may ask under their own token.
func (t *Tenant) mountPerson(mux *http.ServeMux) {
	person := func(pattern string, h func(http.ResponseWriter, *http.Request, caller), scopes ...string) {
		t.handlePowerBI(mux, pattern, "", func(w http.ResponseWriter, r *http.Request, c caller) {
			if c.person == nil || len(scopes) > 0 && !c.may(scopes...) {
				powerBIError(w, http.StatusForbidden, "PowerBINotAuthorizedException", "")
				return
			}
			answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
			h(answer, r, c)
			t.noteActivity(pattern, r, c, answer.status)
		})
	}
	// both serves what is asked with the workspace in the path and without.
	both := func(pattern string, h func(http.ResponseWriter, *http.Request, caller), scopes ...string) {
		method, path, _ := strings.Cut(pattern, " ")
		person(method+" "+path, h, scopes...)
		person(method+" /groups/{group}"+path, h, scopes...)
	}
	workspaces, reports, dashboards := "Workspace.Read.All", "Report.Read.All", "Dashboard.Read.All"
	datasets := []string{"Dataset.Read.All", "Dataset.ReadWrite.All"}
	person("GET /groups", t.listGroups, workspaces)
	person("GET /groups/{group}", t.getGroup, workspaces)
	person("GET /groups/{group}/users", t.listGroupUsers, workspaces)
	both("GET /datasets", t.listDatasets, datasets...)
	both("GET /datasets/{dataset}", t.getDataset, datasets...)
	both("GET /datasets/{dataset}/users", t.listDatasetUsers, datasets...)
	both("GET /datasets/{dataset}/datasources", t.listDatasources, datasets...)
	both("GET /datasets/{dataset}/parameters", t.listParameters, datasets...)
	both("GET /datasets/{dataset}/refreshSchedule", t.getRefreshSchedule, datasets...)
	both("GET /datasets/{dataset}/refreshes", t.listRefreshes, datasets...)
	both("POST /datasets/{dataset}/refreshes", t.startRefresh, "Dataset.ReadWrite.All")
	both("GET /datasets/{dataset}/refreshes/{refresh}", t.getRefresh, datasets...)
	both("POST /datasets/{dataset}/executeQueries", t.executeQueries, datasets...)
	both("POST /datasets/{dataset}/executeDaxQueries", t.executeDaxQueries, datasets...)
	both("GET /reports", t.listReports, reports)
	both("GET /reports/{report}", t.getReport, reports)
	both("GET /reports/{report}/pages", t.listPages, reports)
	both("GET /dashboards", t.listDashboards, dashboards)
	both("GET /dashboards/{dashboard}", t.getDashboard, dashboards)
	both("GET /dashboards/{dashboard}/tiles", t.listTiles, dashboards)
	both("GET /dashboards/{dashboard}/tiles/{tile}", t.getTile, dashboards)
	person("GET /apps", t.listApps, "App.Read.All")
	person("GET /apps/{app}", t.getApp, "App.Read.All")
	person("GET /apps/{app}/reports", t.listAppReports, reports)
	person("GET /apps/{app}/reports/{report}", t.getAppReport, reports)
	person("GET /apps/{app}/dashboards", t.listAppDashboards, dashboards)
	person("GET /capacities", t.listCapacities, "Capacity.Read.All")
	person("GET /availableFeatures", t.listFeatures)
	person("POST /RefreshUserPermissions", t.refreshPermissions, workspaces)
	t.mountEmbedTokens(mux)
}

// A rate is how many calls are allowed within some time.
type rate struct {
	calls  int
	within time.Duration
}

// mountAdmin serves the read-only admin API.
func (t *Tenant) mountAdmin(mux *http.ServeMux) {
	admin := func(pattern string, h http.HandlerFunc, rates ...rate) {
		t.handlePowerBI(mux, pattern, "/admin", func(w http.ResponseWriter, r *http.Request, c caller) {
			if !mayAdmin(c) {
				powerBIError(w, http.StatusUnauthorized, "PowerBINotAuthorizedException", "")
				return
			}
			for _, limit := range rates {
				key := "admin " + pattern + " " + limit.within.String()
				if len(rates) == 1 { // two are those of the whole tenant
					key += " " + c.key
				}
				if !t.take(w, key, limit.calls, limit.within) {
					return
				}
			}
			h(w, r)
		})
	}
	hourly := func(calls int) rate { return rate{calls, time.Hour} }
	minutely := func(calls int) rate { return rate{calls, time.Minute} }
	const most = 200 // calls an hour, of what has no limit of its own
	admin("GET /workspaces/modified", t.modifiedWorkspaces, hourly(30))
	admin("POST /workspaces/getInfo", t.startScan, hourly(500))
	admin("GET /workspaces/scanStatus/{scan}", t.scanStatus, hourly(10_000))
	admin("GET /workspaces/scanResult/{scan}", t.scanResult, hourly(500))
	admin("GET /groups", t.adminGroups, minutely(15), hourly(50))
	admin("GET /groups/{group}", t.adminGetGroup, hourly(most))
	admin("GET /groups/{group}/users", t.adminGroupUsers, hourly(most))
	admin("GET /groups/{group}/datasets", t.adminList("datasets", adminDatasets), hourly(most))
	admin("GET /groups/{group}/reports", t.adminList("reports", adminReports), hourly(most))
	admin("GET /groups/{group}/dashboards", t.adminList("dashboards", adminDashboards), hourly(most))
	admin("GET /datasets", t.adminList("datasets", adminDatasets), minutely(5), hourly(50))
	admin("GET /datasets/{dataset}/users", t.adminDatasetUsers, hourly(most))
	admin("GET /datasets/{dataset}/datasources", t.adminDatasources, hourly(most))
	admin("GET /reports", t.adminList("reports", adminReports), minutely(5), hourly(50))
	admin("GET /reports/{report}/users", t.adminReportUsers, hourly(most))
	admin("GET /dashboards", t.adminList("dashboards", adminDashboards), minutely(5), hourly(50))
	admin("GET /dashboards/{dashboard}/users", t.adminDashboardUsers, hourly(most))
	admin("GET /dashboards/{dashboard}/tiles", t.adminTiles, hourly(most))
	admin("GET /apps", t.adminApps, hourly(most))
	admin("GET /apps/{app}/users", t.adminAppUsers, hourly(most))
	admin("GET /users/{user}/artifactAccess", t.artifactAccess, hourly(most))
	admin("GET /activityevents", t.activityEvents, hourly(most))
	admin("GET /capacities", t.adminCapacities, hourly(most))
}

// handlePowerBI mounts a handler behind the check of the token, below the root and
// a folder of it.
func (t *Tenant) handlePowerBI(mux *http.ServeMux, pattern, folder string, h func(http.ResponseWriter, *http.Request, caller)) {
	method, path, _ := strings.Cut(pattern, " ")
	t.routes = append(t.routes, method+" "+folder+path)
	mux.HandleFunc(method+" "+root+folder+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("RequestId", uuid.NewString())
		c, state := t.bearer(r, PowerBIAudience)
		switch state {
		case tokenGood:
			h(w, r, c)
		case tokenExpired:
			powerBIError(w, http.StatusForbidden, "TokenExpired", "Access token has expired, resubmit with a new access token")
		default:
			// What is no token for this audience gets no body at all.
			w.Header().Set("WWW-Authenticate", `Bearer authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets handlers reach what the writer can do beside.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// mayAdmin reports whether the read-only admin API is open to a caller: to
// administrators with the permission, and to the scanner by the tenant's settings.
func mayAdmin(c caller) bool {
	if c.person == nil {
		return c.app == ScannerID
	}
	return c.person.fabricAdmin && c.may("Tenant.Read.All", "Tenant.ReadWrite.All")
}

// take counts a call, or answers that there were too many.
func (t *Tenant) take(w http.ResponseWriter, key string, n int, window time.Duration) bool {
	wait, ok := t.limits.take(key, n, window)
	if !ok {
		tooManyRequests(w, int(math.Ceil(wait.Seconds())))
	}
	return ok
}

// tooManyRequests answers a call that is one too many, with the seconds until the
// next may come where they are told.
func tooManyRequests(w http.ResponseWriter, seconds int) {
	message := "You have exceeded the amount of requests allowed in the current time frame and further requests will fail."
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		message += fmt.Sprintf(" Retry in %d seconds.", seconds)
	}
	writeJSON(w, http.StatusTooManyRequests, object{"message": message})
}

// powerBIError answers with the newer of the two error shapes, or the older one
// where there is a message.
func powerBIError(w http.ResponseWriter, status int, code, message string, details ...object) {
	body := object{"code": code}
	if message != "" {
		body["message"] = message
	} else {
		if details == nil {
			details = []object{}
		}
		body["pbi.error"] = object{"code": code, "parameters": object{}, "details": details}
	}
	writeJSON(w, status, object{"error": body})
}

// detail is one entry of an error's details.
func detail(code, value string) object {
	return object{"code": code, "detail": object{"type": 1, "value": value}}
}

// odata wraps a list as Power BI does.
func (t *Tenant) odata(w http.ResponseWriter, r *http.Request, of string, list []object) {
	if list == nil {
		list = []object{}
	}
	writeJSON(w, http.StatusOK, object{"@odata.context": t.base(r) + root + "/$metadata#" + of, "value": list})
}
