package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A Grant is one Allow: one person let one client in, at one resource. Whether
// anything that was issued under it still counts is asked of its row.
type Grant struct {
	ID       string
	ClientID string
	PersonID string
	Scopes   []string
	Audience string // the resource's address, exactly as tokens carry it
}

// A Code is an authorization code under its grant.
type Code struct {
	Grant
	RedirectURI string
	Challenge   string // PKCE, S256
	RequestedAt time.Time
	ExpiresAt   time.Time
	Dead        bool // used, or its grant has ended
}

// A RefreshToken is a refresh token under its grant.
type RefreshToken struct {
	Grant
	RequestedAt time.Time
	ExpiresAt   time.Time
	Dead        bool // used, or its grant has ended
}

// A ReuseError is returned when a credential that works once was presented
// again, or lost a race, or has outlived its grant. Whoever holds the winner
// may be a thief, so the grant has to end: the caller does that once its own
// transaction is rolled back.
type ReuseError struct{ GrantID string }

func (e *ReuseError) Error() string { return "a credential of grant " + e.GrantID + " was used twice" }

// Why a grant ended, as its row keeps it.
const (
	WhyReuse        = "reuse"
	WhyEnded        = "ended by the person"
	WhyEndedByAdmin = "ended by an admin"
	WhyConsentEnded = "consent ended"
	WhyProviderGone = "sign-in provider gone"
)

// Authorize records an Allow by a person: their consent to the client where
// none stands, a new grant under it, and the code that buys its first tokens.
func (s *Store) Authorize(ctx context.Context, by *policies.Principal, c *Code, digest []byte) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if err := insertGrant(ctx, q, &c.Grant, c.RequestedAt); err != nil {
			return err
		}
		if err := q.InsertCode(ctx, db.InsertCodeParams{
			Digest: digest, GrantID: c.ID, RedirectUri: c.RedirectURI, Challenge: c.Challenge,
			At: c.RequestedAt, ExpiresAt: c.ExpiresAt,
		}); err != nil {
			return err
		}
		return auditAllow(ctx, tx, by, &c.Grant)
	})
	if err != nil {
		return fmt.Errorf("recording an authorization: %w", err)
	}
	return nil
}

func auditAllow(ctx context.Context, tx pgx.Tx, by *policies.Principal, g *Grant) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: "allow_client", Outcome: audit.Allow, Element: g.ClientID,
		Detail: map[string]any{"grant": g.ID, "scopes": g.Scopes, "resource": g.Audience},
	})
}

func insertGrant(ctx context.Context, q *db.Queries, g *Grant, at time.Time) error {
	consent, err := q.StandingConsent(ctx, db.StandingConsentParams{
		PersonID: g.PersonID, ClientID: g.ClientID, Scopes: g.Scopes, At: at,
	})
	if err != nil {
		return err
	}
	return q.InsertGrant(ctx, db.InsertGrantParams{
		ID: g.ID, ConsentID: consent, ClientID: g.ClientID, PersonID: g.PersonID,
		Scopes: g.Scopes, Audience: g.Audience, At: at,
	})
}

// Code returns [postgres.ErrNotFound] for an unknown code.
func (s *Store) Code(ctx context.Context, digest []byte) (*Code, error) {
	k, err := s.q.Code(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("reading a code: %w", postgres.Translate(err))
	}
	return &Code{
		Grant:       Grant{ID: k.GrantID, ClientID: k.ClientID, PersonID: k.PersonID, Scopes: k.Scopes, Audience: k.Audience},
		RedirectURI: k.RedirectUri, Challenge: k.Challenge, RequestedAt: k.RequestedAt, ExpiresAt: k.ExpiresAt, Dead: k.Dead,
	}, nil
}

// SpendCode marks a code used, or returns a [*ReuseError]. Call it in a Store
// that [Store.Within] returned: until that transaction ends, nobody else spends
// anything of the same grant.
func (s *Store) SpendCode(ctx context.Context, grantID string, digest []byte, at time.Time) error {
	return s.spend(ctx, grantID, func(q *db.Queries) (int64, error) {
		return q.SpendCode(ctx, db.SpendCodeParams{Digest: digest, At: &at})
	})
}

