package protocol_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/oauth/protocol"
)

func TestCheckRedirectURI(t *testing.T) {
	t.Parallel()
	for uri, ok := range map[string]bool{
		"https://app.example/cb":                           true,
		"https://app.example:8443/cb?x=1":                  true,
		"http://localhost/cb":                              true,
		"http://localhost:1234/cb":                         true,
		"http://127.0.0.1/cb":                              true,
		"http://[::1]:5/cb":                                true,
		"com.example.app:/cb":                              true,
		"cursor://anysphere.cursor-retrieval/cb":           true,
		"vscode://vscode.github-authentication/cb":         true,
		"http://app.example/cb":                            false,
		"http://localhost.example.com/cb":                  false,
		"http://127.0.0.2/cb":                              false,
		"http://127.1/cb":                                  false,
		"http://localhost@evil.example/cb":                 false,
		"https://user@app.example/cb":                      false,
		"https://app.example/cb#":                          false,
		"https://app.example/cb#x":                         false,
		"https:///cb":                                      false,
		"https:app.example/cb":                             false,
		"HTTPS://app.example/cb":                           true,
		"javascript:alert(1)":                              false,
		"JavaScript:alert(1)":                              false,
		"data:text/html,x":                                 false,
		"vbscript:x":                                       false,
		"file:///etc/passwd":                               false,
		"blob:https://app.example/x":                       false,
		"about:blank":                                      false,
		"mailto:a@b.example":                               false,
		"/cb":                                              false,
		"//app.example/cb":                                 false,
		"app.example/cb":                                   false,
		"":                                                 false,
		"https://app.example/a b":                          false,
		"https://app.example/\n":                           false,
		`https://app.example\@evil.example/`:               false,
		" javascript:alert(1)":                             false,
		"java\tscript:alert(1)":                            false,
		"https://app.example/" + strings.Repeat("x", 2000): false,
	} {
		if err := protocol.CheckRedirectURI(uri); (err == nil) != ok {
			t.Errorf("%.60q: %v", uri, err)
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "pbmb.example", "ftp://pbmb.example", "https://pbmb.example/sub", "https://u@pbmb.example", "https://pbmb.example?x", "https://pbmb.example#x"} {
		if _, err := protocol.NewSite(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	site, err := protocol.NewSite("https://PBMB.example:443/")
	if err != nil {
		t.Fatal(err)
	}
	if got := site.Issuer(); got != "https://pbmb.example/api/auth" { // OAUTH-01
		t.Error(got)
	}
	for resource, want := range map[string]string{
		"https://pbmb.example/api/mcp":     "/api/mcp",
		"HTTPS://PBMB.EXAMPLE/api/mcp":     "/api/mcp",
		"https://pbmb.example:443/api/v1/": "/api/v1",
		"https://pbmb.example/API/mcp":     "",
		"https://pbmb.example/api/mcp//":   "",
		"https://pbmb.example/api/%6dcp":   "",
		"https://pbmb.example/api/mcp/x":   "",
		"https://pbmb.example/":            "",
		"https://pbmb.example:444/api/mcp": "",
		"http://pbmb.example/api/mcp":      "",
		"https://pbmb.example/api/mcp?":    "",
		"https://pbmb.example/api/mcp#":    "",
		"https://x@pbmb.example/api/mcp":   "",
		"/api/mcp":                         "",
		"":                                 "",
	} {
		if got, ok := site.ResourcePath(resource); ok != (want != "") || (ok && got != want) {
			t.Errorf("%q: %q %v", resource, got, ok)
		}
	}
}
