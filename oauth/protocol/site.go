package protocol

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The paths of the protected resources, which are also what a client is linked to.
const (
	ResourceMCP = "/api/mcp"
	ResourceAPI = "/api/v1"
)

// The scopes. Each resource has one; OfflineAccess goes with either.
const (
	ScopeMCP      = "mcp"
	ScopeAPI      = "api"
	OfflineAccess = "offline_access"
)

// A Site is the deployment's public address, from which every other address
// follows.
type Site struct {
	base string // scheme and host, without a slash at the end
}

// NewSite reads PUBLIC_BASE_URL.
func NewSite(publicBaseURL string) (Site, error) {
	u, err := url.Parse(publicBaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Site{}, fmt.Errorf("PUBLIC_BASE_URL must be a scheme and a host, such as https://pbmb.example.com; got %q", publicBaseURL)
	}
	return Site{base: canonicalOrigin(u)}, nil
}

// URL is the address of a path of this deployment.
func (s Site) URL(path string) string { return s.base + path }

// Issuer is the authorization server's name in metadata, tokens and redirects.
func (s Site) Issuer() string { return s.base + "/api/auth" }

// ResourceMetadata is where the metadata of a resource is served (RFC 9728).
func (s Site) ResourceMetadata(resourcePath string) string {
	return s.base + "/.well-known/oauth-protected-resource" + resourcePath
}

// ResourcePath recognises the address of one of the two resources, in any of
// the spellings that mean the same (RFC 3986 section 6.2): letter case of
// scheme and host, the default port, one slash at the end.
func (s Site) ResourcePath(resource string) (path string, ok bool) {
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(resource, "#") {
		return "", false
	}
	path = strings.TrimSuffix(u.EscapedPath(), "/")
	return path, canonicalOrigin(u) == s.base && slices.Contains([]string{ResourceMCP, ResourceAPI}, path)
}

// ScopeOf is the scope that a resource asks of every token.
func ScopeOf(resourcePath string) string {
	if resourcePath == ResourceAPI {
		return ScopeAPI
	}
	return ScopeMCP
}

func canonicalOrigin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"https": ":443", "http": ":80"}[scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	return scheme + "://" + host
}
