package protocol

import (
	"encoding/json"
	"errors"
	"net/http"
)

// An Error is an OAuth error response (RFC 6749 section 5.2). Its description
// is a fixed sentence that repeats nothing of the request.
type Error struct {
	Code        string
	Description string
	Status      int
}

func (e *Error) Error() string { return e.Code + ": " + e.Description }

// Is makes errors of one code alike, whatever their sentence.
func (e *Error) Is(target error) bool {
	t, ok := errors.AsType[*Error](target)
	return ok && t.Code == e.Code
}

// The errors that clients act on: some throw away their registration or their
// tokens on one of them, so each is used for exactly its meaning.
var (
	ErrInvalidClient        = &Error{"invalid_client", "The client is not known.", http.StatusUnauthorized}
	ErrInvalidGrant         = &Error{"invalid_grant", "The code or token is not valid, was used before, or belongs to another client.", http.StatusBadRequest}
	ErrInvalidScope         = &Error{"invalid_scope", "The scope is unknown or goes beyond what was granted.", http.StatusBadRequest}
	ErrInvalidTarget        = &Error{"invalid_target", "The resource is missing, repeated, malformed, or not one that this client may ask for.", http.StatusBadRequest}
	ErrUnauthorizedClient   = &Error{"unauthorized_client", "The client may not use this grant type.", http.StatusBadRequest}
	ErrUnsupportedGrantType = &Error{"unsupported_grant_type", "The grant type is not supported.", http.StatusBadRequest}
	ErrUnsupportedResponse  = &Error{"unsupported_response_type", "The response type must be code.", http.StatusBadRequest}
	ErrAccessDenied         = &Error{"access_denied", "The request was denied.", http.StatusBadRequest}
	ErrAuthorizationPending = &Error{"authorization_pending", "Nobody has answered yet. Ask again after the interval.", http.StatusBadRequest}
	ErrSlowDown             = &Error{"slow_down", "This comes too soon after the last time. Wait longer.", http.StatusBadRequest}
	ErrExpiredToken         = &Error{"expired_token", "Nobody answered in time. Start again.", http.StatusBadRequest}
	ErrUnavailable          = &Error{"temporarily_unavailable", "The server cannot answer at the moment. Try again.", http.StatusServiceUnavailable}
	ErrServer               = &Error{"server_error", "The server could not answer.", http.StatusInternalServerError}
)

// InvalidRequest is an invalid_request with a sentence that says what is wrong.
func InvalidRequest(description string) *Error {
	return &Error{"invalid_request", description, http.StatusBadRequest}
}

// AsError gives the OAuth error in err, or server_error where there is none.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return ErrServer
}

// WriteError answers with an OAuth error.
func WriteError(w http.ResponseWriter, err error) {
	e := AsError(err)
	if e.Code == ErrInvalidClient.Code {
		w.Header().Set("WWW-Authenticate", `Basic realm="pbmb"`)
	}
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	WriteJSON(w, e.Status, map[string]string{"error": e.Code, "error_description": e.Description})
}

// WriteJSON answers with a body that nobody may keep.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client went away: nobody is left to tell
}

// WriteProblem answers with problem details (RFC 9457), as the rest of the API
// does.
func WriteProblem(w http.ResponseWriter, status int, detail string) {
	WriteCodedProblem(w, status, "", detail)
}

// WriteCodedProblem is [WriteProblem] with a code, for which a page has a
// sentence of its own.
func WriteCodedProblem(w http.ResponseWriter, status int, code, detail string) {
	problem := map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	if code != "" {
		problem["code"] = code
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem) // as above
}
