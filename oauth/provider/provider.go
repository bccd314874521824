package provider

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"
	"github.com/ory/fosite/handler/rfc8628"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// How long things live.
const (
	AccessTokenLife  = time.Hour
	CodeLife         = 5 * time.Minute
	RefreshTokenLife = 30 * 24 * time.Hour
)

// GrantTypes are those that the token endpoint serves.
var GrantTypes = []string{"authorization_code", "refresh_token", DeviceGrant}

// DeviceGrant is the grant type of a device that waits for a person (RFC 8628).
const DeviceGrant = string(fosite.GrantTypeDeviceCode)

// Clients finds who asks to be let in; see [document.Reader].
type Clients interface {
	Client(ctx context.Context, id, personID string) (*store.Client, error)
}

// A Provider issues codes and tokens.
type Provider struct {
	site    protocol.Site
	store   *store.Store
	clients Clients
	fosite  *fosite.Fosite
	keys    *Keys
	now     func() time.Time
	log     *slog.Logger
}

// New composes the authorization server of a site.
func New(site protocol.Site, st *store.Store, clients Clients, keys *Keys, now func() time.Time, log *slog.Logger) *Provider {
	config := &fosite.Config{
		AccessTokenLifespan:  AccessTokenLife,
		EnforcePKCE:          true,
		ScopeStrategy:        fosite.ExactScopeStrategy,
		RefreshTokenScopes:   []string{}, // every client gets one: some never ask for offline_access
		SanitationWhiteList:  []string{"redirect_uri", "code_challenge"},
		RefreshTokenLifespan: RefreshTokenLife,
		// The resource was checked against the client before, and one token
		// never has two.
		AudienceMatchingStrategy: func(_, audience []string) error {
			if len(audience) > 1 {
				return protocol.ErrInvalidTarget
			}
			return nil
		},
		OmitRedirectScopeParam: true,
		// Redirects are matched by protocol.MatchRedirectURI before fosite sees them.
		RedirectSecureChecker: func(context.Context, *url.URL) bool { return true },
	}
	storage := &storage{store: st, now: now}
	access := &accessTokens{keys: keys, issuer: site.Issuer(), now: now}
	code := &oauth2.AuthorizeExplicitGrantHandler{
		AccessTokenStrategy: access, RefreshTokenStrategy: refreshTokens{}, AuthorizeCodeStrategy: codes{},
		CoreStorage: storage, TokenRevocationStorage: storage, Config: config,
	}
	proof := &pkce.Handler{AuthorizeCodeStrategy: codes{}, Storage: storage, Config: config}
	refresh := &oauth2.RefreshTokenGrantHandler{
		AccessTokenStrategy: access, RefreshTokenStrategy: refreshTokens{},
		TokenRevocationStorage: storage, Config: config,
	}
	device := &rfc8628.DeviceCodeTokenEndpointHandler{
		DeviceRateLimitStrategy: storage, DeviceCodeStrategy: deviceCodes{},
		AccessTokenStrategy: access, RefreshTokenStrategy: refreshTokens{},
		CoreStorage: storage, TokenRevocationStorage: storage, Config: config,
	}
	config.AuthorizeEndpointHandlers.Append(code)
	config.AuthorizeEndpointHandlers.Append(proof) // after the code, which it needs
	config.TokenEndpointHandlers.Append(code)
	config.TokenEndpointHandlers.Append(proof)
	config.TokenEndpointHandlers.Append(refresh)
	config.TokenEndpointHandlers.Append(device)
	return &Provider{
		site: site, store: st, clients: clients, fosite: fosite.NewOAuth2Provider(storage, config), keys: keys, now: now, log: log,
	}
}

// Tokens is the answer of the token endpoint.
type Tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
}

// Token exchanges a code, a refresh token or a device code. The form has each parameter once.
// The error is a [*protocol.Error].
func (p *Provider) Token(ctx context.Context, form url.Values) (*Tokens, error) {
	grantType := form.Get("grant_type")
	if grantType == "" {
		return nil, protocol.InvalidRequest("The grant type is missing.")
	}
	if !slices.Contains(GrantTypes, grantType) {
		return nil, protocol.ErrUnsupportedGrantType
	}
	answer, err := p.token(ctx, form)
	if err != nil {
		return nil, p.refuse(ctx, grantType, err)
	}
	return answer, nil
}

