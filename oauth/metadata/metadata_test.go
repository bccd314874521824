package metadata_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/metadata"
	"github.com/pbmb/pbmb/oauth/oauthtest"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

// OAUTH-01, OAUTH-02, OAUTH-04, OAUTH-05
func TestServerMetadataSaysWhatIsServed(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	a := s.Browser().Get("/.well-known/oauth-authorization-server/api/auth")
	if root := s.Browser().Get("/.well-known/oauth-authorization-server"); root.Body != a.Body || root.Status != http.StatusOK {
		t.Errorf("the root form: %d %s", root.Status, root.Body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type = %q", got)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(a.Body), &m); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"issuer":                 "/api/auth",
		"authorization_endpoint": "/api/auth/oauth2/authorize",
		"token_endpoint":         "/api/auth/oauth2/token",
		"registration_endpoint":  "/api/auth/oauth2/register",

		"device_authorization_endpoint": "/api/auth/oauth2/device_authorization",
	} {
		if m[key] != s.URL+want {
			t.Errorf("%s = %v", key, m[key])
		}
	}
	for key, value := range m {
		if strings.HasSuffix(key, "_endpoint") {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if got := s.Browser().Do(method, value.(string), "").Status; got == http.StatusNotFound {
					t.Errorf("%s %s is not served", method, value)
				}
			}
		}
	}
	for _, key := range []string{"introspection_endpoint", "revocation_endpoint", "jwks_uri"} {
		if _, there := m[key]; there {
			t.Errorf("%s is advertised", key)
		}
	}
	for key, want := range map[string]string{
		"grant_types_supported":                          `["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"]`,
		"token_endpoint_auth_methods_supported":          `["none"]`,
		"code_challenge_methods_supported":               `["S256"]`,
		"response_types_supported":                       `["code"]`,
		"authorization_response_iss_parameter_supported": `true`,
		"client_id_metadata_document_supported":          `true`,
	} {
		if got, _ := json.Marshal(m[key]); string(got) != want {
			t.Errorf("%s = %s", key, got)
		}
	}
}

// OAUTH-03, OAUTH-11
func TestResourceMetadataLeadsToTheServer(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	for path, resource := range map[string]string{
		"/.well-known/oauth-protected-resource/api/mcp": "/api/mcp",
		"/.well-known/oauth-protected-resource/api/v1":  "/api/v1",
		"/.well-known/oauth-protected-resource":         "/api/mcp",
	} {
		a := s.Browser().Get(path)
		var m metadata.Resource
		if err := json.Unmarshal([]byte(a.Body), &m); err != nil || a.Status != http.StatusOK {
			t.Fatal(path, a.Status, a.Body)
		}
		if m.Resource != s.URL+resource || len(m.AuthorizationServers) != 1 || m.AuthorizationServers[0] != s.URL+"/api/auth" {
			t.Errorf("%s: %+v", path, m)
		}
		if got := strings.Join(m.ScopesSupported, " "); got != map[string]string{"/api/mcp": "mcp", "/api/v1": "api"}[resource] {
			t.Errorf("%s: scopes %s", path, got)
		}
	}
	for _, path := range []string{"/api/mcp", "/api/v1/whoami"} {
		a := s.Browser().Get(path)
		challenge := a.Header.Get("WWW-Authenticate")
		_, after, _ := strings.Cut(challenge, `resource_metadata="`)
		address, _, _ := strings.Cut(after, `"`)
		if a.Status != http.StatusUnauthorized || strings.Contains(challenge, "error") {
			t.Errorf("%s: %d %s", path, a.Status, challenge)
		}
		if got := s.Browser().Get(address).Field("resource"); !strings.HasPrefix(s.URL+path, got) || got == "" {
			t.Errorf("%s: %s is the metadata of %s", path, address, got)
		}
	}
}
