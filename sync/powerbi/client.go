package powerbi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Scope is the one permission that we ask a person for at Power BI.
const Scope = "https://analysis.windows.net/powerbi/api/Dataset.Read.All"

// AppScope is what the scanner's token is asked for: whatever was granted to it.
const AppScope = "https://analysis.windows.net/powerbi/api/.default"

// ErrShape is returned, wrapped, for an answer that is not what Power BI documents.
var ErrShape = errors.New("answer of unknown shape")

// ErrUnreachable is returned, wrapped, where Power BI gave no answer, or one that
// broke off.
var ErrUnreachable = errors.New("power bi could not be reached")

// A Client calls Power BI at one address.
type Client struct {
	base string
	http *http.Client
}

// New returns a client for the service at address, such as
// https://api.powerbi.com/v1.0/myorg. Time and size limits are those of h, which
// comes from internal/fetch.
func New(address string, h *http.Client) *Client {
	return &Client{base: strings.TrimRight(address, "/"), http: h}
}

// An Error is a refusal by Power BI, with a status of its own or inside a 200.
type Error struct {
	Status     int
	Code       string        // such as DatasetExecuteQueriesError; may be empty
	Message    string        // Power BI's sentence, which may quote values of a model: not for logs
	RetryAfter time.Duration // of a 429, where Power BI said how long
	RequestID  string        // Power BI's own id of the request, for its support
}

// Error leaves out the message: it may hold what the reader of a log must not see.
func (e *Error) Error() string {
	return strings.TrimRight(fmt.Sprintf("power bi answered %d %s", e.Status, e.Code), " ")
}

// Unseen reports whether Power BI let this identity see the thing at all: it
// answers 401, 403 and 404 alike for what is missing and for what is not allowed.
func (e *Error) Unseen() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound
}

// Throttled reports whether the same request may succeed later.
func (e *Error) Throttled() bool { return e.Status == http.StatusTooManyRequests }

// open sends a request and returns the body of a successful answer, its byte
// order mark taken off.
func (c *Client) open(ctx context.Context, token, method, path string, in any) (*answer, error) {
	var content io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	a := &answer{Reader: bufio.NewReaderSize(resp.Body, 64<<10), status: resp.StatusCode, requestID: resp.Header.Get("RequestId"), close: resp.Body.Close}
	if mark, _ := a.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = a.Discard(3) // they have been peeked at
	}
	if resp.StatusCode/100 != 2 {
		defer a.close()
		return nil, a.refusal(resp.Header)
	}
	return a, nil
}

// get reads the answer to one request into out.
func (c *Client) get(ctx context.Context, token, path string, out any) error {
	return c.exchange(ctx, token, http.MethodGet, path, nil, out)
}

func (c *Client) exchange(ctx context.Context, token, method, path string, in, out any) error {
	a, err := c.open(ctx, token, method, path, in)
	if err != nil {
		return err
	}
	defer a.close()
	if err := json.NewDecoder(a).Decode(out); err != nil {
		return a.unreadable(err)
	}
	return nil
}

type answer struct {
	*bufio.Reader
	status    int
	requestID string
	close     func() error
}

func (a *answer) refusal(h http.Header) error {
	e := &Error{Status: a.status, RequestID: a.requestID}
	var body struct{ Error fault }
	// A gateway in front of Power BI answers without JSON: then the status is all.
	if json.NewDecoder(a).Decode(&body) == nil {
		e.Code, e.Message = body.Error.code(), body.Error.message()
	}
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s >= 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// unreadable keeps the error of the connection, and drops that of the decoder,
// which quotes what it read.
func (a *answer) unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, ErrShape) {
		return fmt.Errorf("power bi answered %d: %w", a.status, ErrShape)
	}
	return fmt.Errorf("%w: its answer broke off: %w", ErrUnreachable, err)
}

// A fault is an error as Power BI spells it, in its older and in its newer form.
type fault struct {
	Code    string
	Message string
	PowerBI struct {
		Code    string
		Details []struct {
			Code   string
			Detail struct{ Value json.RawMessage }
		}
	} `json:"pbi.error"`
}

func (f *fault) code() string {
	if f.Code != "" {
		return f.Code
	}
	return f.PowerBI.Code
}

func (f *fault) message() string {
	for _, d := range f.PowerBI.Details {
		var s string
		if d.Code == "DetailsMessage" && json.Unmarshal(d.Detail.Value, &s) == nil && s != "" {
			return s
		}
	}
	return f.Message
}
