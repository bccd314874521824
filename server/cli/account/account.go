package account

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// How long an answer may take, and how large it may be. A query may run for two
// minutes on the other side.
const (
	timeout   = 3 * time.Minute
	maxAnswer = 64 << 20
)

// An Account is somebody at a deployment.
type Account struct {
	URL string // scheme and host

	token  string // of the environment; empty where the file has one
	file   *File
	client *http.Client
	agent  string
	now    func() time.Time
}

// Choose decides which deployment is meant (CLI-02): the flag, then PBMB_URL, then
// the one of the last login. It is not an error that none is: see [Account.Call].
func Choose(flag string, getenv func(string) string, file *File, agent string) (*Account, error) {
	given := cmp.Or(flag, getenv("PBMB_URL"))
	if given == "" {
		known, err := file.read()
		if err != nil {
			return nil, err
		}
		given = known.Last
	}
	a := &Account{
		token: getenv("PBMB_TOKEN"), file: file, agent: agent, now: time.Now,
		client: &http.Client{
			Timeout: timeout,
			// A token is sent to the deployment that was named and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if given == "" {
		return a, nil
	}
	var err error
	a.URL, err = deployment(given)
	return a, err
}

// deployment is an address as entries are kept under it.
func deployment(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", &AddressError{fmt.Sprintf("%q is no address of a deployment: write a scheme and a host, such as https://pbmb.example.com", given)}
	}
	if u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		return "", &AddressError{given + " is not encrypted, and a token would travel over it: use https"}
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host), nil
}

// Call sends a request to the deployment as whoever is signed in there, and
// returns the JSON of a success. Other errors than [ErrNotSignedIn] are
// [*Problem], [*UnreachableError], or say what is wrong on this side.
func (a *Account) Call(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	if a.URL == "" && a.token != "" {
		return nil, &AddressError{"PBMB_TOKEN does not say which deployment it is for: name that with --url or PBMB_URL"}
	}
	if a.URL == "" {
		return nil, fmt.Errorf("%w: run pbmb login --url https://your-deployment first", ErrNotSignedIn)
	}
	token, err := a.bearer(ctx)
	if err != nil {
		return nil, err
	}
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding a request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	address := a.URL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, payload)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if payload != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	raw, err := a.send(r)
	if a.token != "" && errors.Is(err, ErrNotSignedIn) {
		return nil, fmt.Errorf("%w at %s: it does not take the token in PBMB_TOKEN", ErrNotSignedIn, a.URL)
	}
	return raw, err
}

func (a *Account) send(r *http.Request) (json.RawMessage, error) {
	r.Header.Set("Accept", "application/json, application/problem+json")
	r.Header.Set("User-Agent", a.agent)
	response, err := a.client.Do(r)
	if err != nil {
		return nil, a.unreachable(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, a.unreachable(err)
	case len(raw) > maxAnswer:
		return nil, errors.New("the answer is over 64 MiB")
	case response.StatusCode == http.StatusOK && json.Valid(raw):
		return raw, nil
	}
	return nil, a.problem(response, raw)
}

func (a *Account) unreachable(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which may be long and is said already
	}
	return &UnreachableError{URL: a.URL, Cause: err}
}

// problem reads an answer that reports failure. Something in front of the
// deployment may have written it, so nothing of its form is taken for granted.
func (a *Account) problem(response *http.Response, raw []byte) error {
	p := &Problem{}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "application/problem+json" {
		_ = json.Unmarshal(raw, p) // what it does not fill is filled below
	}
	p.Status = response.StatusCode
	p.RequestID = cmp.Or(p.RequestID, response.Header.Get("X-Request-Id"))
	if p.Detail == "" {
		p.Detail = fmt.Sprintf("%s answered %s, and not as pbmb does.", a.URL, response.Status)
		p.Next = "Check that this is the address of a deployment."
	}
	if p.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w at %s, or not any more: run pbmb login", ErrNotSignedIn, a.URL)
	}
	return p
}
