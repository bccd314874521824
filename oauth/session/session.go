// Package session is a browser's session: its cookie, reading it, and ending
// it. A session starts where somebody signs in (package signin); what a caller
// with one may do is resolved by package authn.
package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// Cookie holds the session's secret. The prefix keeps other hosts of the domain
// from setting it, and browsers from sending it anywhere else.
const Cookie = "__Host-pbmb"

// Life is how long a session lasts; use does not extend it (SIGNIN-22).
const Life = 12 * time.Hour

// Secret gives the session's secret that a request brings, or "".
func Secret(r *http.Request) string {
	c, err := r.Cookie(Cookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie hands a browser its session.
func SetCookie(w http.ResponseWriter, secret string, expires time.Time) {
	cookie := newCookie(secret)
	cookie.Expires = expires
	http.SetCookie(w, cookie)
}

func dropCookie(w http.ResponseWriter) {
	cookie := newCookie("")
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}

func newCookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: Cookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// A Store keeps sessions by the digest of their secret.
type Store interface {
	// Session returns [postgres.ErrNotFound] for an unknown or expired session.
	Session(ctx context.Context, digest []byte, at time.Time) (*store.Session, error)
	// EndSession ends a session; one that has ended is no error.
	EndSession(ctx context.Context, digest []byte) error
}

// Handlers serves what a session may do with itself, whether a role reaches its
// person or not (SIGNIN-26).
type Handlers struct {
	store Store
	now   func() time.Time
	log   *slog.Logger
}

// New returns the handlers.
func New(st Store, now func() time.Time, log *slog.Logger) *Handlers {
	return &Handlers{store: st, now: now, log: log}
}

// Routes lists them.
func (h *Handlers) Routes() []protocol.Route {
	return []protocol.Route{
		{
			Method: http.MethodGet, Path: "/api/auth/session", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.read,
		},
		{
			Method: http.MethodPost, Path: "/api/auth/sign-out", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.signOut,
		},
	}
}

// Own reads the session of a request, or answers for it: 401 where there is
// none, 503 where that cannot be known.
func (h *Handlers) Own(w http.ResponseWriter, r *http.Request) (*store.Session, bool) {
	own, err := h.store.Session(r.Context(), store.Digest(Secret(r)), h.now())
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		protocol.WriteProblem(w, http.StatusUnauthorized, "Sign in first.")
		return nil, false
	case err != nil:
		unexpected.Log(r.Context(), h.log, "reading a session", err)
		protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
		return nil, false
	}
	return own, true
}

func (h *Handlers) read(w http.ResponseWriter, r *http.Request) {
	own, ok := h.Own(w, r)
	if !ok {
		return
	}
	protocol.WriteJSON(w, http.StatusOK, struct {
		PersonID  string    `json:"person_id"`
		Email     string    `json:"email"`
		Name      string    `json:"name"`
		Provider  string    `json:"provider"`
		ExpiresAt time.Time `json:"expires_at"`
	}{own.PersonID, own.Email, own.Name, own.Provider, own.ExpiresAt})
}

func (h *Handlers) signOut(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.Own(w, r); !ok {
		return
	}
	if err := h.store.EndSession(r.Context(), store.Digest(Secret(r))); err != nil {
		unexpected.Log(r.Context(), h.log, "ending a session", err)
		protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
		return
	}
	dropCookie(w)
	w.WriteHeader(http.StatusNoContent)
}
