package provider

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"
	"github.com/ory/fosite/handler/rfc8628"
	fositestorage "github.com/ory/fosite/storage"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// storage shows fosite the store as it wants to see it. There is no session
// blob: a request is put together from the columns of its grant. There is no
// access token either: an access token is worth what its grant is worth.
//
// The interfaces that fosite looks for by type assertion are asserted below,
// for without Transactional it would go on silently without transactions.
type storage struct {
	store *store.Store
	now   func() time.Time
}

var (
	_ fosite.Storage                = (*storage)(nil)
	_ oauth2.CoreStorage            = (*storage)(nil)
	_ oauth2.TokenRevocationStorage = (*storage)(nil)
	_ pkce.PKCERequestStorage       = (*storage)(nil)
	_ fositestorage.Transactional   = (*storage)(nil)

	_ rfc8628.RFC8628CoreStorage      = (*storage)(nil)
	_ rfc8628.DeviceRateLimitStrategy = (*storage)(nil)
)

// storeError marks a failure of the database, which must not pass for a
// client's mistake.
type storeError struct{ cause error }

func (e *storeError) Error() string { return e.cause.Error() }
func (e *storeError) Unwrap() error { return e.cause }

// asFositeError tells fosite what it must tell apart: not found, and anything
// else. Reuse is told in our own words, which fosite wraps and we revoke on: it
// would revoke by itself in one path, swallow a failure to in another, and only
// roll back in a third.
func asFositeError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*store.ReuseError](err); ok {
		return err
	}
	if errors.Is(err, postgres.ErrNotFound) {
		return fosite.ErrNotFound
	}
	return &storeError{err}
}

// session is what fosite carries from a grant to a token: whose it is. Expiry
// is the store's business, by its own clock.
type session struct {
	personID  string
	allowedBy *policies.Principal // of an Allow under way
}

func (s *session) SetExpiresAt(fosite.TokenType, time.Time)       {}
func (s *session) GetExpiresAt(fosite.TokenType) (zero time.Time) { return zero }
func (s *session) GetUsername() string                            { return "" }
func (s *session) GetSubject() string                             { return s.personID }
func (s *session) Clone() fosite.Session                          { clone := *s; return &clone }

type txKey struct{}

// in is the store, within the transaction that fosite began.
func (s *storage) in(ctx context.Context) *store.Store {
	if tx, ok := ctx.Value(txKey{}).(pgx.Tx); ok {
		return s.store.Within(tx)
	}
	return s.store
}

func (s *storage) BeginTX(ctx context.Context) (context.Context, error) {
	tx, err := s.store.Begin(ctx)
	if err != nil {
		return nil, asFositeError(postgres.Translate(err))
	}
	return context.WithValue(ctx, txKey{}, tx), nil
}

func (s *storage) Commit(ctx context.Context) error {
	return asFositeError(postgres.Translate(ctx.Value(txKey{}).(pgx.Tx).Commit(ctx)))
}

func (s *storage) Rollback(ctx context.Context) error {
	err := ctx.Value(txKey{}).(pgx.Tx).Rollback(context.WithoutCancel(ctx))
	if errors.Is(err, pgx.ErrTxClosed) {
		return nil // fosite rolls back after a commit that failed, too
	}
	return asFositeError(postgres.Translate(err))
}

// asFosite shows a client to fosite. It has no redirect addresses: these are
// matched before.
func asFosite(c *store.Client) *fosite.DefaultClient {
	return &fosite.DefaultClient{
		ID: c.ID, Public: true, GrantTypes: c.GrantTypes, ResponseTypes: []string{"code"}, Scopes: c.Scopes,
	}
}

func (s *storage) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	client, err := s.in(ctx).Client(ctx, id)
	if err != nil {
		return nil, asFositeError(err)
	}
	return asFosite(client), nil
}

// request puts a grant's request together again.
func request(g *store.Grant, at time.Time) *fosite.Request {
	return &fosite.Request{
		ID:          g.ID,
		RequestedAt: at,
		// Only the id is compared, and whether a refresh token may be issued:
		// every client that got this far may have one.
		Client:            &fosite.DefaultClient{ID: g.ClientID, Public: true, GrantTypes: fosite.Arguments{"refresh_token"}},
		RequestedScope:    g.Scopes,
		GrantedScope:      g.Scopes,
		RequestedAudience: fosite.Arguments{g.Audience},
		GrantedAudience:   fosite.Arguments{g.Audience},
		Form:              url.Values{},
		Session:           &session{personID: g.PersonID},
	}
}

func (s *storage) CreateAuthorizeCodeSession(ctx context.Context, digest string, r fosite.Requester) error {
	now := s.now()
	by := r.GetSession().(*session).allowedBy
	return asFositeError(s.in(ctx).Authorize(ctx, by, &store.Code{
		Grant: store.Grant{
			ID: r.GetID(), ClientID: r.GetClient().GetID(), PersonID: r.GetSession().GetSubject(),
			Scopes: r.GetGrantedScopes(), Audience: r.GetGrantedAudience()[0],
		},
		RedirectURI: r.GetRequestForm().Get("redirect_uri"),
		Challenge:   r.GetRequestForm().Get("code_challenge"),
		RequestedAt: now,
		ExpiresAt:   now.Add(CodeLife),
	}, []byte(digest)))
}

func (s *storage) GetAuthorizeCodeSession(ctx context.Context, digest string, _ fosite.Session) (fosite.Requester, error) {
	code, err := s.in(ctx).Code(ctx, []byte(digest))
	if err != nil {
		return nil, asFositeError(err)
	}
	switch {
	case code.Dead: // looked at before the expiry: an old code, replayed, is a replay
		return nil, &store.ReuseError{GrantID: code.ID}
	case !code.ExpiresAt.After(s.now()):
		return nil, fosite.ErrNotFound
	}
	r := request(&code.Grant, code.RequestedAt)
	r.Form.Set("redirect_uri", code.RedirectURI)
	return r, nil
}

