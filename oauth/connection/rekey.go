package connection

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/oauth/connection/db"
)

// Rekey seals every token for the identity that the vault seals with, by the key
// in memory. Tokens that the vault does not open are left as they are: their people
// connect anew. It can be broken off and done again.
func (c *Connections) Rekey(ctx context.Context) error {
	return c.eachSealed(ctx, func(row db.SealedTokensRow) error {
		stale, err := c.stale(row.AccessToken, row.RefreshToken)
		if err != nil || !stale {
			return err
		}
		return c.rekey(ctx, row.PersonID)
	})
}

// rekey reseals one person's tokens while nobody spends or replaces them.
func (c *Connections) rekey(ctx context.Context, personID string) error {
	err := postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.LockConnection(ctx, personID)
		if err != nil || stands(row.State, nil) != nil {
			return err
		}
		access, _, err := c.reseal(row.AccessToken)
		if err != nil {
			return err
		}
		refresh, _, err := c.reseal(row.RefreshToken)
		if err != nil {
			return err
		}
		return q.ResealTokens(ctx, db.ResealTokensParams{PersonID: personID, AccessToken: access, RefreshToken: refresh})
	})
	if err != nil {
		return fmt.Errorf("resealing a connection: %w", err)
	}
	return nil
}

func (c *Connections) stale(tokens ...[]byte) (bool, error) {
	for _, sealed := range tokens {
		if _, changed, err := c.reseal(sealed); err != nil || changed {
			return changed, err
		}
	}
	return false, nil
}

func (c *Connections) reseal(sealed []byte) (fresh []byte, changed bool, err error) {
	if sealed == nil {
		return nil, false, nil
	}
	if fresh, changed, err = c.vault.Reseal(sealed); errors.Is(err, vault.ErrNotReader) {
		return sealed, false, nil
	}
	return fresh, changed, err
}

// EachSealed gives f every token as it is stored.
func (c *Connections) EachSealed(ctx context.Context, f func(sealed []byte) error) error {
	return c.eachSealed(ctx, func(row db.SealedTokensRow) error {
		for _, sealed := range [][]byte{row.AccessToken, row.RefreshToken} {
			if sealed == nil {
				continue
			}
			if err := f(sealed); err != nil {
				return err
			}
		}
		return nil
	})
}

// atOnce is how many people's tokens are read in one go.
const atOnce = 500

func (c *Connections) eachSealed(ctx context.Context, f func(db.SealedTokensRow) error) error {
	after := "00000000-0000-0000-0000-000000000000"
	for {
		rows, err := db.New(c.pool).SealedTokens(ctx, db.SealedTokensParams{After: after, UpTo: atOnce})
		if err != nil {
			return fmt.Errorf("reading connections: %w", postgres.Translate(err))
		}
		for _, row := range rows {
			if err := f(row); err != nil {
				return err
			}
			after = row.PersonID
		}
		if len(rows) < atOnce {
			return nil
		}
	}
}

// ToRemake counts the people who have to make their connection again.
func (c *Connections) ToRemake(ctx context.Context) (int, error) {
	n, err := db.New(c.pool).CountConnections(ctx, string(NeedsReconnect))
	if err != nil {
		return 0, fmt.Errorf("counting connections: %w", postgres.Translate(err))
	}
	return int(n), nil
}