// InsertRefreshToken adds a refresh token to its grant.
func (s *Store) InsertRefreshToken(ctx context.Context, digest []byte, t *RefreshToken) error {
	err := s.q.InsertRefreshToken(ctx, db.InsertRefreshTokenParams{
		Digest: digest, GrantID: t.ID, At: t.RequestedAt, ExpiresAt: t.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("adding a refresh token: %w", postgres.Translate(err))
	}
	return nil
}

// RefreshToken returns [postgres.ErrNotFound] for an unknown token.
func (s *Store) RefreshToken(ctx context.Context, digest []byte) (*RefreshToken, error) {
	t, err := s.q.RefreshToken(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("reading a refresh token: %w", postgres.Translate(err))
	}
	return &RefreshToken{
		Grant:       Grant{ID: t.GrantID, ClientID: t.ClientID, PersonID: t.PersonID, Scopes: t.Scopes, Audience: t.Audience},
		RequestedAt: t.RequestedAt, ExpiresAt: t.ExpiresAt, Dead: t.Dead,
	}, nil
}

// SpendRefreshToken marks a refresh token used, as [Store.SpendCode] does a code.
func (s *Store) SpendRefreshToken(ctx context.Context, grantID string, digest []byte, at time.Time) error {
	return s.spend(ctx, grantID, func(q *db.Queries) (int64, error) {
		return q.SpendRefreshToken(ctx, db.SpendRefreshTokenParams{Digest: digest, At: &at})
	})
}

// spend takes the grant's row lock before the credential's row, as everybody
// does who spends something of a grant or ends it, so that read committed is
// enough.
func (s *Store) spend(ctx context.Context, grantID string, update func(*db.Queries) (int64, error)) error {
	ended, err := s.q.LockGrant(ctx, grantID)
	if err != nil {
		return fmt.Errorf("locking a grant: %w", postgres.Translate(err))
	}
	if ended {
		return &ReuseError{grantID}
	}
	n, err := update(s.q)
	if err != nil {
		return fmt.Errorf("spending a credential: %w", postgres.Translate(err))
	}
	if n != 1 {
		return &ReuseError{grantID}
	}
	return nil
}

// RevokeGrant ends a grant, with everything that was issued under it, on
// nobody's behalf; a grant that has ended stays as it was.
func (s *Store) RevokeGrant(ctx context.Context, id, why string, at time.Time) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		g, err := s.q.WithTx(tx).RevokeGrant(ctx, db.RevokeGrantParams{ID: id, Why: &why, At: &at})
		if isNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		return audit.Write(ctx, tx, &policies.Principal{Kind: policies.System, ID: "oauth", Via: policies.ViaSystem}, audit.Event{
			Action: "revoke_grant", Outcome: audit.Deny, Element: g.ID, Reason: why,
			Detail: map[string]any{"client": g.ClientID, "person": g.PersonID},
		})
	})
	if err != nil {
		return fmt.Errorf("ending a grant: %w", err)
	}
	return nil
}

// RevokeGrantsOfUsed ends the grant of each of these refresh tokens that was
// used before, or leaves everything as it is where none was. The tokens are
// read in one query (OAUTH-24).
func (s *Store) RevokeGrantsOfUsed(ctx context.Context, refreshTokens [][]byte, at time.Time) error {
	grants, err := s.q.GrantsOfUsedRefreshTokens(ctx, refreshTokens)
	if err != nil {
		return fmt.Errorf("looking for used refresh tokens: %w", postgres.Translate(err))
	}
	for _, id := range grants {
		if err := s.RevokeGrant(ctx, id, WhyReuse, at); err != nil {
			return err
		}
	}
	return nil
}

// A HeldGrant is a standing grant, with the client that holds it.
type HeldGrant struct {
	ID         string
	PersonID   string
	Email      string // of the person; empty in [Store.GrantsOf], whose caller knows it
	ClientID   string
	ClientKind ClientKind
	ClientName string
	Scopes     []string
	Audience   string
	CreatedAt  time.Time
	LastUsedAt time.Time // when a token was last issued under it
}

