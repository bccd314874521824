package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// A dialer resolves a name once, checks every address that came back, and dials
// exactly those: a name whose answer changes in between gains nothing.
type dialer struct {
	resolver Resolver
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	allowed  func(netip.Addr) bool
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if a.Zone() != "" || !d.allowed(a.Unmap()) {
			return nil, fmt.Errorf("%s is %s: %w", host, a, ErrAddress)
		}
	}
	dial := d.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	var first error
	for _, a := range addrs {
		conn, err := dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var r Resolver = net.DefaultResolver
	if d.resolver != nil {
		r = d.resolver
	}
	addrs, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("resolving %s: no address", host)
	}
	return addrs, nil
}

// translated is NAT64's prefix: an IPv4 address is in its last four bytes.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// dialableFixed refuses the addresses at which no configured service can be, but
// at which something of this machine or its cloud listens.
func dialableFixed(a netip.Addr) bool {
	if translated.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return !a.IsLoopback() && !a.IsUnspecified() && !a.IsMulticast() &&
		!a.IsLinkLocalUnicast() && !a.IsLinkLocalMulticast() && !a.IsInterfaceLocalMulticast()
}

// globalV6 is all that has been handed out of IPv6. What is special within it is
// in special; mapped, translated and local forms are outside.
var globalV6 = netip.MustParsePrefix("2000::/3")

// special are the blocks of the registries of special-purpose addresses that
// are not reachable from everywhere, or that carry another address in them.
var special = func() []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	} {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}()

func isPublic(a netip.Addr) bool {
	if !a.Is4() && !globalV6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
