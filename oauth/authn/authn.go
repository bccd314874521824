// Package authn resolves a request to the [policies.Principal] who made it: by
// browser session, by access token or by API key, with what counts at this moment,
// read in one round trip. What the principal may do is not decided here.
package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/recent"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// Why a request is not let in. Any other error means that it could not be
// found out: answer 503.
var (
	// ErrUnauthenticated is returned for a request that brings no credential,
	// or a session that is unknown or over.
	ErrUnauthenticated = errors.New("not signed in")

	// ErrInvalidToken is returned for a token that is malformed, forged, expired,
	// meant for another resource, or whose grant or consent has ended.
	ErrInvalidToken = errors.New("the access token is not valid")

	// ErrInsufficientScope is returned for a good token without the resource's
	// scope.
	ErrInsufficientScope = errors.New("the access token lacks the scope")

	// ErrNoRole is returned, together with the principal, when no role reaches
	// them.
	ErrNoRole = errors.New("no role reaches the caller")
)

// A Verifier checks what an access token says of itself; see [provider.Provider].
type Verifier interface {
	Verify(ctx context.Context, token string) (*provider.Claims, error)
}

// Callers reads a caller as of now. The error is [postgres.ErrNotFound] for a
// credential that is unknown or over.
type Callers interface {
	CallerBySession(ctx context.Context, digest []byte, at time.Time) (*store.Caller, error)
	CallerByGrant(ctx context.Context, grantID string, at time.Time) (*store.Caller, error)
}

// maxVerified bounds the tokens whose signature is remembered.
const maxVerified = 8192

// Authn resolves requests.
type Authn struct {
	site     protocol.Site
	callers  Callers
	verifier Verifier
	verified *recent.Map[[32]byte, *provider.Claims]
	now      func() time.Time
}

// New returns an Authn of a site.
func New(site protocol.Site, callers Callers, verifier Verifier, now func() time.Time) *Authn {
	return &Authn{site: site, callers: callers, verifier: verifier, verified: recent.New[[32]byte, *provider.Claims](maxVerified, recent.One), now: now}
}

// Request resolves a request to a resource. A token that is present decides
// alone, whatever cookies come with it (OAUTH-10). At the MCP resource nothing
// but a token counts.
func (a *Authn) Request(r *http.Request, resourcePath string) (*policies.Principal, error) {
	token, present := BearerToken(r)
	switch {
	case present:
		return a.Bearer(r.Context(), token, resourcePath)
	case resourcePath == protocol.ResourceMCP:
		return nil, ErrUnauthenticated
	}
	return a.Session(r)
}

// Session resolves a request by its browser session alone.
func (a *Authn) Session(r *http.Request) (*policies.Principal, error) {
	secret := session.Secret(r)
	if secret == "" {
		return nil, ErrUnauthenticated
	}
	caller, err := a.callers.CallerBySession(r.Context(), store.Digest(secret), a.now())
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, ErrUnauthenticated
	} else if err != nil {
		return nil, err
	}
	return admit(caller, policies.ViaBrowser)
}

// Bearer resolves an access token that was presented at a resource.
func (a *Authn) Bearer(ctx context.Context, token, resourcePath string) (*policies.Principal, error) {
	if IsAPIKey(token) {
		return nil, fmt.Errorf("%w: it is an API key", ErrInvalidToken)
	}
	claims, err := a.verify(ctx, token)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(claims.Audience, []string{a.site.URL(resourcePath)}) {
		return nil, fmt.Errorf("%w: it is meant for another resource", ErrInvalidToken)
	}
	caller, err := a.callers.CallerByGrant(ctx, claims.GrantID, a.now())
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, fmt.Errorf("%w: its grant has ended", ErrInvalidToken)
	} else if err != nil {
		return nil, err
	}
	if caller.PersonID != claims.Subject || caller.ClientID != claims.ClientID || caller.Audience != claims.Audience[0] {
		return nil, fmt.Errorf("%w: it does not belong to its grant", ErrInvalidToken)
	}
	// A token knows its time to the second.
	if claims.IssuedAt.Before(caller.ConsentedAt.Truncate(time.Second)) {
		return nil, fmt.Errorf("%w: the consent is newer", ErrInvalidToken)
	}
	if !slices.Contains(strings.Fields(claims.Scope), protocol.ScopeOf(resourcePath)) {
		return nil, ErrInsufficientScope
	}
	via := policies.ViaConnector
	if caller.ClientID == store.CLI {
		via = policies.ViaCLI
	}
	return admit(caller, via)
}

// verify checks a token's signature once and its expiry every time. A signature
// cannot go bad; everything that can (the grant, the consent, roles) is looked at
// each time.
func (a *Authn) verify(ctx context.Context, token string) (*provider.Claims, error) {
	key := [32]byte(store.Digest(token))
	claims, known := a.verified.Get(key)
	if !known {
		var err error
		if claims, err = a.verifier.Verify(ctx, token); errors.Is(err, postgres.ErrUnavailable) {
			return nil, err // the key could not be looked up: nobody's fault but ours
		} else if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalidToken, err)
		}
		a.verified.Put(key, claims)
	}
	if !a.now().Before(claims.ExpiresAt.Time) {
		return nil, fmt.Errorf("%w: it has expired", ErrInvalidToken)
	}
	return claims, nil
}

func admit(c *store.Caller, via policies.Via) (*policies.Principal, error) {
	p := &policies.Principal{
		Kind: policies.Person, ID: c.PersonID, Email: c.Email, Name: c.Name, Roles: c.Roles,
		WorkspaceIDs: c.WorkspaceIDs, AppIDs: c.AppIDs, DatasetIDs: c.DatasetIDs, ObjectIDs: c.ObjectIDs,
		MetadataVisibility: c.MetadataVisibility,
		Via:                via, ClientID: c.ClientID, Credential: c.Credential, AsOf: c.Revisions,
	}
	if len(p.Roles) == 0 {
		return p, ErrNoRole
	}
	return p, nil
}

// BearerToken gives the token of a request. Any Authorization header counts as
// one, so that a request with a credential that we do not know is never taken
// for one without.
func BearerToken(r *http.Request) (token string, present bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return token, true
}

// Status is the HTTP status that answers an error of this package.
func Status(err error) int {
	switch {
	case errors.Is(err, ErrUnauthenticated), errors.Is(err, ErrInvalidToken):
		return http.StatusUnauthorized
	case errors.Is(err, ErrInsufficientScope), errors.Is(err, ErrNoRole):
		return http.StatusForbidden
	}
	if _, ok := errors.AsType[*RateLimitError](err); ok {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// Challenge is the WWW-Authenticate header that goes with an error of this
// package at a resource, or "". By it a client finds the authorization server
// (RFC 9728).
func (a *Authn) Challenge(resourcePath string, err error) string {
	challenge := fmt.Sprintf(`Bearer resource_metadata=%q, scope=%q`,
		a.site.ResourceMetadata(resourcePath), protocol.ScopeOf(resourcePath))
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return challenge
	case errors.Is(err, ErrInvalidToken):
		return challenge + `, error="invalid_token"`
	case errors.Is(err, ErrInsufficientScope):
		return challenge + `, error="insufficient_scope"`
	}
	return ""
}
