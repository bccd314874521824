// Package store keeps.
package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

type Store struct{ Tx pgx.Tx }

func (s *Store) Search() {}

func (s *Store) SetRule(ctx context.Context) error {
	_, err := s.Tx.Exec(ctx, "insert into pii_rule default values")
	return err
}
