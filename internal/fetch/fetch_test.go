package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
)

var errDialed = errors.New("dialed")

// A recorder is a resolver with fixed answers and a dialer that connects nowhere,
// or to one listener whatever the address is.
type recorder struct {
	mu      sync.Mutex
	answers map[string][][]string // successive answers for a name; the last one stays
	dialed  []string
	target  string
}

func (r *recorder) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	host = strings.ToLower(host)
	answers := r.answers[host]
	if len(answers) == 0 {
		return nil, errors.New("no such host " + host)
	}
	var addrs []netip.Addr
	for _, a := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	if len(answers) > 1 {
		r.answers[host] = answers[1:]
	}
	return addrs, nil
}

func (r *recorder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	r.dialed = append(r.dialed, address)
	r.mu.Unlock()
	if r.target == "" {
		return nil, errDialed
	}
	return new(net.Dialer).DialContext(ctx, network, r.target)
}

func (r *recorder) options(environment string) fetch.Options {
	return fetch.Options{Environment: environment, Resolver: r, Dial: r.dial}
}

// newServer is a TLS server that is reached under the name example.com at every
// public address that rec is asked to dial.
func newServer(t *testing.T, h http.HandlerFunc) (rec *recorder, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &recorder{
		answers: map[string][][]string{"example.com": {{"93.184.216.34"}}},
		target:  s.Listener.Addr().String(),
	}, roots
}

func fixed(t *testing.T, o fetch.Options, addresses ...string) *http.Client {
	t.Helper()
	c, err := fetch.NewFixed(addresses, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func untrusted(t *testing.T, o fetch.Options, trusted ...string) *http.Client {
	t.Helper()
	c, err := fetch.NewUntrusted(trusted, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get reads a whole answer.
func get(c *http.Client, address string) (string, error) {
	resp, err := c.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// FETCH-05
func TestFixedSendsToItsHostsOnly(t *testing.T) {
	configured := []string{
		"https://login.example", "https://api.example/v1.0/myorg", "https://graph.example", "https://embed.example:8443/v1",
	}
	answers := map[string][][]string{}
	for _, host := range []string{
		"login.example", "api.example", "graph.example", "embed.example",
		"evil.example", "api.example.evil.example", "evilapi.example", "api.example.",
	} {
		answers[host] = [][]string{{"93.184.216.34"}}
	}
	cases := map[string]struct {
		url  string
		want error
	}{
		"identity":                         {"https://login.example/x/oauth2/v2.0/token", errDialed},
		"power bi":                         {"https://api.example/v1.0/myorg/groups", errDialed},
		"power bi in capitals":             {"https://API.example/v1.0/myorg/groups", errDialed},
		"graph":                            {"https://graph.example/v1.0/me", errDialed},
		"embeddings on its port":           {"https://embed.example:8443/v1/embeddings", errDialed},
		"another host":                     {"https://evil.example/", fetch.ErrHost},
		"an allowed host as a subdomain":   {"https://api.example.evil.example/", fetch.ErrHost},
		"an allowed host as a suffix":      {"https://evilapi.example/", fetch.ErrHost},
		"an allowed host with a final dot": {"https://api.example./", fetch.ErrHost},
		"another port":                     {"https://api.example:8443/", fetch.ErrHost},
		"embeddings on the usual port":     {"https://embed.example/v1/embeddings", fetch.ErrHost},
		"plain http":                       {"http://api.example/", fetch.ErrHost},
		"plain http on the tls port":       {"http://api.example:443/", fetch.ErrHost},
		"another scheme":                   {"ftp://api.example/", fetch.ErrScheme},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{answers: answers}
			_, err := get(fixed(t, rec.options("production"), configured...), c.url)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if wantDial := c.want == errDialed; (len(rec.dialed) > 0) != wantDial {
				t.Errorf("dialed %v", rec.dialed)
			}
		})
	}

	t.Run("user information", func(t *testing.T) {
		rec := &recorder{answers: answers}
		_, err := get(fixed(t, rec.options("production"), configured...), "https://api.example@evil.example/")
		if err == nil || len(rec.dialed) > 0 {
			t.Errorf("got %v, dialed %v", err, rec.dialed)
		}
		_, err = get(fixed(t, rec.options("production"), configured...), "https://user:pass@api.example/")
		if err == nil || len(rec.dialed) > 0 {
			t.Errorf("got %v, dialed %v", err, rec.dialed)
		}
	})
	t.Run("another Host header", func(t *testing.T) {
		rec := &recorder{answers: answers}
		req, _ := http.NewRequest("GET", "https://api.example/", nil)
		req.Host = "evil.example"
		_, err := fixed(t, rec.options("production"), configured...).Do(req)
		if !errors.Is(err, fetch.ErrHost) || len(rec.dialed) > 0 {
			t.Errorf("got %v, dialed %v", err, rec.dialed)
		}
	})
}

// FETCH-06, FETCH-14
func TestNoRedirectIsFollowed(t *testing.T) {
	for name, location := range map[string]string{
		"to the same host":  "https://example.com/elsewhere",
		"to a foreign host": "https://evil.example/",
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			rec, roots := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				http.Redirect(w, r, location, http.StatusFound)
			})
			o := rec.options("production")
			o.RootCAs = roots
			if _, err := get(fixed(t, o, "https://example.com"), "https://example.com/"); !errors.Is(err, fetch.ErrRedirect) {
				t.Errorf("fixed: got %v", err)
			}
			if _, err := get(untrusted(t, o), "https://example.com/"); !errors.Is(err, fetch.ErrRedirect) {
				t.Errorf("untrusted: got %v", err)
			}
			if requests != 2 || len(rec.dialed) != 2 {
				t.Errorf("%d requests over %v, want one of each client", requests, rec.dialed)
			}
		})
	}
}

