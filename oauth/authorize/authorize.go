// Package authorize is the authorization endpoint: it checks a request, and
// sends the browser to sign in or to the consent screen. What a request must
// look like is decided by package provider; the screen's answers are in package
// consent.
package authorize

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/document"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
)

// Path is the endpoint's address on the site.
const Path = "/api/auth/oauth2/authorize"

// A Checker checks authorization requests; see [provider.Provider].
type Checker interface {
	Authorization(ctx context.Context, rawQuery, personID string) (*provider.Authorization, error)
	Touch(ctx context.Context, a *provider.Authorization) error
}

// A Signer signs a checked request for the consent screen of one person.
type Signer interface {
	Sign(parameters url.Values, personID string) (query string)
}

// Handler serves the authorization endpoint.
type Handler struct {
	checker  Checker
	sessions session.Store
	signer   Signer
	now      func() time.Time
	log      *slog.Logger
}

// New returns the endpoint.
func New(checker Checker, sessions session.Store, signer Signer, now func() time.Time, log *slog.Logger) *Handler {
	return &Handler{checker: checker, sessions: sessions, signer: signer, now: now, log: log}
}

// Routes lists it.
func (h *Handler) Routes() []protocol.Route {
	return []protocol.Route{{
		Method: http.MethodGet, Path: Path, Access: protocol.Anyone, Limit: protocol.AuthLimit, Handler: h.authorize,
	}}
}

func (h *Handler) authorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	personID, err := h.signedIn(r)
	if err != nil {
		unexpected.Log(r.Context(), h.log, "asking for consent", err)
		writeUnavailable(w)
		return
	}
	a, err := h.checker.Authorization(r.Context(), r.URL.RawQuery, personID)
	redirect, isRedirect := errors.AsType[*provider.RedirectError](err)
	refused, isPage := errors.AsType[*provider.PageError](err)
	switch {
	case isRedirect:
		http.Redirect(w, r, redirect.To, http.StatusSeeOther)
	case isPage:
		writePage(w, http.StatusBadRequest, refused.Reason)
	case errors.Is(err, document.ErrSignInFirst), err == nil && personID == "":
		http.Redirect(w, r, "/sign-in?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
	case err != nil:
		writeUnavailable(w) // the checker has logged it
	default:
		if err := h.checker.Touch(r.Context(), a); err != nil {
			writeUnavailable(w)
			return
		}
		http.Redirect(w, r, "/consent?"+h.signer.Sign(a.Parameters, personID), http.StatusSeeOther)
	}
}

// signedIn is the person of the browser's session, or nobody.
func (h *Handler) signedIn(r *http.Request) (personID string, err error) {
	own, err := h.sessions.Session(r.Context(), store.Digest(session.Secret(r)), h.now())
	if errors.Is(err, postgres.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return own.PersonID, nil
}

func writeUnavailable(w http.ResponseWriter) {
	writePage(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
}

// The page is for a person whose browser was sent here by a program that got
// something wrong: nothing of the request is repeated.
var page = template.Must(template.New("error").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The program cannot be let in</title>
<h1>The program cannot be let in</h1>
<p>{{.}}</p>
<p>Go back to the program that sent you here and start again.</p>
</html>
`))

func writePage(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = page.Execute(w, reason) // the browser went away: nobody is left to tell
}
