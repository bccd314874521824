package web

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// SIGNIN-31, SIGNIN-33: what of /api/auth anybody may call is this and no more.
func TestWhatOfSignInIsPublic(t *testing.T) {
	var got []string
	for method := range maps.Keys(publicPaths) {
		for _, path := range publicPaths[method] {
			if strings.HasPrefix(path, "/api/auth") {
				got = append(got, method+" "+path)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"GET /api/auth/callback/google",
		"GET /api/auth/callback/microsoft",
		"GET /api/auth/callback/oidc",
		"GET /api/auth/config",
		"GET /api/auth/oauth2/authorize",
		"GET /api/auth/sign-in/google",
		"GET /api/auth/sign-in/microsoft",
		"GET /api/auth/sign-in/oidc",
		"POST /api/auth/dev-sign-in",
		"POST /api/auth/oauth2/device_authorization",
		"POST /api/auth/oauth2/register",
		"POST /api/auth/oauth2/token",
		"POST /api/auth/sign-in/passkey",
		"POST /api/auth/sign-in/passkey/options",
	}
	if !slices.Equal(got, want) {
		t.Errorf("public are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
