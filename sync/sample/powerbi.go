package sample

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

func (t *Tenant) mountPowerBI(mux *http.ServeMux) {
	const root = PowerBIPath + "/v1.0/myorg"
	person := func(pattern string, h func(http.ResponseWriter, *http.Request, caller), scopes ...string) {
		t.handlePowerBI(mux, pattern, root, func(w http.ResponseWriter, r *http.Request, c caller) {
			if c.person == nil || !c.may(scopes...) {
				powerBIError(w, http.StatusForbidden, "PowerBINotAuthorizedException", "")
				return
			}
			h(w, r, c)
		})
	}
	workspaces, datasets := "Workspace.Read.All", []string{"Dataset.Read.All", "Dataset.ReadWrite.All"}
	person("GET /groups", t.listGroups, workspaces)
	person("GET /groups/{group}/users", t.listGroupUsers, workspaces)
	person("GET /groups/{group}/datasets", t.listDatasets, datasets...)
	person("GET /groups/{group}/datasets/{dataset}", t.getDataset, datasets...)
	person("GET /groups/{group}/datasets/{dataset}/users", t.listDatasetUsers, datasets...)
	person("GET /groups/{group}/datasets/{dataset}/refreshes", t.listRefreshes, datasets...)
	person("GET /groups/{group}/reports", t.listReports, "Report.Read.All")
	person("GET /datasets", t.listDatasets, datasets...)
	person("GET /datasets/{dataset}", t.getDataset, datasets...)
	person("GET /datasets/{dataset}/users", t.listDatasetUsers, datasets...)
	person("GET /datasets/{dataset}/refreshes", t.listRefreshes, datasets...)
	person("GET /reports", t.listReports, "Report.Read.All")
	person("GET /apps", t.listApps, "App.Read.All")
	person("GET /apps/{app}/reports", t.listAppReports, "Report.Read.All")
	person("POST /RefreshUserPermissions", t.refreshPermissions, workspaces)
	person("POST /groups/{group}/datasets/{dataset}/executeQueries", t.executeQueries, datasets...)
	person("POST /datasets/{dataset}/executeQueries", t.executeQueries, datasets...)

	admin := func(pattern string, perHour int, h http.HandlerFunc) {
		t.handlePowerBI(mux, pattern, root+"/admin", func(w http.ResponseWriter, r *http.Request, c caller) {
			if !mayAdmin(c) {
				powerBIError(w, http.StatusUnauthorized, "PowerBINotAuthorizedException", "")
				return
			}
			if !t.take(w, "admin "+pattern+" "+c.key, perHour, time.Hour) {
				return
			}
			h(w, r)
		})
	}
	admin("GET /workspaces/modified", 30, t.modifiedWorkspaces)
	admin("POST /workspaces/getInfo", 500, t.startScan)
	admin("GET /workspaces/scanStatus/{scan}", 10_000, t.scanStatus)
	admin("GET /workspaces/scanResult/{scan}", 500, t.scanResult)
	admin("GET /apps", 200, t.adminApps)
	admin("GET /apps/{app}/users", 200, t.adminAppUsers)
}

// handlePowerBI mounts a handler behind the check of the token.
func (t *Tenant) handlePowerBI(mux *http.ServeMux, pattern, root string, h func(http.ResponseWriter, *http.Request, caller)) {
	method, path, _ := strings.Cut(pattern, " ")
	mux.HandleFunc(method+" "+root+path, func(w http.ResponseWriter, r *http.Request) {
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
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		writeJSON(w, http.StatusTooManyRequests, object{"message": "You have exceeded the amount of requests allowed in the current time frame and further requests will fail. Retry in " + wait.Round(time.Second).String() + "."})
	}
	return ok
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
	writeJSON(w, http.StatusOK, object{"@odata.context": t.base(r) + PowerBIPath + "/v1.0/myorg/$metadata#" + of, "value": list})
}
