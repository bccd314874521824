package connection

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/connection/db"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/policies"
)

// The paths of the two steps.
const (
	StartPath    = "/api/v1/me/connection/start"
	CallbackPath = "/api/connect/callback"
)

const stateLife = 10 * time.Minute

// What the page that the browser returns to is told, in the parameter power_bi.
const (
	codeConnected = "connected"
	codePending   = "groups_pending" // connected, but the groups could not be read yet
	codeExpired   = "expired"        // the state is unknown, spent or too old
	codeRefused   = "refused"        // Entra or its answer was not accepted
	codeNotOwn    = "not_own"        // only one's own account may be connected, and this is not known to be it
	codeFailed    = "unavailable"    // worth another try
)

// A Sessions resolves a request by its browser session alone. [authn.Authn] is one.
type Sessions interface {
	Session(*http.Request) (*policies.Principal, error)
}

// A Handler serves the steps of connecting an account.
type Handler struct {
	Connections *Connections
	Sessions    Sessions
	Site        protocol.Site
	Audit       *audit.Writer

	// SafeNext gives the page to return to: next where it is one of ours.
	SafeNext func(next string) string
}

// Routes lists them.
func (h *Handler) Routes() []protocol.Route {
	limit := protocol.PerMinute("connect", 60)
	return []protocol.Route{
		{Method: http.MethodGet, Path: StartPath, Access: protocol.WithRole, Limit: limit, Handler: h.start},
		{Method: http.MethodGet, Path: CallbackPath, Access: protocol.WithRole, Limit: limit, Handler: h.callback},
	}
}

func (h *Handler) start(w http.ResponseWriter, r *http.Request) {
	p, ok := h.caller(w, r)
	if !ok {
		return
	}
	next := h.SafeNext(r.URL.Query().Get("next"))
	state, nonce, verifier := rand.Text()+rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	if err := h.Connections.keepState(r.Context(), p.Credential, state, nonce, verifier, next); err != nil {
		h.back(w, r, next, codeFailed, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, h.Connections.entra.AuthorizeURL(
		h.Site.URL(CallbackPath), state, nonce, oauth2.S256ChallengeFromVerifier(verifier), allScopes,
	), http.StatusSeeOther)
}

func (h *Handler) callback(w http.ResponseWriter, r *http.Request) {
	p, ok := h.caller(w, r)
	if !ok {
		return
	}
	query, err := protocol.SingleQuery(r.URL.RawQuery, "state", "code", "error")
	if err != nil {
		h.refuse(w, r, p, "/", codeRefused, err)
		return
	}
	state, err := h.Connections.takeState(r.Context(), p.Credential, query.Get("state"))
	if errors.Is(err, errState) {
		h.refuse(w, r, p, "/", codeExpired, err)
		return
	} else if err != nil {
		h.back(w, r, "/", codeFailed, err)
		return
	}
	if query.Has("error") || !query.Has("code") {
		h.refuse(w, r, p, state.Next, codeRefused, errors.New("entra answered without a code"))
		return
	}
	switch err := h.Connections.connect(r.Context(), p, h.Site.URL(CallbackPath), query.Get("code"), state); {
	case errors.Is(err, errUntrusted):
		h.refuse(w, r, p, state.Next, codeRefused, err)
		return
	case errors.Is(err, errNotOwn):
		h.refuse(w, r, p, state.Next, codeNotOwn, err)
		return
	case err != nil:
		h.back(w, r, state.Next, codeFailed, err)
		return
	}
	if err := h.Connections.ReadGroups(r.Context(), p.ID); err != nil {
		h.back(w, r, state.Next, codePending, err)
		return
	}
	h.back(w, r, state.Next, codeConnected, nil)
}

// caller resolves the session, or answers for it. A token does not do: what comes
// back by the browser has to come back to the browser that left.
func (h *Handler) caller(w http.ResponseWriter, r *http.Request) (*policies.Principal, bool) {
	p, err := h.Sessions.Session(r)
	if err == nil {
		return p, true
	}
	status := authn.Status(err)
	switch status {
	case http.StatusUnauthorized:
		protocol.WriteProblem(w, status, "Sign in first.")
	case http.StatusForbidden:
		protocol.WriteProblem(w, status, "No role reaches this person.")
	default:
		unexpected.Log(r.Context(), h.Connections.log, "connecting an account", err)
		protocol.WriteProblem(w, status, "The server cannot answer at the moment. Try again.")
	}
	return nil, false
}

// refuse sends the browser back and keeps a record that nothing was connected.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, p *policies.Principal, next, code string, cause error) {
	event := audit.Event{
		Action: "connect_power_bi", Outcome: audit.Deny, Element: personElement(p.ID), Reason: code,
	}
	if untrusted, ok := errors.AsType[*untrustedError](cause); ok && untrusted.objectID != "" {
		event.Detail = map[string]any{"object_id": untrusted.objectID}
	}
	if err := h.Audit.Write(r.Context(), p, event); err != nil {
		cause = errors.Join(cause, err)
	}
	h.back(w, r, next, code, cause)
}

