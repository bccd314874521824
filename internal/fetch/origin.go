package fetch

import (
	"errors"
	"net/url"
	"strings"
)

// An origin is what a request is allowed by: scheme, host and port.
type origin struct {
	scheme, host, port string
}

func (o origin) String() string { return o.scheme + "://" + o.host + ":" + o.port }

func parseOrigin(address string) (origin, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The error of the parser repeats the address, which may hold a password.
		return origin{}, errors.New("is not a URL")
	}
	return originOf(u)
}

func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	switch {
	case u.User != nil:
		return origin{}, errors.New("has user information")
	case u.Opaque != "" || o.host == "":
		return origin{}, errors.New("has no host")
	case o.scheme != "https" && o.scheme != "http":
		return origin{}, ErrScheme
	}
	if o.port == "" {
		o.port = "443"
		if o.scheme == "http" {
			o.port = "80"
		}
	}
	return o, nil
}
