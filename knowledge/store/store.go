// Package store keeps what the product knows in PostgreSQL. Lists and searches,
// whose conditions depend on who asks, are constant texts that a [visibility.View]
// completes. A method that changes something is one transaction, which audits it.
//
// What is read of the tenant is written by packages mirror and relationship, whose
// queries are in queries/ and become package db.
package store

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/recent"
)

// A Store reads and writes as the api.
type Store struct {
	pool *pgxpool.Pool
	read *recent.Map[statement, answer]
}

// New returns a store over a pool of the role api_rw.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool, read: newRead()} }
