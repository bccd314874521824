package sample

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// memberGroupsLimit is how many ids getMemberGroups gives at most.
const memberGroupsLimit = 11_000

func (t *Tenant) mountGraph(mux *http.ServeMux) {
	handle := func(method, path string, h func(http.ResponseWriter, *http.Request, *person)) {
		mux.HandleFunc(method+" "+GraphPath+path, func(w http.ResponseWriter, r *http.Request) {
			c, state := t.bearer(r, GraphAudience)
			switch {
			case state != tokenGood:
				messages := map[tokenState]string{
					tokenMissing: "Access token is empty.", tokenInvalid: "Access token validation failure. Invalid audience.",
					tokenExpired: "Lifetime validation failed, the token is expired.",
				}
				graphError(w, t.now(), http.StatusUnauthorized, "InvalidAuthenticationToken", messages[state])
			case c.person == nil:
				graphError(w, t.now(), http.StatusBadRequest, "BadRequest", "/me request is only valid with delegated authentication flow.")
			case !c.may("User.Read", "openid"):
				graphError(w, t.now(), http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
			default:
				h(w, r, c.person)
			}
		})
	}
	handle("GET", "/v1.0/me", t.me)
	handle("GET", "/v1.0/me/transitiveMemberOf/microsoft.graph.group", t.memberOf)
	handle("POST", "/v1.0/me/getMemberGroups", t.memberGroups)
	handle("GET", "/oidc/userinfo", t.userInfo)
}

func graphError(w http.ResponseWriter, now time.Time, status int, code, message string) {
	request := uuid.NewString()
	writeJSON(w, status, object{"error": object{
		"code": code, "message": message,
		"innerError": object{"date": now.UTC().Format("2006-01-02T15:04:05"), "request-id": request, "client-request-id": request},
	}})
}

func (t *Tenant) context(r *http.Request, of string) string {
	return t.base(r) + GraphPath + "/v1.0/$metadata#" + of
}

func (t *Tenant) me(w http.ResponseWriter, r *http.Request, p *person) {
	given, family := p.names()
	writeJSON(w, http.StatusOK, object{
		"@odata.context": t.context(r, "users/$entity"),
		"id":             p.id, "userPrincipalName": p.upn, "displayName": p.name, "mail": p.mail,
		"givenName": given, "surname": family, "jobTitle": p.title, "officeLocation": nil,
		"preferredLanguage": nil, "businessPhones": []string{}, "mobilePhone": nil,
	})
}

func (t *Tenant) userInfo(w http.ResponseWriter, r *http.Request, p *person) {
	given, family := p.names()
	writeJSON(w, http.StatusOK, object{
		"sub": pairwise(p, AppID), "name": p.name, "given_name": given, "family_name": family, "email": p.mail,
	})
}

// memberOf lists the caller's groups, those through other groups too, in pages.
func (t *Tenant) memberOf(w http.ResponseWriter, r *http.Request, p *person) {
	q := r.URL.Query()
	if q.Has("$count") && r.Header.Get("ConsistencyLevel") != "eventual" {
		graphError(w, t.now(), http.StatusBadRequest, "Request_UnsupportedQuery", "$count is not currently supported without ConsistencyLevel: eventual.")
		return
	}
	size := 100
	if text := q.Get("$top"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 999 {
			graphError(w, t.now(), http.StatusBadRequest, "Request_UnsupportedQuery", "Invalid page size specified: '"+text+"'. Must be between 1 and 999 inclusive.")
			return
		}
		size = n
	}
	from, err := strconv.Atoi(q.Get("$skiptoken"))
	if q.Get("$skiptoken") == "" {
		from, err = 0, nil
	}
	t.mu.RLock()
	groups := t.groupsOf(p)
	t.mu.RUnlock()
	if err != nil || from < 0 || from > len(groups) {
		graphError(w, t.now(), http.StatusBadRequest, "Directory_ExpiredPageToken", "The specified page token value has expired and can no longer be included in your request.")
		return
	}
	answer := object{"@odata.context": t.context(r, "groups")}
	if q.Get("$count") == "true" {
		answer["@odata.count"] = len(groups)
	}
	to := min(from+size, len(groups))
	values := []object{}
	for _, g := range groups[from:to] {
		values = append(values, object{
			"id": g.id, "displayName": g.name, "securityEnabled": true, "mailEnabled": false, "groupTypes": []string{},
		})
	}
	answer["value"] = values
	if to < len(groups) {
		next := url.Values{"$skiptoken": {strconv.Itoa(to)}}
		for _, k := range []string{"$select", "$top", "$count"} {
			if q.Has(k) {
				next.Set(k, q.Get(k))
			}
		}
		answer["@odata.nextLink"] = t.base(r) + r.URL.Path + "?" + next.Encode()
	}
	writeJSON(w, http.StatusOK, answer)
}

func (t *Tenant) memberGroups(w http.ResponseWriter, r *http.Request, p *person) {
	var body struct {
		SecurityEnabledOnly *bool `json:"securityEnabledOnly"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil || body.SecurityEnabledOnly == nil {
		graphError(w, t.now(), http.StatusBadRequest, "Request_BadRequest", "The parameter securityEnabledOnly is missing.")
		return
	}
	t.mu.RLock()
	groups := t.groupsOf(p)
	t.mu.RUnlock()
	if len(groups) > memberGroupsLimit {
		graphError(w, t.now(), http.StatusBadRequest, "Directory_ResultSizeLimitExceeded", "The size of the result is more than the limit.")
		return
	}
	ids := []string{}
	for _, g := range groups {
		ids = append(ids, g.id)
	}
	writeJSON(w, http.StatusOK, object{"@odata.context": t.context(r, "Collection(Edm.String)"), "value": ids})
}
