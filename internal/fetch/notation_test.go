package fetch_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch"
)

// lenient resolves what looks like a number to loopback, as C libraries do.
type lenient struct{ *recorder }

func (l lenient) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.ContainsAny(host[:1], "0123456789") || strings.HasPrefix(strings.ToLower(host), "localhost") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return l.recorder.LookupNetIP(ctx, network, host)
}

// FETCH-15, FETCH-05: no way of writing an address or a name gets past either
// profile: what is dialed is judged, and not what was written.
func TestAddressesInEveryNotation(t *testing.T) {
	public := map[string][][]string{"example.com": {{"93.184.216.34"}}, "api.example": {{"93.184.216.34"}}, "evil.example": {{"93.184.216.34"}}}
	for address, want := range map[string]error{
		"https://2130706433/":               fetch.ErrAddress, // decimal
		"https://0x7f000001/":               fetch.ErrAddress,
		"https://0x7f.0.0.1/":               fetch.ErrAddress,
		"https://0177.0.0.1/":               fetch.ErrAddress, // octal
		"https://127.1/":                    fetch.ErrAddress,
		"https://127.0.0.1./":               fetch.ErrAddress,
		"https://127.0.0.1:8443/":           fetch.ErrAddress,
		"https://localhost/":                fetch.ErrAddress,
		"https://LOCALHOST./":               fetch.ErrAddress,
		"https://\uff11\uff12\uff17.0.0.1/": fetch.ErrAddress, // full width
		"https://127\u30020\u30020\u30021/": fetch.ErrAddress, // full stops of another script
		"https://[::ffff:127.0.0.1]/":       fetch.ErrAddress,
		"https://[::ffff:7f00:1]/":          fetch.ErrAddress,
		"https://[0:0:0:0:0:ffff:a00:1]/":   fetch.ErrAddress,
		"https://[fe80::1%25eth0]/":         fetch.ErrAddress,
		"https://[2606:2800:220:1::1%25x]/": fetch.ErrAddress, // a zone makes it local
		"HTTPS://EXAMPLE.com/":              errDialed,
		"https://example.com:443/":          errDialed,
		"https://user@example.com/":         nil, // refused, by no error of its own
		"https://user:word@example.com/":    nil,
		"https://example.com@127.0.0.1/":    nil,
		"https://":                          nil,
		"https:example.com":                 nil,
	} {
		rec := &recorder{answers: public}
		o := rec.options("production")
		o.Resolver = lenient{rec}
		_, err := get(untrusted(t, o), address)
		if err == nil || want != nil && !errors.Is(err, want) || want != errDialed && len(rec.dialed) > 0 {
			t.Errorf("untrusted %s: %v, want %v; dialed %v", address, err, want, rec.dialed)
		}
	}
	for address, want := range map[string]error{
		"https://API.Example/":               errDialed,
		"https://api.example:443/":           errDialed,
		"https://api.example:0443/":          fetch.ErrHost,
		"https://api.example./":              fetch.ErrHost,
		"https://\uff41pi.example/":          fetch.ErrHost, // full width, which a name on the wire has not
		"https://api\u3002example/":          fetch.ErrHost,
		"https://\u0430pi.example/":          fetch.ErrHost, // Cyrillic
		"https://xn--pi-7kc.example/":        fetch.ErrHost,
		"https://api.example%2eevil/":        nil,
		"https://api.example#@evil.example":  errDialed, // a fragment: the host is ours
		"https://evil.example#@api.example":  fetch.ErrHost,
		"https://evil.example\\@api.example": nil,
		"https://api.example@evil.example/":  nil,
		"https://93.184.216.34/":             fetch.ErrHost, // our own address by number
	} {
		rec := &recorder{answers: public}
		_, err := get(fixed(t, rec.options("production"), "https://api.example/v1"), address)
		if err == nil || want != nil && !errors.Is(err, want) || want != errDialed && len(rec.dialed) > 0 {
			t.Errorf("fixed %s: %v, want %v; dialed %v", address, err, want, rec.dialed)
		}
	}
}