func (h *Handler) back(w http.ResponseWriter, r *http.Request, next, code string, cause error) {
	if cause != nil {
		unexpected.Refused(r.Context(), h.Connections.log, "an account was not connected", cause, "outcome", code)
	}
	u, err := url.Parse(next)
	if err != nil {
		u = &url.URL{Path: "/"}
	}
	q := u.Query()
	q.Set("power_bi", code)
	u.RawQuery = q.Encode()
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
}

var (
	// errState is returned for a state that this session did not start, or that
	// is spent or too old.
	errState = errors.New("state is not one of this session's")

	// errUntrusted is returned, in an [*untrustedError], for an answer of Entra's
	// that proves nothing, and for a code that it refuses.
	errUntrusted = errors.New("answer is not accepted")
)

type untrustedError struct {
	objectID string // of the account, where it is certain
	cause    error
}

func (e *untrustedError) Error() string { return errUntrusted.Error() + ": " + e.cause.Error() }

func (e *untrustedError) Unwrap() []error { return []error{errUntrusted, e.cause} }

func digest(state string) []byte {
	sum := sha256.Sum256([]byte(state))
	return sum[:]
}

// keepState keeps the digest of a state in place of those that the session had.
func (c *Connections) keepState(ctx context.Context, sessionID, state, nonce, verifier, next string) error {
	now := c.now()
	return postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.DropStates(ctx, db.DropStatesParams{SessionID: sessionID, At: now}); err != nil {
			return err
		}
		return q.SaveState(ctx, db.SaveStateParams{
			Digest: digest(state), SessionID: &sessionID, Nonce: nonce, Verifier: verifier, Next: next, At: now, ExpiresAt: now.Add(stateLife),
		})
	})
}

func (c *Connections) takeState(ctx context.Context, sessionID, state string) (db.TakeStateRow, error) {
	row, err := db.New(c.pool).TakeState(ctx, digest(state))
	if errors.Is(err, pgx.ErrNoRows) {
		return db.TakeStateRow{}, errState
	}
	if err != nil {
		return db.TakeStateRow{}, fmt.Errorf("taking a state: %w", postgres.Translate(err))
	}
	if row.SessionID == nil || *row.SessionID != sessionID || c.now().After(row.ExpiresAt) {
		return db.TakeStateRow{}, errState
	}
	return row, nil
}

// connect redeems a code and stores the connection that it makes.
func (c *Connections) connect(ctx context.Context, p *policies.Principal, redirectURI, code string, state db.TakeStateRow) error {
	t, err := c.entra.Exchange(ctx, redirectURI, code, state.Verifier, powerBIScopes)
	if oauthCode(err) != "" {
		return &untrustedError{cause: err}
	}
	if err != nil {
		return fmt.Errorf("redeeming a code: %w", err)
	}
	idToken, _ := t.Extra("id_token").(string)
	objectID, account, email, err := c.entra.Verify(ctx, idToken, state.Nonce)
	if err != nil {
		return &untrustedError{cause: err}
	}
	if t.RefreshToken == "" {
		return &untrustedError{objectID, errors.New("entra gave no refresh token")}
	}
	return c.store(ctx, p, objectID, account, email, t)
}