// FETCH-07, FETCH-14
func TestTimeIsLimited(t *testing.T) {
	release := make(chan struct{})
	handlers := map[string]http.HandlerFunc{
		"never answers": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		},
		"never ends its body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Millisecond):
				case <-release:
					return
				}
			}
		},
	}
	defer close(release)
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			rec, roots := newServer(t, h)
			o := rec.options("production")
			o.RootCAs, o.Timeout = roots, 50*time.Millisecond
			if _, err := get(fixed(t, o, "https://example.com"), "https://example.com/"); !errors.Is(err, fetch.ErrTimeout) {
				t.Errorf("fixed: got %v", err)
			}
			if _, err := get(untrusted(t, o), "https://example.com/"); !errors.Is(err, fetch.ErrTimeout) {
				t.Errorf("untrusted: got %v", err)
			}
		})
	}
}

// FETCH-04, FETCH-07, FETCH-14
func TestSizeIsLimitedAfterDecompression(t *testing.T) {
	const limit = 64 << 10
	var asked string
	serve := func(size int, zipped, length bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Accept-Encoding")
			content := bytes.Repeat([]byte("a"), size)
			if !zipped {
				if !length {
					w.(http.Flusher).Flush()
				}
				w.Write(content)
				return
			}
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(content)
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(b.Bytes())
		}
	}
	cases := map[string]struct {
		h    http.HandlerFunc
		size int // what arrives; -1: refused
	}{
		"the limit itself":            {serve(limit, false, false), limit},
		"one byte more":               {serve(limit+1, false, false), -1},
		"one byte more, announced":    {serve(limit+1, false, true), -1},
		"the limit, compressed":       {serve(limit, true, false), limit},
		"a small body that grows":     {serve(1<<20, true, false), -1},
		"one byte more, compressed":   {serve(limit+1, true, false), -1},
		"far more without an end yet": {serve(8<<20, false, false), -1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rec, roots := newServer(t, c.h)
			o := rec.options("production")
			o.RootCAs = roots
			of := o
			of.MaxBytes = limit
			for profile, client := range map[string]*http.Client{
				"fixed": fixed(t, of, "https://example.com"), "untrusted": untrusted(t, o),
			} {
				req, _ := http.NewRequest("GET", "https://example.com/", nil)
				req.Header.Set("Accept-Encoding", "br, gzip") // a caller cannot ask for what is not undone
				resp, err := client.Do(req)
				got := 0
				if err == nil {
					var b []byte
					b, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					got = len(b)
				}
				switch {
				case c.size < 0 && !errors.Is(err, fetch.ErrTooLarge):
					t.Errorf("%s: got %d bytes and %v, want %v", profile, got, err, fetch.ErrTooLarge)
				case c.size < 0 && got > limit:
					t.Errorf("%s: %d bytes got through", profile, got)
				case c.size >= 0 && (err != nil || got != c.size):
					t.Errorf("%s: got %d bytes and %v", profile, got, err)
				}
				if asked != "gzip" {
					t.Errorf("%s: asked for the encodings %q", profile, asked)
				}
			}
		})
	}
}

