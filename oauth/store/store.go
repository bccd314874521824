// Package store is the database side of oauth: people and how they sign in,
// their sessions and roles, the clients that they let in, and everything that
// was ever issued to these. The queries are in queries/; sqlc turns them into
// package db. What a value means is decided by the packages that ask.
package store

import (
	"context"
	"crypto/sha256"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/recent"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// A Store reads and writes as the api. Each of its methods is one transaction,
// or a part of one in a Store that [Store.Within] returned.
type Store struct {
	begin    postgres.Beginner
	q        *db.Queries
	settings setting.Base
	pool     revision.DB
	callers  *recent.Map[credential, kept]
}

// New returns a Store over a pool of the role api_rw, where settings that are not
// saved hold what base says.
func New(pool *pgxpool.Pool, base setting.Base) *Store {
	return &Store{begin: pool, q: db.New(pool), settings: base, pool: pool, callers: newCallers()}
}

// Within returns a Store whose methods are part of tx.
func (s *Store) Within(tx pgx.Tx) *Store {
	// What is not committed is nobody else's to find.
	return &Store{begin: tx, q: db.New(tx), settings: s.settings, pool: tx, callers: newCallers()}
}

// Begin starts a transaction for [Store.Within]; the caller ends it.
func (s *Store) Begin(ctx context.Context) (pgx.Tx, error) { return s.begin.Begin(ctx) }

// Digest is the form in which a secret that a client or a browser holds is kept.
func Digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
