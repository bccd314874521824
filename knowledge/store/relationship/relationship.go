// Package relationship keeps what the api read of models' relationships under
// people's tokens, since the scanner does not give them. It is one set for
// everybody, and it only grows: who sees less of a model takes nothing away.
package relationship

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// A Store writes as the api.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a Store over a pool of the role api_rw.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// Add adds what one person saw of a dataset, and records that it was read.
func (s *Store) Add(ctx context.Context, datasetID, personID string, seen []knowledge.Relationship) error {
	p := db.AddRelationshipsParams{DatasetID: datasetID}
	type ends struct{ fromTable, fromColumn, toTable, toColumn string }
	added := map[ends]bool{}
	for _, r := range seen {
		key := ends{r.FromTable, r.FromColumn, r.ToTable, r.ToColumn}
		if added[key] {
			continue
		}
		added[key] = true
		p.FromTables = append(p.FromTables, r.FromTable)
		p.FromColumns = append(p.FromColumns, r.FromColumn)
		p.ToTables = append(p.ToTables, r.ToTable)
		p.ToColumns = append(p.ToColumns, r.ToColumn)
		p.Names = append(p.Names, r.Name)
		p.IsActive = append(p.IsActive, !r.Inactive)
		p.BothFilter = append(p.BothFilter, r.BothFilter)
		p.BothSecure = append(p.BothSecure, r.BothSecure)
		p.FromOne = append(p.FromOne, r.FromOne)
		p.ToMany = append(p.ToMany, r.ToMany)
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if len(added) > 0 {
			if err := q.AddRelationships(ctx, p); err != nil {
				return err
			}
		}
		return q.SetModelRead(ctx, db.SetModelReadParams{DatasetID: datasetID, ReadBy: &personID})
	})
	if err != nil {
		return fmt.Errorf("storing relationships: %w", err)
	}
	return nil
}

// Why a dataset could not be read.
const (
	Refused = "refused" // Power BI refused the person
	Failed  = "failed"  // it may work later
)

// Fail records why a dataset could not be read, unless it has been.
func (s *Store) Fail(ctx context.Context, datasetID, personID, state, reason string) error {
	p := db.SetModelUnreadParams{DatasetID: datasetID, State: state, Reason: reason, ReadBy: &personID}
	if err := db.New(s.pool).SetModelUnread(ctx, p); err != nil {
		return fmt.Errorf("storing why relationships are not known: %w", postgres.Translate(err))
	}
	return nil
}

// Readers returns people who are connected, those first under whose token the
// dataset is most likely to be read.
func (s *Store) Readers(ctx context.Context, datasetID string, most int) ([]string, error) {
	ids, err := db.New(s.pool).ModelReaders(ctx, db.ModelReadersParams{DatasetID: datasetID, HowMany: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("finding somebody to read a model as: %w", postgres.Translate(err))
	}
	return ids, nil
}

// InUse returns the datasets that somebody queried since a time and that nobody
// has read since another.
func (s *Store) InUse(ctx context.Context, queriedSince, notReadSince time.Time) ([]string, error) {
	ids, err := db.New(s.pool).ModelsInUse(ctx, db.ModelsInUseParams{Since: queriedSince, ReadBefore: notReadSince})
	if err != nil {
		return nil, fmt.Errorf("finding models in use: %w", postgres.Translate(err))
	}
	return ids, nil
}
