package sample

import (
	"cmp"
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
	handle := func(method, path string, h func(http.ResponseWriter, *http.Request, caller)) {
		mux.HandleFunc(method+" "+GraphPath+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("request-id", uuid.NewString())
			w.Header().Set("client-request-id", cmp.Or(r.Header.Get("client-request-id"), w.Header().Get("request-id")))
			c, state := t.bearer(r, GraphAudience)
			switch {
			case state != tokenGood:
				messages := map[tokenState]string{
					tokenMissing: "Access token is empty.", tokenInvalid: "Access token validation failure. Invalid audience.",
					tokenExpired: "Lifetime validation failed, the token is expired.",
				}
				graphError(w, r, t.now(), http.StatusUnauthorized, "InvalidAuthenticationToken", messages[state])
			case c.person == nil:
				graphError(w, r, t.now(), http.StatusBadRequest, "BadRequest", "/me request is only valid with delegated authentication flow.")
			case !c.may("User.Read", "openid"):
				graphError(w, r, t.now(), http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
			default:
				h(w, r, c)
			}
		})
	}
	handle("GET", "/v1.0/me", t.me)
	handle("GET", "/v1.0/me/transitiveMemberOf", t.memberOfAll)
	handle("GET", "/v1.0/me/transitiveMemberOf/microsoft.graph.group", t.memberOf)
	handle("POST", "/v1.0/me/getMemberGroups", t.memberGroups)
	handle("GET", "/v1.0/users/{user}", t.user)
	handle("GET", "/v1.0/groups/{group}", t.group)
	handle("GET", "/v1.0/groups/{group}/members", t.members)
	handle("GET", "/oidc/userinfo", t.userInfo)
	mux.HandleFunc(GraphPath+"/", func(w http.ResponseWriter, r *http.Request) {
		notServed(func(w http.ResponseWriter, sentence string) {
			graphError(w, r, t.now(), http.StatusNotFound, "NotServedBySampleTenant", sentence)
		})(w, r)
	})
}

// graphError answers as Graph does, with the ids of the request in the body too.
func graphError(w http.ResponseWriter, r *http.Request, now time.Time, status int, code, message string) {
	request := cmp.Or(w.Header().Get("request-id"), uuid.NewString())
	writeJSON(w, status, object{"error": object{
		"code": code, "message": message,
		"innerError": object{
			"date": now.UTC().Format("2006-01-02T15:04:05"), "request-id": request,
			"client-request-id": cmp.Or(r.Header.Get("client-request-id"), request),
		},
	}})
}

func (t *Tenant) context(r *http.Request, of string) string {
	return t.base(r) + GraphPath + "/v1.0/$metadata#" + of
}

func (t *Tenant) me(w http.ResponseWriter, r *http.Request, c caller) {
	p := c.person
	given, family := p.names()
	writeJSON(w, http.StatusOK, object{
		"@odata.context": t.context(r, "users/$entity"),
		"id":             p.id, "userPrincipalName": p.upn, "displayName": p.name, "mail": p.mail,
		"givenName": given, "surname": family, "jobTitle": p.title, "officeLocation": nil,
		"preferredLanguage": nil, "businessPhones": []string{}, "mobilePhone": nil,
	})
}

func (t *Tenant) userInfo(w http.ResponseWriter, r *http.Request, c caller) {
	p := c.person
	given, family := p.names()
	writeJSON(w, http.StatusOK, object{
		"sub": pairwise(p, AppID), "name": p.name, "given_name": given, "family_name": family, "email": p.mail,
	})
}

// memberOf lists the caller's groups, those through other groups too, in pages.
func (t *Tenant) memberOf(w http.ResponseWriter, r *http.Request, c caller) {
	t.mu.RLock()
	groups := t.groupsOf(c.person)
	t.mu.RUnlock()
	list := []object{}
	for _, g := range groups {
		list = append(list, groupObject(g))
	}
	t.paged(w, r, "groups", list)
}

// paged answers a page of a list, and where the next one is.
func (t *Tenant) paged(w http.ResponseWriter, r *http.Request, of string, list []object) {
	q := r.URL.Query()
	if q.Has("$count") && r.Header.Get("ConsistencyLevel") != "eventual" {
		graphError(w, r, t.now(), http.StatusBadRequest, "Request_UnsupportedQuery", "$count is not currently supported without ConsistencyLevel: eventual.")
		return
	}
	size := 100
	if text := q.Get("$top"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 999 {
			graphError(w, r, t.now(), http.StatusBadRequest, "Request_UnsupportedQuery", "Invalid page size specified: '"+text+"'. Must be between 1 and 999 inclusive.")
			return
		}
		size = n
	}
	from, err := strconv.Atoi(q.Get("$skiptoken"))
	if q.Get("$skiptoken") == "" {
		from, err = 0, nil
	}
	if err != nil || from < 0 || from > len(list) {
		graphError(w, r, t.now(), http.StatusBadRequest, "Directory_ExpiredPageToken", "The specified page token value has expired and can no longer be included in your request.")
		return
	}
	to := min(from+size, len(list))
	answer := object{"@odata.context": t.context(r, of), "value": list[from:to]}
	if q.Get("$count") == "true" {
		answer["@odata.count"] = len(list)
	}
	if to < len(list) {
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

func (t *Tenant) memberGroups(w http.ResponseWriter, r *http.Request, c caller) {
	var body struct {
		SecurityEnabledOnly *bool `json:"securityEnabledOnly"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil || body.SecurityEnabledOnly == nil {
		graphError(w, r, t.now(), http.StatusBadRequest, "Request_BadRequest", "The parameter securityEnabledOnly is missing.")
		return
	}
	t.mu.RLock()
	groups := t.groupsOf(c.person)
	t.mu.RUnlock()
	if len(groups) > memberGroupsLimit {
		graphError(w, r, t.now(), http.StatusBadRequest, "Directory_ResultSizeLimitExceeded", "The size of the result is more than the limit.")
		return
	}
	ids := []string{}
	for _, g := range groups {
		ids = append(ids, g.id)
	}
	writeJSON(w, http.StatusOK, object{"@odata.context": t.context(r, "Collection(Edm.String)"), "value": ids})
}
