package sample

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// An object is a JSON object that is written as the real services write it.
type object map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// An error here is a connection that is gone: nobody is left to be told.
	_ = enc.Encode(v)
}

func noStore(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store, no-cache")
	w.Header().Set("Pragma", "no-cache")
}

func (t *Tenant) mountEntra(mux *http.ServeMux) {
	handle := func(pattern string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+LoginPath+"/{tenant}"+path, func(w http.ResponseWriter, r *http.Request) {
			if !knownTenant(r.PathValue("tenant")) {
				entraErrorf(400, "invalid_tenant", 90002,
					"Tenant '%s' not found. Check to make sure you have the correct tenant ID.", r.PathValue("tenant")).write(w, t.now())
				return
			}
			h(w, r)
		})
	}
	handle("GET /v2.0/.well-known/openid-configuration", t.discovery)
	handle("GET /discovery/v2.0/keys", t.keySet)
	handle("GET /oauth2/v2.0/authorize", t.authorize)
	handle("POST /oauth2/v2.0/authorize", t.authorize)
	handle("POST /oauth2/v2.0/token", t.token)
	handle("POST /oauth2/v2.0/devicecode", t.deviceCode)
	handle("GET /oauth2/deviceauth", t.deviceAuth)
	handle("POST /oauth2/deviceauth", t.deviceAuth)
	handle("GET /oauth2/v2.0/logout", t.logout)
}

// knownTenant reports whether a path names the tenant: by id, by domain, or as
// one of the words for whichever tenant the person is from.
func knownTenant(name string) bool {
	switch strings.ToLower(name) {
	case TenantID, "sample.example", "sample.onmicrosoft.com", "common", "organizations":
		return true
	}
	return false
}

// issuer is who signs id tokens.
func (t *Tenant) issuer(r *http.Request) string {
	return t.base(r) + LoginPath + "/" + TenantID + "/v2.0"
}

func (t *Tenant) discovery(w http.ResponseWriter, r *http.Request) {
	root := t.base(r) + LoginPath + "/" + r.PathValue("tenant")
	issuer := t.issuer(r)
	switch r.PathValue("tenant") {
	case "common", "organizations":
		issuer = strings.Replace(issuer, TenantID, "{tenantid}", 1)
	}
	writeJSON(w, http.StatusOK, object{
		"token_endpoint":                        root + "/oauth2/v2.0/token",
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "private_key_jwt", "client_secret_basic"},
		"jwks_uri":                              root + "/discovery/v2.0/keys",
		"response_modes_supported":              []string{"query", "fragment", "form_post"},
		"subject_types_supported":               []string{"pairwise"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"response_types_supported":              []string{"code", "id_token", "code id_token", "id_token token"},
		"scopes_supported":                      []string{"openid", "profile", "email", "offline_access"},
		"issuer":                                issuer,
		"request_uri_parameter_supported":       false,
		"userinfo_endpoint":                     t.base(r) + GraphPath + "/oidc/userinfo",
		"authorization_endpoint":                root + "/oauth2/v2.0/authorize",
		"device_authorization_endpoint":         root + "/oauth2/v2.0/devicecode",
		"http_logout_supported":                 true,
		"frontchannel_logout_supported":         true,
		"end_session_endpoint":                  root + "/oauth2/v2.0/logout",
		"claims_supported": []string{
			"sub", "iss", "cloud_instance_name", "cloud_instance_host_name", "cloud_graph_host_name", "msgraph_host",
			"aud", "exp", "iat", "auth_time", "acr", "nonce", "preferred_username", "name", "tid", "ver", "at_hash",
			"c_hash", "email",
		},
		"tenant_region_scope":                        "EU",
		"cloud_instance_name":                        "microsoftonline.com",
		"cloud_graph_host_name":                      "graph.windows.net",
		"msgraph_host":                               "graph.microsoft.com",
		"rbac_url":                                   "https://pas.windows.net",
		"kerberos_endpoint":                          root + "/kerberos",
		"mtls_endpoint_aliases":                      object{"token_endpoint": root + "/oauth2/v2.0/token"},
		"tls_client_certificate_bound_access_tokens": true,
	})
}

func (t *Tenant) keySet(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, t.keys.published(t.issuer(r)))
}

// logout ends the browser's session at the login pages.
func (t *Tenant) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie); err == nil {
		t.grants.endSession(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: LoginPath, MaxAge: -1, HttpOnly: true})
	if to := r.URL.Query().Get("post_logout_redirect_uri"); to != "" && t.registered(to) {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	page(w, http.StatusOK, "out", nil)
}

// tokenLife is how long access tokens last: between 60 and 90 minutes, other for
// each, as Entra does to spread their renewal.
func tokenLife(seed byte) time.Duration { return time.Hour + time.Duration(seed)*7*time.Second }