func (p *Provider) token(ctx context.Context, form url.Values) (*Tokens, error) {
	// Neither reaches fosite, whose own idea of an audience is looser.
	resource, scope := form.Get("resource"), strings.Fields(form.Get("scope"))
	form.Del("resource")
	form.Del("audience")

	request, err := p.fosite.NewAccessRequest(ctx, fositeRequest(ctx, form), &session{})
	if err != nil {
		return nil, err
	}
	if resource != "" {
		path, ok := p.site.ResourcePath(resource)
		if !ok || !slices.Equal(request.GetRequestedAudience(), fosite.Arguments{p.site.URL(path)}) {
			return nil, protocol.ErrInvalidTarget
		}
	}
	if form.Get("grant_type") == "refresh_token" && !request.GetGrantedScopes().Has(scope...) {
		return nil, protocol.ErrInvalidScope
	}
	response, err := p.fosite.NewAccessResponse(ctx, request)
	if err != nil {
		return nil, err
	}
	refresh, _ := response.GetExtra("refresh_token").(string)
	return &Tokens{
		AccessToken: response.GetAccessToken(), TokenType: "Bearer", ExpiresIn: int(AccessTokenLife.Seconds()),
		RefreshToken: refresh, Scope: strings.Join(request.GetGrantedScopes(), " "),
	}, nil
}

// refuse turns a failure into the client's error, and revokes the grant of a
// credential that was presented a second time. It does so in a transaction of
// its own: that of the request is rolled back by now.
func (p *Provider) refuse(ctx context.Context, grantType string, err error) error {
	if reuse, ok := errors.AsType[*store.ReuseError](err); ok {
		if err := p.store.RevokeGrant(context.WithoutCancel(ctx), reuse.GrantID, store.WhyReuse, p.now()); err != nil {
			return p.unavailable(ctx, err)
		}
		p.log.WarnContext(ctx, "a credential was used twice, so its grant was revoked", "grant", reuse.GrantID)
		return protocol.ErrInvalidGrant
	}
	if failed, ok := errors.AsType[*storeError](err); ok {
		return p.unavailable(ctx, failed.cause) // fosite's own text around it says invalid_client
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	switch name := fosite.ErrorToRFC6749Error(err).ErrorField; {
	case name == "invalid_client":
		return protocol.ErrInvalidClient
	case name == "unauthorized_client":
		return protocol.ErrUnauthorizedClient
	case name == "invalid_scope":
		return protocol.ErrInvalidScope
	case name == "authorization_pending":
		return protocol.ErrAuthorizationPending
	case name == "slow_down":
		return protocol.ErrSlowDown
	case name == "expired_token":
		return protocol.ErrExpiredToken
	case name == "access_denied":
		return protocol.ErrAccessDenied
	case name == "invalid_grant", name == "invalid_request" && grantType == "refresh_token":
		return protocol.ErrInvalidGrant
	case name == "invalid_request":
		return protocol.InvalidRequest("A parameter is missing or malformed.")
	}
	unexpected.Log(ctx, p.log, "issuing tokens", err)
	return protocol.ErrServer
}

// unavailable keeps a failure of ours apart from the client's mistakes: clients
// throw away their registration on invalid_client and their tokens on
// invalid_grant. It is logged here, so whoever gets [protocol.ErrUnavailable] does
// not log it again.
func (p *Provider) unavailable(ctx context.Context, err error) error {
	unexpected.Log(ctx, p.log, "the authorization server's storage failed", err)
	return protocol.ErrUnavailable
}

// RevokeGrantsOfUsed ends the grants of those refresh tokens that were used
// before. The token endpoint calls it where a form is refused before anything
// else would look at the tokens in it (OAUTH-21).
func (p *Provider) RevokeGrantsOfUsed(ctx context.Context, refreshTokens []string) error {
	digests := make([][]byte, len(refreshTokens))
	for i, token := range refreshTokens {
		digests[i] = store.Digest(token)
	}
	if err := p.store.RevokeGrantsOfUsed(ctx, digests, p.now()); err != nil {
		return p.unavailable(ctx, err)
	}
	return nil
}

// fositeRequest is a request whose form is exactly this, whatever came over the
// wire: fosite would read the first of repeated values, a multipart body, and
// the query.
func fositeRequest(ctx context.Context, form url.Values) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{}, Header: http.Header{}, Body: http.NoBody,
		Form: form, PostForm: form,
	}
	return r.WithContext(ctx)
}
