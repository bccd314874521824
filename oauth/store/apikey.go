package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// APIKeyPrefix begins every API key, and no token of another kind.
const APIKeyPrefix = "pbmb_sk_"

// An APIKey is a key as it is kept: without the key itself.
type APIKey struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // when it stops at the latest, as its account has it now
	RevokedAt time.Time // zero where it was not
	Live      bool      // neither revoked nor past ExpiresAt, by the database's clock
}

// newAPIKey makes a key: 32 random bytes behind the prefix.
func newAPIKey() string {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	return APIKeyPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
}

// CreateAPIKey makes a key of an account, good for some days, on behalf of by and
// audits it, in one transaction. What it returns first is the key itself, which is
// kept nowhere. The error is [postgres.ErrNotFound] where there is no such account.
func (s *Store) CreateAPIKey(ctx context.Context, by *policies.Principal, accountID, name string, days int) (key string, made APIKey, err error) {
	key = newAPIKey()
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		account, err := q.ServiceAccount(ctx, accountID)
		if err != nil {
			return err
		}
		r, err := q.CreateAPIKey(ctx, db.CreateAPIKeyParams{
			AccountID: accountID, Digest: Digest(key), Name: name, CreatedBy: by.Label(), Days: int32(days),
		})
		if err != nil {
			return err
		}
		made = APIKey{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, ExpiresAt: r.ExpiresAt, Live: true}
		return auditAPIKey(ctx, tx, by, "create_service_account_key", account, made.ID, made.Name)
	})
	if err != nil {
		return "", APIKey{}, fmt.Errorf("creating an API key: %w", err)
	}
	return key, made, nil
}

// APIKeys returns the keys of an account, the newest first, or
// [postgres.ErrNotFound] where there is no such account.
func (s *Store) APIKeys(ctx context.Context, accountID string) (keys []APIKey, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if _, err := q.ServiceAccount(ctx, accountID); err != nil {
			return err
		}
		rows, err := q.APIKeysOf(ctx, accountID)
		for _, r := range rows {
			k := APIKey{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, ExpiresAt: r.ExpiresAt, Live: r.Live}
			if r.RevokedAt != nil {
				k.RevokedAt = *r.RevokedAt
			}
			keys = append(keys, k)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing API keys: %w", err)
	}
	return keys, nil
}

// RevokeAPIKey ends a key of an account on behalf of by and audits it, in one
// transaction, or returns [postgres.ErrNotFound].
func (s *Store) RevokeAPIKey(ctx context.Context, by *policies.Principal, accountID, keyID string) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		account, err := q.ServiceAccount(ctx, accountID)
		if err != nil {
			return err
		}
		name, err := q.RevokeAPIKey(ctx, db.RevokeAPIKeyParams{ID: keyID, AccountID: accountID})
		if err != nil {
			return err
		}
		return auditAPIKey(ctx, tx, by, "revoke_service_account_key", account, keyID, name)
	})
	if err != nil {
		return fmt.Errorf("revoking an API key: %w", err)
	}
	return nil
}

func auditAPIKey(ctx context.Context, tx pgx.Tx, by *policies.Principal, action string, account db.ServiceAccount, keyID, name string) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: action, Outcome: audit.Allow, Element: account.ID,
		Detail: map[string]any{"account": account.Name, "key": keyID, "key_name": name},
	})
}

// An APIKeyCaller is a service account as of this moment, with the key that it
// came by.
type APIKeyCaller struct {
	AccountID    string
	Name         string
	KeyID        string
	Roles        []string // sorted, as are all lists here
	WorkspaceIDs []string
	AppIDs       []string
	Sources      []netip.Prefix
}

// CallerByAPIKey returns [postgres.ErrNotFound] for a key that is unknown or no
// longer counts. It is one query, by the key's digest.
func (s *Store) CallerByAPIKey(ctx context.Context, digest []byte) (*APIKeyCaller, error) {
	r, err := s.q.CallerByAPIKey(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("reading the account of an API key: %w", postgres.Translate(err))
	}
	return &APIKeyCaller{
		AccountID: r.ID, Name: r.Name, KeyID: r.KeyID, Sources: r.SourceCidrs,
		Roles: sortedSet(r.Roles), WorkspaceIDs: sortedSet(r.WorkspaceIds), AppIDs: sortedSet(r.AppIds),
	}, nil
}
