// Package token is the token endpoint. What a code or a refresh token buys is
// decided by package provider; here a form is read strictly, and a used refresh
// token is noticed in whatever form it comes.
package token

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
)

// Path is the endpoint's address on the site.
const Path = "/api/auth/oauth2/token"

const maxRefreshTokens = 2 // OAUTH-23: what a decoy needs, and no more to look up

var fields = []string{
	"grant_type", "client_id", "code", "redirect_uri", "code_verifier", "refresh_token", "device_code", "scope", "resource",
}

// An Issuer issues tokens.
type Issuer interface {
	// Token exchanges what the form presents; the error is a [*protocol.Error].
	Token(ctx context.Context, form url.Values) (*provider.Tokens, error)
	// RevokeGrantsOfUsed ends the grants of those tokens that were used before.
	RevokeGrantsOfUsed(ctx context.Context, refreshTokens []string) error
}

// Handler serves the token endpoint.
type Handler struct{ issuer Issuer }

// New returns the endpoint.
func New(issuer Issuer) *Handler { return &Handler{issuer} }

// Routes lists it.
func (h *Handler) Routes() []protocol.Route {
	return []protocol.Route{{
		Method: http.MethodPost, Path: Path, Access: protocol.Anyone, AnyOrigin: true,
		Limit: protocol.PerMinute("token", 60), Handler: h.token,
	}}
}

func (h *Handler) token(w http.ResponseWriter, r *http.Request) {
	tokens, err := h.exchange(r)
	if err != nil {
		protocol.WriteError(w, err)
		return
	}
	w.Header().Set("Pragma", "no-cache") // RFC 6749 section 5.1
	protocol.WriteJSON(w, http.StatusOK, tokens)
}

func (h *Handler) exchange(r *http.Request) (*provider.Tokens, error) {
	form, err := protocol.ReadForm(r)
	if err != nil {
		return nil, err
	}
	presented := form.All("refresh_token")
	if len(presented) > maxRefreshTokens {
		return nil, protocol.InvalidRequest("The form has too many refresh tokens.")
	}
	values, err := form.Single(fields...)
	if err == nil {
		values.Set("grant_type", strings.TrimSpace(values.Get("grant_type")))
	}
	// A refresh looks at its token itself. Any other form is about to be
	// refused, or to ignore the token, and must not hide that it was used.
	if len(presented) > 0 && (err != nil || values.Get("grant_type") != "refresh_token") {
		if revokeErr := h.issuer.RevokeGrantsOfUsed(r.Context(), presented); revokeErr != nil {
			return nil, revokeErr
		}
	}
	if err != nil {
		return nil, err
	}
	return h.issuer.Token(r.Context(), values)
}
