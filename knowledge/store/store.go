// Package store keeps what the product knows in PostgreSQL. Fixed queries are in
// queries/ and become package db; lists and searches, whose conditions depend on
// who asks, are constant texts that a [visibility.View] completes. Each exported
// method is one transaction, and one that changes something audits it there.
package store

import (
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Store reads and writes as the api.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a store over a pool of the role api_rw.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }
