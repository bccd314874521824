package clientaddr_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/clientaddr"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	const unknown = "" // the expectation of a request that is refused
	for name, c := range map[string]struct {
		proxy, header string // settings
		peer          string
		headers       http.Header
		want          string
	}{
		"NET-33 the peer": {peer: "192.0.2.1:4711", want: "192.0.2.1"},
		"NET-33 no proxy is configured": {
			peer: "192.0.2.1:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9"}}, want: "192.0.2.1"},
		"NET-33 the peer is not the proxy": {proxy: "10.0.0.5",
			peer: "10.0.0.6:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9"}}, want: "10.0.0.6"},
		"NET-36 headers that nobody vouches for": {proxy: "10.0.0.5",
			peer: "192.0.2.1:4711", want: "192.0.2.1", headers: http.Header{
				"X-Forwarded-For": {"203.0.113.9"}, "X-Real-Ip": {"203.0.113.9"}, "Forwarded": {"for=203.0.113.9"},
				"X-Client-Ip": {"203.0.113.9"}, "True-Client-Ip": {"203.0.113.9"}, "Cf-Connecting-Ip": {"203.0.113.9"}}},
		"NET-36 the proxy's other headers": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", want: "203.0.113.9", headers: http.Header{
				"X-Forwarded-For": {"203.0.113.9"}, "X-Real-Ip": {"198.51.100.1"}, "Forwarded": {"for=198.51.100.1"}}},
		"NET-34 one entry": {proxy: "10.0.0.0/24",
			peer: "10.0.0.77:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9"}}, want: "203.0.113.9"},
		"NET-34 several entries, the client's own lies first": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"198.51.100.1, 198.51.100.2 , 203.0.113.9"}}, want: "203.0.113.9"},
		"NET-34 IPv4 with a port": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9:5000"}}, want: "203.0.113.9"},
		"NET-34 bracketed IPv6 with a port": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"[2001:db8::9]:5000"}}, want: "2001:db8::9"},
		"NET-34 bracketed IPv6": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"[2001:db8::9]"}}, want: "2001:db8::9"},
		"NET-34 bare IPv6": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"2001:db8::9"}}, want: "2001:db8::9"},
		"NET-34 repeated headers": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"198.51.100.1", "198.51.100.2, 203.0.113.9"}}, want: "203.0.113.9"},
		"NET-34 an IPv6 proxy": {proxy: "2001:db8:1::/48",
			peer: "[2001:db8:1::5]:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9"}}, want: "203.0.113.9"},
		"NET-34 an IPv4 peer on an IPv6 socket is the proxy": {proxy: "10.0.0.5",
			peer: "[::ffff:10.0.0.5]:4711", headers: http.Header{"X-Forwarded-For": {"::ffff:203.0.113.9"}}, want: "203.0.113.9"},
		"NET-34 the proxy names nobody": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", want: "10.0.0.5"},
		"NET-34 the proxy's entry is junk": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9, unknown"}}, want: unknown},
		"NET-34 the proxy's entry is empty": {proxy: "10.0.0.5",
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"203.0.113.9,"}}, want: unknown},
		"NET-37 X-Real-IP": {header: clientaddr.RealIP,
			peer: "10.0.0.5:4711", headers: http.Header{"X-Real-Ip": {"203.0.113.9"}, "X-Forwarded-For": {"198.51.100.1"}}, want: "203.0.113.9"},
		"NET-37 no X-Real-IP": {header: clientaddr.RealIP,
			peer: "10.0.0.5:4711", headers: http.Header{"X-Forwarded-For": {"198.51.100.1"}}, want: unknown},
		"NET-37 two in one header": {header: clientaddr.RealIP,
			peer: "10.0.0.5:4711", headers: http.Header{"X-Real-Ip": {"203.0.113.9, 203.0.113.10"}}, want: unknown},
		"NET-37 two headers": {header: clientaddr.RealIP,
			peer: "10.0.0.5:4711", headers: http.Header{"X-Real-Ip": {"203.0.113.9", "203.0.113.9"}}, want: unknown},
		"a connection without an address": {peer: "@", want: unknown},
		"a zone counts for nothing":       {peer: "[fe80::1%eth0]:4711", want: "fe80::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver, err := clientaddr.New(c.proxy, c.header)
			if err != nil {
				t.Fatal(err)
			}
			got, err := resolver.Address(&http.Request{RemoteAddr: c.peer, Header: c.headers})
			if c.want == unknown {
				if !errors.Is(err, clientaddr.ErrUnknown) {
					t.Errorf("got %v, %v, want ErrUnknown", got, err)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestNewSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxy, header string
		wrong         []string // what the error names; nil where the settings are fine
	}{
		"NET-35 nothing":            {},
		"NET-35 one address":        {proxy: "10.0.0.5"},
		"NET-35 a range":            {proxy: "10.0.0.0/24"},
		"NET-35 an IPv6 range":      {proxy: "2001:db8::/32"},
		"NET-35 all of IPv4":        {proxy: "0.0.0.0/0", wrong: []string{"TRUSTED_PROXY"}},
		"NET-35 all of IPv6":        {proxy: "::/0", wrong: []string{"TRUSTED_PROXY"}},
		"NET-35 all of IPv4, again": {proxy: "::ffff:0.0.0.0/96", wrong: []string{"TRUSTED_PROXY"}},
		"NET-35 junk":               {proxy: "proxy", wrong: []string{"TRUSTED_PROXY"}},
		"NET-35 two":                {proxy: "10.0.0.5,10.0.0.6", wrong: []string{"TRUSTED_PROXY"}},
		"NET-37 the one header":     {header: "x-real-ip"},
		"NET-37 another header":     {header: "x-forwarded-for", wrong: []string{"CLIENT_ADDRESS_HEADER"}},
		"NET-38 both":               {proxy: "10.0.0.5", header: "x-real-ip", wrong: []string{"TRUSTED_PROXY", "CLIENT_ADDRESS_HEADER"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clientaddr.New(c.proxy, c.header)
			if (err != nil) != (c.wrong != nil) {
				t.Fatalf("got %v, want an error: %t", err, c.wrong != nil)
			}
			for _, setting := range c.wrong {
				if !strings.Contains(err.Error(), setting) {
					t.Errorf("%q does not name %s", err, setting)
				}
			}
		})
	}
}
