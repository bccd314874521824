package protocol

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const maxRedirectURI = 2000

var schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// Schemes that a browser acts on itself, or that lead to a file or a mail
// program rather than to an app that registered the scheme.
var refusedSchemes = []string{
	"javascript", "data", "vbscript", "livescript", "mocha", "blob", "about", "file", "filesystem", "view-source", "jar", "chrome", "resource",
	"ws", "wss", "ftp", "mailto", "tel", "sms", "intent", "ms-settings", "search-ms", "ms-msdt",
}

// CheckRedirectURI says whether a client may register this address: https,
// http on a loopback host, or a scheme of an app's own (RFC 8252).
func CheckRedirectURI(raw string) error {
	if raw == "" || len(raw) > maxRedirectURI {
		return fmt.Errorf("a redirect URI has 1 to %d characters", maxRedirectURI)
	}
	for _, r := range raw {
		// Letters of other alphabets can look like a host that they are not.
		if r <= ' ' || r > '~' || r == '\\' {
			return errors.New("a redirect URI has no spaces, backslashes, control characters or characters beyond ASCII")
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return errors.New("a redirect URI is an absolute address")
	}
	if strings.Contains(raw, "#") {
		return errors.New("a redirect URI has no fragment")
	}
	if u.User != nil {
		return errors.New("a redirect URI has no user name")
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "https":
		if u.Hostname() == "" {
			return errors.New("a redirect URI names a host")
		}
	case scheme == "http":
		if !isLoopback(u) {
			return errors.New("a redirect URI over http is allowed on 127.0.0.1, [::1] and localhost only")
		}
	case !schemeForm.MatchString(scheme) || slices.Contains(refusedSchemes, scheme):
		return errors.New("a redirect URI has the scheme https, http on a loopback host, or an app's own")
	}
	return nil
}

// MatchRedirectURI says whether uri is one of those that a client registered:
// the same string or, on a loopback host, the same but for the port.
func MatchRedirectURI(uri string, registered []string) bool {
	if slices.Contains(registered, uri) {
		return true
	}
	u, err := url.Parse(uri)
	if err != nil || strings.Contains(uri, "#") || !isLoopback(u) {
		return false
	}
	return slices.ContainsFunc(registered, func(other string) bool {
		o, err := url.Parse(other)
		return err == nil && isLoopback(o) && o.Hostname() == u.Hostname() &&
			o.EscapedPath() == u.EscapedPath() && o.RawQuery == u.RawQuery && o.ForceQuery == u.ForceQuery
	})
}

// IsLoopbackRedirect says whether a redirect stays on the person's own machine.
func IsLoopbackRedirect(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && isLoopback(u)
}

func isLoopback(u *url.URL) bool {
	return u.Scheme == "http" && u.User == nil && u.Opaque == "" &&
		slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// RedirectTo adds parameters to the query of a redirect URI that a client
// registered.
func RedirectTo(redirectURI string, parameters url.Values) string {
	u, err := url.Parse(redirectURI)
	if err != nil {
		panic("protocol: a redirect URI that was matched does not parse")
	}
	if u.RawQuery != "" {
		u.RawQuery += "&" // what the client registered stays as it is
	}
	u.RawQuery += parameters.Encode()
	return u.String()
}
