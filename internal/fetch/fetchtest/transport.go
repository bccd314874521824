package fetchtest

import "net/http"

// RefuseDefaultTransport has every request fail the test run that leaves by
// http.DefaultTransport, as one does of a library that was given no client. It is
// for TestMain. The test's own requests go through [Transport].
func RefuseDefaultTransport() { http.DefaultTransport = refusing{} }

// Transport is for the browsers and clients that a test plays.
var Transport http.RoundTripper = &http.Transport{}

type refusing struct{}

// RoundTrip panics, so that nobody can take it for an answer that did not come.
func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	panic("fetchtest: a request left by http.DefaultTransport, past internal/fetch: " + r.Method + " " + r.URL.Redacted())
}
