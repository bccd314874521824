package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// A guard is the transport in which every rule but those on addresses is kept.
type guard struct {
	next      http.RoundTripper
	check     func(origin) error
	timeout   time.Duration
	limit     int64
	redirects bool // hand them to the caller
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := originOf(r.URL)
	if err == nil {
		err = g.check(to)
	}
	if err == nil && r.Host != "" && r.Host != r.URL.Host {
		err = ErrHost // another name in the Host header reaches another site behind the same door
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("%s %s://%s: %w", r.Method, r.URL.Scheme, r.URL.Hostname(), err)
	}

	ctx, cancel := context.WithTimeoutCause(r.Context(), g.timeout, ErrTimeout)
	r = r.Clone(ctx)
	// Only an encoding that the transport asked for itself is undone by it, and
	// the limit is on the bytes after that.
	r.Header.Del("Accept-Encoding")
	r.Header.Del("Range")

	resp, err := g.next.RoundTrip(r)
	if err != nil {
		err = ended(ctx, err)
		cancel()
		return nil, err
	}
	refused := func(err error) (*http.Response, error) {
		cancel()
		resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %w", r.Method, to.host, err)
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified && !g.redirects:
		return refused(ErrRedirect)
	case resp.Header.Get("Content-Encoding") != "":
		return refused(ErrEncoding)
	case resp.ContentLength > g.limit:
		return refused(ErrTooLarge)
	}
	resp.Body = &body{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, left: g.limit}
	return resp, nil
}

// ended names the time limit as the reason where that is what ended the exchange.
func ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return fmt.Errorf("%w: %w", ErrTimeout, context.DeadlineExceeded)
	}
	return err
}

// A body stops at the limit: it has read one byte more at that point, no further.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		err = ended(b.ctx, err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.cancel)
	return err
}

// An UntrustedError says only that something failed, since what it was would map
// the inside of our network for whoever chose the address. The cause is for the log.
type UntrustedError struct{ Cause error }

func (*UntrustedError) Error() string { return "the address could not be fetched" }

func (e *UntrustedError) Unwrap() error { return e.Cause }

type untrusted struct {
	next   *guard
	failed func(context.Context, error) // may be nil
}

func (u untrusted) RoundTrip(r *http.Request) (*http.Response, error) {
	fail := func(err error) error {
		if u.failed != nil {
			u.failed(r.Context(), err)
		}
		return &UntrustedError{err}
	}
	resp, err := u.next.RoundTrip(r)
	if err != nil {
		return nil, fail(err)
	}
	resp.Body = untrustedBody{resp.Body, fail}
	return resp, nil
}

type untrustedBody struct {
	io.ReadCloser
	fail func(error) error
}

func (b untrustedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.fail(err)
	}
	return n, err
}
