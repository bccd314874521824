package sample

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// An entraError is an answer of Entra's that says no.
type entraError struct {
	status      int
	code        string // of OAuth
	number      int    // of AADSTS
	description string
}

func entraErrorf(status int, code string, number int, format string, args ...any) *entraError {
	return &entraError{status: status, code: code, number: number, description: fmt.Sprintf(format, args...)}
}

// text is the description as Entra words it, with its trailer.
func (e *entraError) text(trace, correlation string, now time.Time) string {
	return fmt.Sprintf("AADSTS%d: %s Trace ID: %s Correlation ID: %s Timestamp: %s",
		e.number, e.description, trace, correlation, entraTime(now))
}

func entraTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// write answers as the token endpoint does.
func (e *entraError) write(w http.ResponseWriter, now time.Time) {
	trace, correlation := uuid.NewString(), uuid.NewString()
	noStore(w)
	writeJSON(w, e.status, object{
		"error":             e.code,
		"error_description": e.text(trace, correlation, now),
		"error_codes":       []int{e.number},
		"timestamp":         entraTime(now),
		"trace_id":          trace,
		"correlation_id":    correlation,
		"error_uri":         fmt.Sprintf("https://login.microsoftonline.com/error?code=%d", e.number),
	})
}

// The mistakes that occur in more than one place.
func errUnknownClient(client string) *entraError {
	return entraErrorf(400, "unauthorized_client", 700016,
		"Application with identifier '%s' was not found in the directory 'Tarnwick Outfitters'.", client)
}

func errDisabled() *entraError {
	return entraErrorf(400, "invalid_grant", 50057, "The user account is disabled.")
}