// GrantsOf lists a person's standing grants, the newest first.
func (s *Store) GrantsOf(ctx context.Context, personID string) ([]HeldGrant, error) {
	rows, err := s.q.GrantsOf(ctx, personID)
	if err != nil {
		return nil, fmt.Errorf("listing grants: %w", postgres.Translate(err))
	}
	held := make([]HeldGrant, len(rows))
	for i, r := range rows {
		held[i] = HeldGrant{
			ID: r.ID, PersonID: personID, ClientID: r.ClientID, ClientKind: ClientKind(r.ClientKind), ClientName: r.ClientName,
			Scopes: r.Scopes, Audience: r.Audience, CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt,
		}
	}
	return held, nil
}

// Grants lists the standing grants of one person, by email or id, or of everybody
// where person is empty, the newest first, and says how many there are.
func (s *Store) Grants(ctx context.Context, person string, offset, limit int) (held []HeldGrant, total int, err error) {
	rows, err := s.q.Grants(ctx, db.GrantsParams{Person: person, Skip: int32(offset), Most: int32(limit)})
	if err != nil {
		return nil, 0, fmt.Errorf("listing grants: %w", postgres.Translate(err))
	}
	count, err := s.q.CountGrants(ctx, person)
	if err != nil {
		return nil, 0, fmt.Errorf("counting grants: %w", postgres.Translate(err))
	}
	held = make([]HeldGrant, len(rows))
	for i, r := range rows {
		held[i] = HeldGrant{
			ID: r.ID, PersonID: r.PersonID, Email: r.Email, ClientID: r.ClientID, ClientKind: ClientKind(r.ClientKind), ClientName: r.ClientName,
			Scopes: r.Scopes, Audience: r.Audience, CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt,
		}
	}
	return held, int(count), nil
}

// EndAnyGrant ends anybody's grant for an admin. An unknown or ended one is
// [postgres.ErrNotFound].
func (s *Store) EndAnyGrant(ctx context.Context, by *policies.Principal, grantID string, at time.Time) error {
	why := WhyEndedByAdmin
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		g, err := s.q.WithTx(tx).RevokeGrant(ctx, db.RevokeGrantParams{ID: grantID, Why: &why, At: &at})
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: "revoke_grant", Outcome: audit.Allow, Element: g.ID, Reason: why,
			Detail: map[string]any{"client": g.ClientID, "person": g.PersonID},
		})
	})
	if err != nil {
		return fmt.Errorf("ending a grant: %w", err)
	}
	return nil
}

// EndGrant ends a grant of the caller's own. Another person's grant, like an
// unknown or ended one, is [postgres.ErrNotFound].
func (s *Store) EndGrant(ctx context.Context, by *policies.Principal, grantID string, at time.Time) error {
	why := WhyEnded
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		n, err := s.q.WithTx(tx).EndGrantOf(ctx, db.EndGrantOfParams{ID: grantID, PersonID: by.ID, Why: &why, At: &at})
		if err != nil {
			return err
		}
		if n == 0 {
			return postgres.ErrNotFound
		}
		return audit.Write(ctx, tx, by, audit.Event{Action: "end_grant", Outcome: audit.Allow, Element: grantID})
	})
	if err != nil {
		return fmt.Errorf("ending a grant: %w", err)
	}
	return nil
}

// EndConsent ends the caller's consent to a client with all grants under it.
// One that does not stand is [postgres.ErrNotFound].
func (s *Store) EndConsent(ctx context.Context, by *policies.Principal, clientID string, at time.Time) error {
	why := WhyConsentEnded
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		// The consent first: an Allow that is under way holds its row, and what
		// it adds has to be seen by the second statement.
		n, err := q.EndConsent(ctx, db.EndConsentParams{PersonID: by.ID, ClientID: clientID, At: &at})
		if err != nil {
			return err
		}
		if n == 0 {
			return postgres.ErrNotFound
		}
		ended, err := q.EndGrantsOfConsent(ctx, db.EndGrantsOfConsentParams{
			PersonID: by.ID, ClientID: clientID, Why: &why, At: &at,
		})
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: "end_consent", Outcome: audit.Allow, Element: clientID, Detail: map[string]any{"grants": ended},
		})
	})
	if err != nil {
		return fmt.Errorf("ending a consent: %w", err)
	}
	return nil
}
