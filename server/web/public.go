package web

import (
	"net/http"
	"slices"
	"strings"
)

// categories are the catalog's categories, whose names have slashes: a screen of
// any depth, and the only wildcard (NET-08).
const categories = "/catalog/categories/*"

// publicPaths lists, beside the shell's, every path that answers without a
// credential, by method. Everything that is not on a list is behind the gate.
var publicPaths = map[string][]string{
	http.MethodGet: {
		"/assets/:file",
		"/healthz",
		"/readyz",
		"/.well-known/oauth-authorization-server",
		"/.well-known/oauth-authorization-server/api/auth",
		"/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/api/mcp",
		"/.well-known/oauth-protected-resource/api/v1",
		"/api/auth/config",
		"/api/auth/sign-in/microsoft",
		"/api/auth/sign-in/google",
		"/api/auth/sign-in/oidc",
		"/api/auth/callback/microsoft",
		"/api/auth/callback/google",
		"/api/auth/callback/oidc",
		"/api/auth/oauth2/authorize",
	},
	http.MethodPost: {
		"/api/auth/dev-sign-in",
		"/api/auth/sign-in/passkey",
		"/api/auth/sign-in/passkey/options",
		"/api/auth/oauth2/token",
		"/api/auth/oauth2/register",
		"/api/auth/oauth2/device_authorization",
	},
}

// isPublic reports whether a request needs no credential: one on the list, or a
// GET of one of the shell's screens. path is decoded.
func isPublic(screens []string, method, path string) bool {
	if slices.ContainsFunc(publicPaths[method], func(p string) bool { return matches(p, path) }) {
		return true
	}
	if method != http.MethodGet {
		return false
	}
	return matches(categories, path) || slices.ContainsFunc(screens, func(p string) bool { return matches(p, path) })
}

// PublicPaths returns every entry of the public list with its method, for a
// deployment with these screens.
func PublicPaths(screens []string) []string {
	entries := []string{http.MethodGet + " " + categories}
	for _, p := range screens {
		entries = append(entries, http.MethodGet+" "+p)
	}
	for method, paths := range publicPaths {
		for _, p := range paths {
			entries = append(entries, method+" "+p)
		}
	}
	slices.Sort(entries)
	return entries
}

// matches reports whether path is pattern, whose :names each stand for exactly
// one segment, and a * at its end for at least one. No such segment is empty or a
// dot segment.
func matches(pattern, path string) bool {
	if !strings.ContainsAny(pattern, ":*") {
		return pattern == path
	}
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if last := len(want) - 1; want[last] == "*" {
		for len(want) < len(got) {
			want = append(want, "*")
		}
	}
	if len(want) != len(got) {
		return false
	}
	for i, w := range want {
		switch {
		case strings.HasPrefix(w, ":"), w == "*":
			if got[i] == "" || got[i] == "." || got[i] == ".." || strings.Contains(got[i], "\\") {
				return false
			}
		case w != got[i]:
			return false
		}
	}
	return true
}