func (s *storage) InvalidateAuthorizeCodeSession(ctx context.Context, digest string) error {
	code, err := s.in(ctx).Code(ctx, []byte(digest))
	if err != nil {
		return asFositeError(err)
	}
	return asFositeError(s.in(ctx).SpendCode(ctx, code.ID, []byte(digest), s.now()))
}

// The challenge is a column of the code, so that it lives exactly as long.
// fosite deletes it before it compares, and would let a wrong guess burn it.

func (s *storage) CreatePKCERequestSession(context.Context, string, fosite.Requester) error {
	return nil
}
func (s *storage) DeletePKCERequestSession(context.Context, string) error { return nil }

func (s *storage) GetPKCERequestSession(ctx context.Context, digest string, _ fosite.Session) (fosite.Requester, error) {
	code, err := s.in(ctx).Code(ctx, []byte(digest))
	if err != nil {
		return nil, asFositeError(err)
	}
	r := request(&code.Grant, code.RequestedAt)
	r.Form.Set("code_challenge", code.Challenge)
	r.Form.Set("code_challenge_method", "S256")
	return r, nil
}

// ShouldRateLimit is where fosite first asks about a device code, and the one
// place where the expiry comes before the answer: later it would take an expired
// code that nobody answered for one that still waits. A used code is nobody's poll,
// so that it is told from one that comes too early.
func (s *storage) ShouldRateLimit(ctx context.Context, code string) (bool, error) {
	digest, now := store.Digest(code), s.now()
	device, err := s.in(ctx).Device(ctx, digest)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return false, nil // and found to be unknown next
	case err != nil:
		return false, asFositeError(err)
	case device.Dead:
		return false, nil // and found to be used next
	case !device.ExpiresAt.After(now):
		return false, fosite.ErrDeviceExpiredToken
	}
	inTime, err := s.in(ctx).PollDevice(ctx, digest, now)
	return !inTime, asFositeError(err)
}

func (s *storage) GetDeviceCodeSession(ctx context.Context, digest string, _ fosite.Session) (fosite.DeviceRequester, error) {
	device, err := s.in(ctx).Device(ctx, []byte(digest))
	if err != nil {
		return nil, asFositeError(err)
	}
	if device.Dead {
		return nil, &store.ReuseError{GrantID: device.ID}
	}
	return &fosite.DeviceRequest{
		UserCodeState: fosite.UserCodeState(device.State), // the numbers are the same
		Request:       *request(&device.Grant, device.StartedAt),
	}, nil
}

func (s *storage) InvalidateDeviceCodeSession(ctx context.Context, digest string) error {
	device, err := s.in(ctx).Device(ctx, []byte(digest))
	if err != nil {
		return asFositeError(err)
	}
	return asFositeError(s.in(ctx).SpendDevice(ctx, device.ID, []byte(digest), s.now()))
}

// Device requests are recorded by package device.

func (s *storage) CreateDeviceAuthSession(context.Context, string, string, fosite.DeviceRequester) error {
	return errors.New("device requests do not start here")
}

func (s *storage) CreateRefreshTokenSession(ctx context.Context, digest, _ string, r fosite.Requester) error {
	now := s.now()
	return asFositeError(s.in(ctx).InsertRefreshToken(ctx, []byte(digest), &store.RefreshToken{
		Grant: store.Grant{ID: r.GetID()}, RequestedAt: now, ExpiresAt: now.Add(RefreshTokenLife),
	}))
}

func (s *storage) GetRefreshTokenSession(ctx context.Context, digest string, _ fosite.Session) (fosite.Requester, error) {
	token, err := s.in(ctx).RefreshToken(ctx, []byte(digest))
	if err != nil {
		return nil, asFositeError(err)
	}
	switch {
	case token.Dead:
		return nil, &store.ReuseError{GrantID: token.ID}
	case !token.ExpiresAt.After(s.now()):
		return nil, fosite.ErrNotFound
	}
	return request(&token.Grant, token.RequestedAt), nil
}

func (s *storage) RotateRefreshToken(ctx context.Context, grantID, digest string) error {
	return asFositeError(s.in(ctx).SpendRefreshToken(ctx, grantID, []byte(digest), s.now()))
}

// fosite is never told in its own words that something was used before, so it
// has no occasion to revoke. What it would revoke is the whole grant.

func (s *storage) RevokeRefreshToken(ctx context.Context, grantID string) error {
	return asFositeError(s.in(ctx).RevokeGrant(ctx, grantID, store.WhyReuse, s.now()))
}

func (s *storage) RevokeAccessToken(ctx context.Context, grantID string) error {
	return s.RevokeRefreshToken(ctx, grantID)
}

func (s *storage) DeleteRefreshTokenSession(context.Context, string) error { return nil }

// Access tokens are not stored.

func (s *storage) CreateAccessTokenSession(context.Context, string, fosite.Requester) error {
	return nil
}
func (s *storage) DeleteAccessTokenSession(context.Context, string) error { return nil }

func (s *storage) GetAccessTokenSession(context.Context, string, fosite.Session) (fosite.Requester, error) {
	return nil, fosite.ErrNotFound
}

// No client proves itself with an assertion.

func (s *storage) ClientAssertionJWTValid(context.Context, string) error { return fosite.ErrJTIKnown }

func (s *storage) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return fosite.ErrJTIKnown
}
