package wire_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/oauth/authorize"
)

// FETCH-24: an admin who types an issuer, and a client that brings the address of
// its document, learn the same whatever is behind the address. What it was is in
// the log, under the id of the request.
func TestFailuresOutsideReadAlike(t *testing.T) {
	t.Parallel()
	causes := map[string]string{
		"nowhere.invalid": "no such host", "private.example": "address is not allowed", "refused.example": "connection refused",
		"slow.example": "took too long", "large.example": "too large",
	}
	site := fetchtest.NewSite(t, "slow.example", "large.example")
	site.Serve(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "slow") {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(make([]byte, 65_537))
	})
	outside := site.Options()
	outside.Timeout = 500 * time.Millisecond
	outside.Resolver = hosts{outside.Resolver}
	dial := outside.Dial
	outside.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, refusing) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return dial(ctx, network, address)
	}
	d := newDeployment(t, options{outside: outside})
	admin := d.person("admin@sample.example")

	for what, ask := range map[string]func(host string) answer{
		"an issuer": func(host string) answer {
			return admin.do(http.MethodPost, "/api/v1/admin/sign-in/tests", map[string]string{
				"kind": "oidc", "id": "acme", "name": "Acme", "issuer": "https://" + host, "client_id": "c", "client_secret": "s",
			})
		},
		"a client's document": func(host string) answer {
			return admin.get(authorize.Path + "?" + url.Values{
				"response_type": {"code"}, "client_id": {"https://" + host + "/client"}, "redirect_uri": {"http://localhost/callback"}, "state": {"s"},
				"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "resource": {d.url + "/api/mcp"}, "scope": {"mcp"},
			}.Encode())
		},
	} {
		first := ""
		for host, cause := range causes {
			a := ask(host)
			id := a.header.Get("X-Request-Id")
			if a.status < 400 || id == "" {
				t.Fatalf("%s at %s: %d %s", what, host, a.status, a.body)
			}
			said := strings.ReplaceAll(a.body, id, "")
			if first == "" {
				first = said
			}
			if said != first {
				t.Errorf("%s at %s answers %s, another %s", what, host, said, first)
			}
			for _, inside := range []string{host, "10.0.0.5", fetchtest.PublicAddress, refusing, "resolv", "dial", "refused", "allowed"} {
				if strings.Contains(said, inside) {
					t.Errorf("%s at %s tells of %q: %s", what, host, inside, said)
				}
			}
			logged := false
			for line := range strings.Lines(d.log.String()) {
				logged = logged || strings.Contains(line, id) && strings.Contains(line, cause)
			}
			if !logged {
				t.Errorf("%s at %s: %q is not in the log under %s", what, host, cause, id)
			}
		}
	}
}

// refusing is an address at which nobody listens.
const refusing = "93.184.216.99"

// hosts resolves some names in its own way.
type hosts struct{ next fetch.Resolver }

func (h hosts) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	switch host {
	case "private.example":
		return []netip.Addr{netip.MustParseAddr("10.0.0.5")}, nil
	case "refused.example":
		return []netip.Addr{netip.MustParseAddr(refusing)}, nil
	}
	return h.next.LookupNetIP(ctx, network, host)
}