func TestUnknownEncodingIsRefused(t *testing.T) {
	rec, roots := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, "?")
	})
	o := rec.options("production")
	o.RootCAs = roots
	if _, err := get(fixed(t, o, "https://example.com"), "https://example.com/"); !errors.Is(err, fetch.ErrEncoding) {
		t.Errorf("got %v", err)
	}
}

// FETCH-08, FETCH-17
func TestPlainHTTPNeedsDevelopmentOrTest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	for environment, accepted := range map[string]bool{"": false, "production": false, "development": true, "test": true} {
		t.Run("PBMB_ENV="+environment, func(t *testing.T) {
			c, err := fetch.NewFixed([]string{s.URL}, fetch.Options{Environment: environment})
			if !accepted {
				if !errors.Is(err, fetch.ErrScheme) {
					t.Fatalf("got %v, want %v", err, fetch.ErrScheme)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := get(c, s.URL+"/path"); err != nil || got != "hello" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// FETCH-09, FETCH-10
func TestFixedDialsPrivateButNotLocalAddresses(t *testing.T) {
	cases := map[string]bool{ // address: dialed in production
		"93.184.216.34":          true,
		"10.0.0.5":               true,
		"172.16.0.1":             true,
		"172.31.255.255":         true,
		"192.168.1.1":            true,
		"fc00::1":                true,
		"fd12:3456::1":           true,
		"2606:2800:220:1::":      true,
		"127.0.0.1":              false,
		"127.9.9.9":              false,
		"::1":                    false,
		"::ffff:127.0.0.1":       false,
		"64:ff9b::7f00:1":        false,
		"64:ff9b::a9fe:a9fe":     false,
		"169.254.169.254":        false,
		"::ffff:169.254.169.254": false,
		"fe80::1":                false,
		"224.0.0.1":              false,
		"ff02::1":                false,
		"0.0.0.0":                false,
		"::":                     false,
	}
	for address, dialed := range cases {
		for _, environment := range []string{"", "production", "development", "test"} {
			t.Run(address+" under "+environment, func(t *testing.T) {
				rec := &recorder{answers: map[string][][]string{"api.example": {{address}}, "other.example": {{address}}}}
				_, err := get(fixed(t, rec.options(environment), "https://api.example"), "https://api.example/")
				want := fetch.ErrAddress
				if dialed || environment == "development" || environment == "test" {
					want = errDialed
				}
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				if (len(rec.dialed) > 0) != (want == errDialed) {
					t.Errorf("dialed %v", rec.dialed)
				}
				rec.dialed = nil
				if _, err := get(fixed(t, rec.options(environment), "https://api.example"), "https://other.example/"); !errors.Is(err, fetch.ErrHost) || len(rec.dialed) > 0 {
					t.Errorf("a host off the list: got %v, dialed %v", err, rec.dialed)
				}
			})
		}
	}
}

// FETCH-03
//
// The variables are read once in a process, so this test has one of its own.
func TestProxyVariablesAreIgnored(t *testing.T) {
	const child = "FETCH_TEST_PROXY"
	if os.Getenv(child) == "" {
		proxied := make(chan string, 10)
		proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proxied <- r.Method + " " + r.URL.String() }))
		defer proxy.Close()
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1", "NO_PROXY=", "no_proxy=")
		for _, v := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
			cmd.Env = append(cmd.Env, v+"="+proxy.URL)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		select {
		case saw := <-proxied:
			t.Errorf("the proxy saw %s", saw)
		default:
		}
		return
	}
	rec, roots := newServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	o := rec.options("production")
	o.RootCAs = roots
	for profile, c := range map[string]*http.Client{"fixed": fixed(t, o, "https://example.com"), "untrusted": untrusted(t, o)} {
		if got, err := get(c, "https://example.com/"); err != nil || got != "hello" {
			t.Errorf("%s: got %q, %v", profile, got, err)
		}
	}
	for _, a := range rec.dialed {
		if a != "93.184.216.34:443" {
			t.Errorf("dialed %s", a)
		}
	}
}

// FETCH-14
func TestUntrustedNeedsHTTPS(t *testing.T) {
	rec := &recorder{answers: map[string][][]string{"example.com": {{"93.184.216.34"}}}}
	for _, environment := range []string{"", "production", "development", "test"} {
		if _, err := get(untrusted(t, rec.options(environment)), "http://example.com/"); !errors.Is(err, fetch.ErrScheme) {
			t.Errorf("PBMB_ENV=%s: got %v", environment, err)
		}
	}
	if len(rec.dialed) > 0 {
		t.Errorf("dialed %v", rec.dialed)
	}
}

// FETCH-15
func TestUntrustedDialsPublicAddressesOnly(t *testing.T) {
	const public4, public6 = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"
	for _, a := range []string{public4, public6, "8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"} {
		rec := &recorder{answers: map[string][][]string{"example.com": {{a}}}}
		if _, err := get(untrusted(t, rec.options("")), "https://example.com/"); !errors.Is(err, errDialed) {
			t.Errorf("%s: got %v", a, err)
		}
	}
	for class, a := range map[string]string{
		"private 10/8": "10.0.0.5", "private 172.16/12": "172.20.1.1", "private 192.168/16": "192.168.0.1",
		"loopback": "127.0.0.1", "loopback v6": "::1", "link-local": "169.254.169.254", "link-local v6": "fe80::1",
		"CGNAT": "100.64.0.1", "CGNAT end": "100.127.255.255", "multicast": "224.0.0.1", "multicast v6": "ff02::1",
		"unspecified": "0.0.0.0", "unspecified v6": "::", "this network": "0.1.2.3", "ULA": "fc00::1", "ULA fd": "fd00::1",
		"IPv4-mapped private": "::ffff:10.0.0.5", "IPv4-mapped loopback": "::ffff:127.0.0.1",
		"NAT64 private": "64:ff9b::a00:5", "NAT64 public": "64:ff9b::808:808", "NAT64 local": "64:ff9b:1::a00:5",
		"6to4": "2002:a00:5::", "Teredo": "2001:0:a00:5::", "documentation": "192.0.2.1", "documentation v6": "2001:db8::1",
		"benchmark": "198.18.0.1", "reserved": "240.0.0.1", "broadcast": "255.255.255.255", "IPv4-compatible": "::10.0.0.5",
		"site-local": "fec0::1", "discard": "100::1",
	} {
		t.Run(class, func(t *testing.T) {
			for mix, answer := range map[string][]string{
				"alone": {a}, "after a public one": {public4, a}, "before a public one": {a, public6},
			} {
				rec := &recorder{answers: map[string][][]string{"example.com": {answer}}}
				_, err := get(untrusted(t, rec.options("")), "https://example.com/")
				if !errors.Is(err, fetch.ErrAddress) || len(rec.dialed) > 0 {
					t.Errorf("%s: got %v, dialed %v", mix, err, rec.dialed)
				}
			}
			rec := &recorder{}
			literal := (&url.URL{Scheme: "https", Host: net.JoinHostPort(a, "443")}).String()
			if _, err := get(untrusted(t, rec.options("")), literal); !errors.Is(err, fetch.ErrAddress) || len(rec.dialed) > 0 {
				t.Errorf("literal: got %v, dialed %v", err, rec.dialed)
			}
		})
	}
}

// FETCH-16, FETCH-21
func TestUntrustedDialsTheAddressThatItChecked(t *testing.T) {
	reached := false
	local := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer local.Close()
	_, port, _ := net.SplitHostPort(local.Listener.Addr().String())

	rec := &recorder{answers: map[string][][]string{"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}}}}
	o := fetch.Options{Resolver: rec, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		rec.dial(ctx, network, address)
		if host, _, _ := net.SplitHostPort(address); host != "127.0.0.1" {
			return nil, errDialed // 93.184.216.34 is not ours to reach
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	c := untrusted(t, o)
	address := "https://rebind.example:" + port + "/"
	if _, err := get(c, address); !errors.Is(err, errDialed) {
		t.Errorf("first: got %v", err)
	}
	if got := strings.Join(rec.dialed, " "); got != "93.184.216.34:"+port {
		t.Errorf("dialed %s", got)
	}
	if _, err := get(c, address); !errors.Is(err, fetch.ErrAddress) {
		t.Errorf("second: got %v", err)
	}
	if reached || len(rec.dialed) != 1 {
		t.Errorf("reached %v, dialed %v", reached, rec.dialed)
	}
}

// FETCH-21
func TestUntrustedChecksEachRequest(t *testing.T) {
	rec, roots := newServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	rec.answers["example.com"] = [][]string{{"93.184.216.34"}, {"10.0.0.1"}}
	o := rec.options("production")
	o.RootCAs = roots
	c := untrusted(t, o)
	if got, err := get(c, "https://example.com/"); err != nil || got != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := get(c, "https://example.com/"); !errors.Is(err, fetch.ErrAddress) {
		t.Errorf("got %v: a connection made earlier was used again", err)
	}
}

// FETCH-23
func TestTrustedOriginsCountInDevelopmentOnly(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	for environment, trusted := range map[string]bool{"": false, "production": false, "development": true, "test": true} {
		got, err := get(untrusted(t, fetch.Options{Environment: environment}, s.URL+"/issuer"), s.URL+"/keys")
		if (err == nil && got == "hello") != trusted {
			t.Errorf("PBMB_ENV=%s: got %q, %v", environment, got, err)
		}
	}
}

// FETCH-24
func TestUntrustedErrorsReadAlike(t *testing.T) {
	rec, roots := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/large":
			w.Write(make([]byte, 65_537))
		}
	})
	rec.answers["private.example"] = [][]string{{"10.0.0.1"}}
	o := rec.options("production")
	o.RootCAs = roots
	c := untrusted(t, o)
	for _, address := range []string{
		"https://nowhere.example/", "https://private.example/", "https://example.com/redirect", "https://example.com/large",
		"http://example.com/", "https://wrong-name.example/",
	} {
		_, err := get(c, address)
		var u *fetch.UntrustedError
		if !errors.As(err, &u) {
			t.Errorf("%s: got %T %v", address, err, err)
			continue
		}
		if u.Error() != "the address could not be fetched" || u.Cause == nil {
			t.Errorf("%s: %q, cause %v", address, u.Error(), u.Cause)
		}
	}
}

// FETCH-19, FETCH-22: a client of one provider sends to its origins alone, and
// there too to public addresses alone.
func TestIssuerSendsToItsOriginsOnly(t *testing.T) {
	rec, roots := newServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	rec.answers["example.com"] = [][]string{{"93.184.216.34"}, {"93.184.216.34"}, {"10.0.0.1"}}
	var causes []error
	o := rec.options("production")
	o.RootCAs = roots
	o.Failed = func(_ context.Context, cause error) { causes = append(causes, cause) }
	c, err := fetch.NewIssuer([]string{"https://example.com/tenant"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"https://example.com/", "https://EXAMPLE.com:443/keys"} {
		if got, err := get(c, address); err != nil || got != "hello" {
			t.Errorf("%s: got %q, %v", address, got, err)
		}
	}
	dialed := len(rec.dialed)
	for address, want := range map[string]error{
		"https://other.example/":            fetch.ErrHost,
		"https://example.com:8443/":         fetch.ErrHost,
		"http://example.com/":               fetch.ErrHost,
		"https://example.com.evil.example/": fetch.ErrHost,
		"https://example.com/again":         fetch.ErrAddress,
	} {
		causes = nil
		_, err := get(c, address)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "the address could not be fetched") {
			t.Errorf("%s: got %v, want %v", address, err, want)
		}
		if len(causes) != 1 || !errors.Is(causes[0], want) { // FETCH-24
			t.Errorf("%s: told of %v", address, causes)
		}
	}
	if len(rec.dialed) != dialed {
		t.Errorf("dialed %v", rec.dialed)
	}
}

// FETCH-23
func TestIssuerOnLoopbackAnswersInDevelopmentOnly(t *testing.T) {
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer local.Close()
	for environment, ok := range map[string]bool{"development": true, "test": true, "production": false, "": false} {
		c, err := fetch.NewIssuer([]string{local.URL}, fetch.Options{Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := get(c, local.URL); (err == nil) != ok {
			t.Errorf("%q: %v", environment, err)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://a.example/x", "https://A.example:443/y?z"}: true,
		{"https://a.example", "https://a.example:8443"}:      false,
		{"https://a.example", "http://a.example"}:            false,
		{"https://a.example", "https://b.example"}:           false,
		{"https://a.example", "https://u@a.example"}:         false,
		{"https://a.example", "//a.example"}:                 false,
		{"", ""}:                                             false,
	} {
		if got := fetch.SameOrigin(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v", pair, got)
		}
	}
}
