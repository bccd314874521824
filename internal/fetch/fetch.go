package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Errors by which a request is refused or ended.
var (
	// ErrHost is returned for an address that is not on the client's list.
	ErrHost = errors.New("host is not on the list of this client")

	// ErrScheme is returned for a request that would not be encrypted.
	ErrScheme = errors.New("only https is allowed")

	// ErrAddress is returned where a name resolves to an address that this
	// client does not dial.
	ErrAddress = errors.New("address is not allowed")

	// ErrRedirect is returned for an answer that points elsewhere.
	ErrRedirect = errors.New("answered with a redirect")

	// ErrTooLarge is returned by the read of a body that goes past the limit.
	ErrTooLarge = errors.New("answer is too large")

	// ErrEncoding is returned for a body in an encoding that was not asked for.
	ErrEncoding = errors.New("answer has an unknown encoding")

	// ErrTimeout is returned when the time limit of the client has passed.
	ErrTimeout = errors.New("took too long")
)

// A Resolver finds the addresses of a name. [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what the two profiles have in common. The zero value is the one
// for production.
type Options struct {
	// Environment is the value of PBMB_ENV. In development and test, http and
	// loopback addresses are allowed where the operator configured them.
	Environment string

	// Timeout limits a whole exchange, the reading of the body included.
	// 30 seconds where it is zero.
	Timeout time.Duration

	// MaxBytes limits a body after decompression. 16 MiB where it is zero.
	MaxBytes int64

	// KeepRedirects hands a redirect to the caller, unfollowed, where it is an
	// error otherwise. It is for the demo's visits to itself and means nothing
	// outside of development and test.
	KeepRedirects bool

	// RootCAs are trusted in the place of the system's where they are set.
	RootCAs *x509.CertPool

	// Failed is told why a request of the untrusted profile failed, since its error
	// does not say; ctx is the request's. It may be nil.
	Failed func(ctx context.Context, cause error)

	// Resolver and Dial are replaced by tests. Dial is called with an address
	// that has been checked, never with a name.
	Resolver Resolver
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 16 << 20

	untrustedTimeout  = 5 * time.Second
	untrustedMaxBytes = 64 << 10
)

func (o Options) local() bool {
	return o.Environment == "development" || o.Environment == "test"
}

// NewFixed returns a client that sends only to the origins (scheme, host and
// port) of the given addresses. It does not care whether a name resolves to a
// private address, since private endpoints of these services do: the list is the
// control.
func NewFixed(addresses []string, o Options) (*http.Client, error) {
	allowed := make(map[string]bool, len(addresses))
	for _, address := range addresses {
		origin, err := parseOrigin(address)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", address, err)
		}
		if origin.scheme != "https" && !o.local() {
			return nil, fmt.Errorf("address %q: %w", address, ErrScheme)
		}
		allowed[origin.String()] = true
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	dialable := dialableFixed
	if o.local() {
		dialable = func(netip.Addr) bool { return true }
	}
	return &http.Client{
		Transport: &guard{
			next:      newTransport(o, dialable),
			timeout:   o.Timeout,
			limit:     o.MaxBytes,
			redirects: o.KeepRedirects && o.local(),
			check: func(r origin) error {
				if !allowed[r.String()] {
					return ErrHost
				}
				return nil
			},
		},
		// Only a redirect that was kept gets here.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// NewUntrusted returns a client for addresses that a client or an admin typed:
// https, 5 seconds, 64 KiB and public addresses only, checked and pinned for each
// request. In development and test the origins of trusted may be plain http or
// loopback; production trusts none.
//
// Every error of such a client is an [*UntrustedError], whose text is the same
// whatever went wrong.
func NewUntrusted(trusted []string, o Options) (*http.Client, error) {
	return newUntrusted(trusted, nil, o)
}

// NewIssuer returns a client of the untrusted profile for one sign-in provider:
// it sends to the origins of the given addresses and nowhere else. They are the
// provider's own, so that in development and test they may be plain http or
// loopback.
func NewIssuer(addresses []string, o Options) (*http.Client, error) {
	only := make(map[string]bool, len(addresses))
	for _, address := range addresses {
		origin, err := parseOrigin(address)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", address, err)
		}
		only[origin.String()] = true
	}
	return newUntrusted(addresses, only, o)
}

// newUntrusted limits the client to the origins in only, where that is not nil.
func newUntrusted(trusted []string, only map[string]bool, o Options) (*http.Client, error) {
	exempt := make(map[string]bool, len(trusted))
	if o.local() {
		for _, address := range trusted {
			origin, err := parseOrigin(address)
			if err != nil {
				return nil, fmt.Errorf("address %q: %w", address, err)
			}
			exempt[origin.String()] = true
		}
	}
	if o.Timeout == 0 {
		o.Timeout = untrustedTimeout
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = untrustedMaxBytes
	}
	public := newTransport(o, isPublic)
	anywhere := newTransport(o, func(netip.Addr) bool { return true })
	// A connection that is kept would answer for an address checked earlier.
	public.DisableKeepAlives = true
	anywhere.DisableKeepAlives = true

	return &http.Client{Transport: untrusted{failed: o.Failed, next: &guard{
		next: roundTripper(func(r *http.Request) (*http.Response, error) {
			if o, err := originOf(r.URL); err == nil && exempt[o.String()] {
				return anywhere.RoundTrip(r)
			}
			return public.RoundTrip(r)
		}),
		timeout: o.Timeout,
		limit:   o.MaxBytes,
		check: func(r origin) error {
			switch {
			case only != nil && !only[r.String()]:
				return ErrHost
			case r.scheme != "https" && !exempt[r.String()]:
				return ErrScheme
			}
			return nil
		},
	}}}, nil
}

// SameOrigin reports whether two addresses have scheme, host and port in common.
func SameOrigin(a, b string) bool {
	x, err := parseOrigin(a)
	if err != nil {
		return false
	}
	y, err := parseOrigin(b)
	return err == nil && x == y
}

func newTransport(o Options, allowed func(netip.Addr) bool) *http.Transport {
	d := &dialer{resolver: o.Resolver, dial: o.Dial, allowed: allowed}
	return &http.Transport{
		Proxy:                  nil, // a proxy would take the address check out of our hands
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs},
		DialContext:            d.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
