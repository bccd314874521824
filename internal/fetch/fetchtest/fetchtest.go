// Package fetchtest is the internet of a test: a site of somebody else's that the
// guarded fetcher finds at a public address, under a certificate that the test
// made.
package fetchtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
)

// PublicAddress is where the site's name leads unless a test says otherwise.
const PublicAddress = "93.184.216.34"

// A Site answers https requests for one name, or some.
type Site struct {
	Listen      string // where it really is
	Certificate []byte // PEM; it signs itself

	mu       sync.Mutex
	handler  http.Handler
	resolved []string
	named    []string
	dialed   []string
}

// NewSite starts a site for host names. It answers 404 until [Site.Serve].
func NewSite(t testing.TB, hosts ...string) *Site {
	t.Helper()
	s := &Site{handler: http.NotFoundHandler(), resolved: []string{PublicAddress}}
	certificate := newCertificate(t, hosts)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.Listen = server.Listener.Addr().String()
	s.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	return s
}

// Serve sets what the site answers from now on.
func (s *Site) Serve(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// Resolve sets the addresses that every name has from now on.
func (s *Site) Resolve(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resolved = addresses
}

// Named returns the names whose addresses were asked for so far.
func (s *Site) Named() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.named...)
}

// Dialed returns the addresses that were dialed so far.
func (s *Site) Dialed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.dialed...)
}

// Options are those of production, but for who resolves and who vouches for
// certificates: a public address that passed every check leads to the site.
func (s *Site) Options() fetch.Options {
	o := Options(s.Listen, s.Certificate)
	o.Resolver = resolver(func(host string) []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.named = append(s.named, host)
		return s.resolved
	})
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		s.mu.Lock()
		s.dialed = append(s.dialed, address)
		s.mu.Unlock()
		return dial(ctx, network, address)
	}
	return o
}

// Options are [Site.Options] for a site of another process.
func Options(listen string, certificate []byte) fetch.Options {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return fetch.Options{
		Environment: "production",
		RootCAs:     roots,
		Resolver:    resolver(func(string) []string { return []string{PublicAddress} }),
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, listen)
		},
	}
}

type resolver func(host string) []string

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasSuffix(host, ".invalid") {
		return nil, errors.New("no such host")
	}
	var addresses []netip.Addr
	for _, a := range r(host) {
		addresses = append(addresses, netip.MustParseAddr(a))
	}
	return addresses, nil
}

func newCertificate(t testing.TB, hosts []string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
