// Package metadata serves the documents by which clients find their way: those
// of the authorization server (RFC 8414) and of the two protected resources
// (RFC 9728). They say what is served and nothing else.
package metadata

import (
	"net/http"

	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/device"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/register"
	"github.com/pbmb/pbmb/oauth/token"
)

// Server is the metadata of the authorization server.
type Server struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	DeviceEndpoint        string   `json:"device_authorization_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	CodeChallengeMethods  []string `json:"code_challenge_methods_supported"`
	IssParameter          bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported,omitempty"`
}

// Resource is the metadata of a protected resource. Its scopes leave out
// offline_access, which concerns the authorization server alone.
type Resource struct {
	Resource             string   `json:"resource"`
	Name                 string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
}

// Handler serves the documents of one site.
type Handler struct {
	site            protocol.Site
	clientDocuments bool
}

// New returns the endpoints of a server that reads clients' metadata documents,
// or does not.
func New(site protocol.Site, clientDocuments bool) *Handler { return &Handler{site, clientDocuments} }

// Routes lists them.
func (h *Handler) Routes() []protocol.Route {
	server := h.server()
	mcp, api := h.resource(protocol.ResourceMCP, "pbmb for MCP clients"), h.resource(protocol.ResourceAPI, "pbmb API")
	var routes []protocol.Route
	for _, document := range []struct {
		path string
		body any
	}{
		{"/.well-known/oauth-authorization-server/api/auth", server},
		{"/.well-known/oauth-authorization-server", server},
		{"/.well-known/oauth-protected-resource" + protocol.ResourceMCP, mcp},
		{"/.well-known/oauth-protected-resource" + protocol.ResourceAPI, api},
		{"/.well-known/oauth-protected-resource", mcp},
	} {
		routes = append(routes, protocol.Route{
			Method: http.MethodGet, Path: document.path, Access: protocol.Anyone, Limit: protocol.AuthLimit,
			Handler: func(w http.ResponseWriter, _ *http.Request) { protocol.WriteJSON(w, http.StatusOK, document.body) },
		})
	}
	return routes
}

func (h *Handler) server() Server {
	return Server{
		Issuer:                h.site.Issuer(),
		AuthorizationEndpoint: h.site.URL(authorize.Path),
		TokenEndpoint:         h.site.URL(token.Path),
		RegistrationEndpoint:  h.site.URL(register.Path),
		DeviceEndpoint:        h.site.URL(device.AuthorizationPath),
		// The scope api is left out: only the command line gets it, and some
		// clients ask for all that they read here.
		ScopesSupported:      []string{protocol.ScopeMCP, protocol.OfflineAccess},
		ResponseTypes:        []string{"code"},
		ResponseModes:        []string{"query"},
		GrantTypes:           provider.GrantTypes,
		TokenAuthMethods:     []string{"none"},
		CodeChallengeMethods: []string{"S256"},
		IssParameter:         true,
		ClientDocuments:      h.clientDocuments,
	}
}

func (h *Handler) resource(path, name string) Resource {
	return Resource{
		Resource:             h.site.URL(path),
		Name:                 name,
		AuthorizationServers: []string{h.site.Issuer()},
		ScopesSupported:      []string{protocol.ScopeOf(path)},
		BearerMethods:        []string{"header"},
	}
}
