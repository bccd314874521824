package protocol

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxForm   = 16 << 10
	maxFields = 12 // OAUTH-23
)

// ReadForm reads a form that a client posted (RFC 6749 section 3.2) as it came,
// repeated fields included: [Form.Single] refuses these.
func ReadForm(r *http.Request) (Form, error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/x-www-form-urlencoded" {
		return Form{}, InvalidRequest("The body must be application/x-www-form-urlencoded.")
	}
	if r.URL.RawQuery != "" {
		return Form{}, InvalidRequest("Parameters must be in the body, not in the address.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxForm))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return Form{}, InvalidRequest("The body is too large.")
	} else if err != nil {
		return Form{}, InvalidRequest("The body could not be read.")
	}
	if strings.Count(string(body), "&") >= maxFields {
		return Form{}, InvalidRequest("The form has too many fields.")
	}
	// Unlike Request.ParseForm this refuses semicolons and broken escapes.
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return Form{}, InvalidRequest("The form is malformed.")
	}
	return Form{values: values, authorization: r.Header.Get("Authorization"), request: r}, nil
}

// A Form is what a client posted.
type Form struct {
	values        url.Values
	authorization string
	request       *http.Request
}

// All gives every value of a field.
func (f Form) All(name string) []string { return f.values[name] }

// Single gives the known fields, of which each may come once. Unknown fields
// are left out, repeated ones refused whether known or not, so that no two
// readers can see different values. Empty fields count as absent.
//
// A public client may name itself in a Basic header with an empty password
// instead of client_id: some client libraries try that first.
func (f Form) Single(known ...string) (url.Values, error) {
	values, err := single(f.values, known)
	if err != nil || f.authorization == "" {
		return values, err
	}
	id, password, ok := f.request.BasicAuth()
	id, unescapeErr := url.QueryUnescape(id)
	if !ok || unescapeErr != nil || id == "" || password != "" ||
		(values.Has("client_id") && values.Get("client_id") != id) {
		return nil, ErrInvalidClient
	}
	values.Set("client_id", id)
	return values, nil
}

// SingleQuery reads a query string as [Form.Single] reads a form.
func SingleQuery(rawQuery string, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, InvalidRequest("The query is malformed.")
	}
	return single(values, known)
}

func single(values url.Values, known []string) (url.Values, error) {
	for name, all := range values {
		if len(all) == 1 {
			continue
		}
		if name == "resource" {
			return nil, ErrInvalidTarget
		}
		return nil, InvalidRequest("A parameter is given more than once.")
	}
	out := url.Values{}
	for _, name := range known {
		if value := values.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out, nil
}
