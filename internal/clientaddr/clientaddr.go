// Package clientaddr finds the address that a request came from, which rate
// limits count against and the audit keeps. Nothing that a client can send
// chooses it: only the operator's own proxy is believed.
package clientaddr

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ErrUnknown is returned, wrapped, for a request whose address cannot be told.
// It is refused, since it could not be counted.
var ErrUnknown = errors.New("the client's address cannot be told")

// RealIP is the one value of CLIENT_ADDRESS_HEADER.
const RealIP = "x-real-ip"

// A Resolver finds addresses as the operator configured it. The zero value
// takes the connection's own.
type Resolver struct {
	trusted netip.Prefix // of the proxy; not valid where there is none
	realIP  bool
}

// New reads the settings TRUSTED_PROXY, one address or range, and
// CLIENT_ADDRESS_HEADER. Both may be empty; not both may be set.
func New(trustedProxy, header string) (*Resolver, error) {
	r := &Resolver{}
	switch header {
	case "":
	case RealIP:
		if trustedProxy != "" {
			return nil, errors.New("CLIENT_ADDRESS_HEADER and TRUSTED_PROXY exclude each other: set one of them")
		}
		r.realIP = true
	default:
		return nil, fmt.Errorf("CLIENT_ADDRESS_HEADER can only be %s, not %q", RealIP, header)
	}
	if trustedProxy != "" {
		prefix, err := ParseRange(trustedProxy)
		if err != nil {
			return nil, fmt.Errorf("TRUSTED_PROXY: %w", err)
		}
		r.trusted = prefix
	}
	return r, nil
}

// Address is the client's address, without port or zone, and of an IPv4 client
// always in its IPv4 form.
func (r *Resolver) Address(req *http.Request) (netip.Addr, error) {
	if r.realIP {
		// The platform's edge sets exactly one; anything else did not pass it.
		values := req.Header.Values("X-Real-IP")
		if len(values) != 1 {
			return netip.Addr{}, fmt.Errorf("%w: the request has %d X-Real-IP headers", ErrUnknown, len(values))
		}
		addr, ok := parseAddress(values[0])
		if !ok {
			return netip.Addr{}, fmt.Errorf("%w: X-Real-IP is not one address", ErrUnknown)
		}
		return addr, nil
	}
	peer, ok := parseAddress(req.RemoteAddr)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%w: the connection has none", ErrUnknown)
	}
	if !r.trusted.IsValid() || !r.trusted.Contains(peer) {
		return peer, nil
	}
	values := req.Header.Values("X-Forwarded-For")
	if len(values) == 0 {
		return peer, nil // the proxy's own request, such as a health check
	}
	// A proxy appends the address it saw. What stands before it the client wrote.
	last := values[len(values)-1]
	last = last[strings.LastIndexByte(last, ',')+1:]
	addr, ok := parseAddress(last)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%w: the last X-Forwarded-For entry is not an address", ErrUnknown)
	}
	return addr, nil
}

// IsProven reports whether addresses come from the operator's own proxy, and so may
// decide who is let in: neither what a platform's edge is only said to set nor a
// proxy that nobody named proves one.
func (r *Resolver) IsProven() bool { return r.trusted.IsValid() }

// parseAddress reads an address with or without a port, an IPv6 one with or
// without brackets.
func parseAddress(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// ParseRange reads one address or one range, in the form in which [Resolver.Address]
// gives addresses. A range of everybody is refused.
func ParseRange(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither an address like 10.0.0.5 nor a range like 10.0.0.0/24", s)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	// An IPv4 range in its IPv6 form, such as ::ffff:10.0.0.0/120.
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	if prefix.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%q is everybody: name fewer", s)
	}
	return prefix.Masked(), nil
}
