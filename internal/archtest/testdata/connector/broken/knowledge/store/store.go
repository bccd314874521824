// Package store keeps.
package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

type Store struct{ Tx pgx.Tx }

func (s *Store) Search() {}

func (s *Store) SetRule()     {}
func (s *Store) Aliased()     {}
func (s *Store) ByInterface() {}
func (s *Store) ByAnother()   {}
func (s *Store) ByField()     {}
func (s *Store) ByValue()     {}
func (s *Store) ByParameter() {}
func (s *Store) ByMap()       {}

// ListTables is on the list, and has come to write.
func (s *Store) ListTables(ctx context.Context) error {
	_, err := s.Tx.Exec(ctx, change) // want "knowledge/store.Store.ListTables, which writes"
	return err
}

const change = "update pii_rule set note = ''"
