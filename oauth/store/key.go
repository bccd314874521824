package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// A Key is a signing key; its private half is sealed.
type Key struct {
	ID        string
	Public    []byte
	Sealed    []byte
	CreatedAt time.Time
}

// Keys lists the signing keys, the newest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	keys, err := readKeys(ctx, s.q)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", postgres.Translate(err))
	}
	return keys, nil
}

// KeysOrFirst lists the signing keys after adding the one that create returns
// where there is none. Of several processes that start at once, one creates.
func (s *Store) KeysOrFirst(ctx context.Context, create func() (Key, error)) ([]Key, error) {
	var keys []Key
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		err := q.LockKeys(ctx)
		if err != nil {
			return err
		}
		if keys, err = readKeys(ctx, q); err != nil || len(keys) > 0 {
			return err
		}
		key, err := create()
		if err != nil {
			return err
		}
		keys = []Key{key}
		return q.InsertKey(ctx, db.InsertKeyParams{
			Kid: key.ID, PublicKey: key.Public, PrivateKey: key.Sealed, At: key.CreatedAt,
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys: %w", err)
	}
	return keys, nil
}

func readKeys(ctx context.Context, q *db.Queries) ([]Key, error) {
	rows, err := q.Keys(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(rows))
	for i, r := range rows {
		keys[i] = Key{ID: r.Kid, Public: r.PublicKey, Sealed: r.PrivateKey, CreatedAt: r.CreatedAt}
	}
	return keys, nil
}

// ResealKeys gives reseal the private half of each signing key as it is sealed, and
// keeps what comes back where it is another.
func (s *Store) ResealKeys(ctx context.Context, reseal func(sealed []byte) (fresh []byte, changed bool, err error)) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if err := q.LockKeys(ctx); err != nil {
			return err
		}
		keys, err := readKeys(ctx, q)
		if err != nil {
			return err
		}
		for _, k := range keys {
			fresh, changed, err := reseal(k.Sealed)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			if err := q.SaveSealedKey(ctx, db.SaveSealedKeyParams{Kid: k.ID, PrivateKey: fresh}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("resealing the signing keys: %w", err)
	}
	return nil
}
