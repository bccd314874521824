package protocol_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/oauth/protocol"
)

// OAUTH-36: what a client may register.
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
		"http://localhost":                                 true,
		"http://127.0.0.1:0/cb":                            true,
		"com.example.app://host/cb":                        true,
		"http://LOCALHOST/cb":                              false,
		"http://localhost./cb":                             false,
		"http://localhost.:1/cb":                           false,
		"http:localhost/cb":                                false,
		"http://[::1%25lo]/cb":                             false,
		"http://[0:0:0:0:0:0:0:1]/cb":                      false,
		"http://[::ffff:127.0.0.1]/cb":                     false,
		"http://0.0.0.0/cb":                                false,
		"http://[::]/cb":                                   false,
		"http://2130706433/cb":                             false,
		"http://127.0.0.1.evil.example/cb":                 false,
		"http://127.0.0.1@evil.example/cb":                 false,
		"http://localhost:x/cb":                            false,
		"https://localhost/cb":                             true,
		"https://аpp.example/cb":                           false, // a Cyrillic letter
		"https://xn--pp-7kc.example/cb":                    true,  // the same, for everybody to see
		"https://app.example/é":                            false,
		"view-source:https://app.example":                  false,
		"filesystem:https://app.example/x":                 false,
		"jar:https://app.example!/x":                       false,
		"chrome://settings":                                false,
		"ms-settings:x":                                    false,
		"search-ms:query=x":                                false,
		"intent://x#Intent;end":                            false,
		"ws://app.example/cb":                              false,
		"ftp://app.example/cb":                             false,
		"tel:1":                                            false,
		"1app:/cb":                                         false,
		":/cb":                                             false,
		"com.example_app:/cb":                              false,
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

// OAUTH-36: the same string or, at a loopback host, the same but for the port.
func TestMatchRedirectURI(t *testing.T) {
	t.Parallel()
	registered := []string{"http://localhost/callback", "http://127.0.0.1:8000/cb?x=1", "http://[::1]/cb", "https://app.example/cb", "com.example.app:/cb"}
	for uri, ok := range map[string]bool{
		"http://localhost/callback":              true,
		"http://localhost:53710/callback":        true,
		"http://127.0.0.1/cb?x=1":                true,
		"http://127.0.0.1:9/cb?x=1":              true,
		"http://[::1]:9/cb":                      true,
		"https://app.example/cb":                 true,
		"com.example.app:/cb":                    true,
		"http://localhost:53710/callback/":       false,
		"http://localhost:53710/Callback":        false,
		"http://localhost:53710/call%62ack":      false,
		"http://localhost:53710/callback?":       false,
		"http://localhost:53710/callback?x=1":    false,
		"http://localhost:53710/callback#":       false,
		"http://localhost:53710/callback#x":      false,
		"http://x@localhost:53710/callback":      false,
		"http://127.0.0.1:53710/callback":        false,
		"http://[::1]:53710/callback":            false,
		"https://localhost/callback":             false,
		"HTTP://localhost:1/callback":            true, // the scheme's letters mean the same (RFC 3986)
		"http://localhost.evil.example/callback": false,
		"http://127.0.0.1:8000/cb":               false,
		"http://127.0.0.1:8000/cb?x=2":           false,
		"http://127.0.0.2:8000/cb?x=1":           false,
		"https://app.example:443/cb":             false,
		"https://app.example:444/cb":             false,
		"https://APP.example/cb":                 false,
		"https://app.example/cb?":                false,
		"http://app.example/cb":                  false,
		"com.example.app:/cb2":                   false,
		"com.example.app://cb":                   false,
		"":                                       false,
	} {
		if got := protocol.MatchRedirectURI(uri, registered); got != ok {
			t.Errorf("%s: %v", uri, got)
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
