package provider

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ory/fosite"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/document"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// authorizationParameters are those of an authorization request that mean
// something here; others are left out of what goes on.
var authorizationParameters = []string{
	"response_type", "client_id", "redirect_uri", "scope", "state",
	"code_challenge", "code_challenge_method", "resource",
}

// maxQuery bounds what a client makes a browser carry around.
const maxQuery = 8 << 10

var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// An Authorization is an authorization request that was found to be in order,
// so that a person may be asked about it.
type Authorization struct {
	Client      *store.Client
	RedirectURI string
	Scopes      []string
	Resource    string // canonical address
	Parameters  url.Values
}

// A PageError is an authorization request that must not be answered by a
// redirect, since its client or its redirect address is in doubt.
type PageError struct{ Reason string }

func (e *PageError) Error() string { return e.Reason }

// A RedirectError is an authorization request that is answered by sending the
// browser back to the client with an error.
type RedirectError struct {
	To    string
	Cause *protocol.Error
}

func (e *RedirectError) Error() string { return e.Cause.Error() }
func (e *RedirectError) Unwrap() error { return e.Cause }

// Authorization checks an authorization request as its query came. The error
// is a [*PageError], a [*RedirectError], [protocol.ErrUnavailable] or, where the
// client's metadata document is needed and personID is empty, since nobody is
// signed in, [document.ErrSignInFirst].
func (p *Provider) Authorization(ctx context.Context, rawQuery, personID string) (*Authorization, error) {
	if len(rawQuery) > maxQuery {
		return nil, &PageError{"The request is too long."}
	}
	all, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, &PageError{"The request is malformed."}
	}
	client, redirectURI, err := p.clientAndRedirect(ctx, all, personID)
	if err != nil {
		return nil, err
	}
	a := &Authorization{Client: client, RedirectURI: redirectURI}
	if a.Parameters, err = protocol.SingleQuery(rawQuery, authorizationParameters...); err == nil {
		err = p.fill(a, all)
	}
	if err != nil {
		return nil, p.redirectError(redirectURI, all["state"], protocol.AsError(err))
	}
	return a, nil
}

// clientAndRedirect finds out where an answer may be sent, before anything else
// is looked at.
func (p *Provider) clientAndRedirect(ctx context.Context, all url.Values, personID string) (*store.Client, string, error) {
	if len(all["client_id"]) != 1 || all.Get("client_id") == "" {
		return nil, "", &PageError{"The request does not name its client."}
	}
	client, err := p.clients.Client(ctx, all.Get("client_id"), personID)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return nil, "", &PageError{"The client is not known here. It may have to register again."}
	case errors.Is(err, document.ErrUnusable):
		return nil, "", &PageError{"The client's metadata document could not be read, or is not in order."}
	case errors.Is(err, document.ErrSignInFirst):
		return nil, "", err
	case err != nil:
		return nil, "", p.unavailable(ctx, err)
	}
	if len(all["redirect_uri"]) != 1 || !protocol.MatchRedirectURI(all.Get("redirect_uri"), client.RedirectURIs) {
		return nil, "", &PageError{"The redirect address is not one that the client registered."}
	}
	return client, all.Get("redirect_uri"), nil
}

// fill checks the rest, so that a person is asked only about what can succeed.
func (p *Provider) fill(a *Authorization, all url.Values) error {
	for _, name := range []string{"request", "request_uri", "registration"} {
		if all.Has(name) {
			return protocol.InvalidRequest("Request objects and registration in the request are not supported.")
		}
	}
	if mode := all.Get("response_mode"); mode != "" && mode != "query" {
		return protocol.InvalidRequest("The response mode must be query.")
	}
	v := a.Parameters
	if v.Get("response_type") != "code" {
		return protocol.ErrUnsupportedResponse
	}
	if !slices.Contains(a.Client.GrantTypes, "authorization_code") {
		return protocol.ErrUnauthorizedClient
	}
	if v.Get("code_challenge_method") != "S256" || !challengeForm.MatchString(v.Get("code_challenge")) {
		return protocol.InvalidRequest("PKCE with the method S256 is required.")
	}
	path, ok := p.site.ResourcePath(v.Get("resource"))
	if !ok || path != a.Client.Resource {
		return protocol.ErrInvalidTarget
	}
	a.Resource = p.site.URL(path)

	own := protocol.ScopeOf(path)
	a.Scopes = slices.Compact(slices.Sorted(slices.Values(strings.Fields(v.Get("scope")))))
	if len(a.Scopes) == 0 {
		a.Scopes = []string{own}
	}
	for _, scope := range a.Scopes {
		if !slices.Contains(a.Client.Scopes, scope) {
			return protocol.ErrInvalidScope
		}
	}
	if !slices.Contains(a.Scopes, own) {
		return protocol.ErrInvalidScope // offline_access to nothing
	}
	return nil
}

// Touch notes that a person is being asked, so that the client is kept
// meanwhile (OAUTH-46).
func (p *Provider) Touch(ctx context.Context, a *Authorization) error {
	if err := p.store.TouchClient(ctx, a.Client.ID, p.now()); err != nil {
		return p.unavailable(ctx, err)
	}
	return nil
}

// Allow records that a person lets the client in, and returns the address that
// takes the code to it.
func (p *Provider) Allow(ctx context.Context, a *Authorization, by *policies.Principal) (redirectTo string, err error) {
	request := fosite.NewAuthorizeRequest()
	request.Client = asFosite(a.Client)
	request.ResponseTypes = fosite.Arguments{"code"}
	request.Form = url.Values{
		"redirect_uri":          {a.RedirectURI},
		"code_challenge":        {a.Parameters.Get("code_challenge")},
		"code_challenge_method": {"S256"},
	}
	if request.RedirectURI, err = url.Parse(a.RedirectURI); err != nil {
		return "", fmt.Errorf("parsing a redirect address that was matched: %w", err)
	}
	request.RequestedScope, request.GrantedScope = a.Scopes, a.Scopes
	request.RequestedAudience, request.GrantedAudience = fosite.Arguments{a.Resource}, fosite.Arguments{a.Resource}

	response, err := p.fosite.NewAuthorizeResponse(ctx, request, &session{personID: by.ID, allowedBy: by})
	if err != nil {
		return "", p.refuse(ctx, "authorization_code", err)
	}
	return p.answer(a.RedirectURI, a.Parameters["state"], url.Values{"code": {response.GetCode()}}), nil
}

// Deny returns the address that tells the client of the person's no.
func (p *Provider) Deny(a *Authorization) (redirectTo string) {
	return p.redirectError(a.RedirectURI, a.Parameters["state"], protocol.ErrAccessDenied).To
}

func (p *Provider) redirectError(redirectURI string, state []string, cause *protocol.Error) *RedirectError {
	return &RedirectError{Cause: cause, To: p.answer(redirectURI, state, url.Values{
		"error": {cause.Code}, "error_description": {cause.Description},
	})}
}

// answer builds an authorization response: whatever it says, it says who says
// it (RFC 9207) and gives back the client's state.
func (p *Provider) answer(redirectURI string, state []string, parameters url.Values) string {
	parameters.Set("iss", p.site.Issuer())
	if len(state) == 1 && state[0] != "" {
		parameters.Set("state", state[0])
	}
	return protocol.RedirectTo(redirectURI, parameters)
}
