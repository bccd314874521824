package operation

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An ErrorKind is one of the kinds of error that callers can be told.
type ErrorKind string

const (
	Invalid            ErrorKind = "invalid"
	Unauthenticated    ErrorKind = "unauthenticated"
	Forbidden          ErrorKind = "forbidden"
	NotFound           ErrorKind = "not_found"
	Conflict           ErrorKind = "conflict"
	PIIRefused         ErrorKind = "pii_refused"
	ConnectionRequired ErrorKind = "connection_required"
	ReconnectRequired  ErrorKind = "reconnect_required"
	RateLimited        ErrorKind = "rate_limited"
	BudgetExceeded     ErrorKind = "budget_exceeded"
	TooLarge           ErrorKind = "too_large"
	Upstream           ErrorKind = "upstream"
	Timeout            ErrorKind = "timeout"
	Unavailable        ErrorKind = "unavailable"
	Internal           ErrorKind = "internal"
)

// statuses has the HTTP status of each kind, in the order of the specification.
var statuses = []struct {
	kind   ErrorKind
	status int
}{
	{Invalid, http.StatusBadRequest},
	{Unauthenticated, http.StatusUnauthorized},
	{Forbidden, http.StatusForbidden},
	{NotFound, http.StatusNotFound},
	{Conflict, http.StatusConflict},
	{PIIRefused, http.StatusForbidden},
	{ConnectionRequired, http.StatusConflict},
	{ReconnectRequired, http.StatusConflict},
	{RateLimited, http.StatusTooManyRequests},
	{BudgetExceeded, http.StatusTooManyRequests},
	{TooLarge, http.StatusRequestEntityTooLarge},
	{Upstream, http.StatusBadGateway},
	{Timeout, http.StatusGatewayTimeout},
	{Unavailable, http.StatusServiceUnavailable},
	{Internal, http.StatusInternalServerError},
}

// ErrorKinds returns all kinds.
func ErrorKinds() []ErrorKind {
	kinds := make([]ErrorKind, len(statuses))
	for i, s := range statuses {
		kinds[i] = s.kind
	}
	return kinds
}

// Status returns the HTTP status of a kind.
func (k ErrorKind) Status() int {
	for _, s := range statuses {
		if s.kind == k {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// An Error is what a caller is told. Its texts are meant for them; what caused it
// is for the log alone.
type Error struct {
	Kind     ErrorKind
	Sentence string // one sentence: what is wrong
	Next     string // what to do next; empty where there is nothing to do

	// Names are references that help: the valid arguments, the nearest visible
	// names, the elements that a refusal is about.
	Names []string

	// Upstream is Power BI's own sentence, which travels in a field of its own
	// and never inside Sentence.
	Upstream string

	RetryAfter time.Duration // of rate_limited and unavailable; zero where not known

	// Detail is for the audit row of a refusal; it is not shown.
	Detail map[string]any

	Cause error
}

func (e *Error) Error() string {
	text := string(e.Kind) + ": " + e.Sentence
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// Text returns the sentence, what to do next and the request id as one text, as
// the connector and the command line show it.
func (e *Error) Text(requestID string) string {
	var b strings.Builder
	b.WriteString(e.Sentence)
	if e.Next != "" {
		b.WriteString(" " + e.Next)
	}
	if requestID != "" {
		b.WriteString(" (request " + requestID + ")")
	}
	return b.String()
}

// Invalidf returns an error of the kind invalid.
func Invalidf(next, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Sentence: fmt.Sprintf(format, args...), Next: next}
}

// Missing is the one answer for what does not exist, what the caller may not see
// and what is personal data that they may not read. Near holds the nearest names
// that the caller can see, best first; they go along as data, since others chose
// them (MCP-17).
func Missing(what, name string, near []string) *Error {
	e := &Error{Kind: NotFound, Sentence: fmt.Sprintf("No %s named %q is visible to you.", what, name), Names: near}
	if len(near) > 0 {
		e.Next = "Names that are like it stand beside this in names."
	} else {
		e.Next = "Look it up with search or a list first."
	}
	return e
}

// problem returns what a caller is told of err, which is [*Error] itself where
// the operation meant one, and a fixed sentence for everything else.
func problem(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Sentence: "Something went wrong on our side.", Next: "Try again; if it stays, tell an admin the request id.", Cause: err}
}
