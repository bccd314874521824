package check

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
)

// A Store keeps how checks ended. The database lets each container write its own.
type Store struct{ pool *pgxpool.Pool }

// NewStore returns the store over a pool of the api's or the worker's role.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool} }

func (s *Store) save(ctx context.Context, o Outcome) error {
	_, err := s.pool.Exec(ctx, `
		insert into setting_check (id, state, answer, checked_at) values ($1, $2, $3, clock_timestamp())
		on conflict (id) do update set state = excluded.state, answer = excluded.answer, checked_at = excluded.checked_at`,
		o.ID, o.State, o.Answer)
	if err != nil {
		return fmt.Errorf("keeping the outcome of the check %s: %w", o.ID, postgres.Translate(err))
	}
	return nil
}

// Outcomes returns how each check ended that was made and that the role may see.
func (s *Store) Outcomes(ctx context.Context) (map[ID]Outcome, error) {
	rows, err := s.pool.Query(ctx, "select id, state, answer, checked_at from setting_check")
	if err != nil {
		return nil, fmt.Errorf("reading how checks ended: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Outcome])
	if err != nil {
		return nil, fmt.Errorf("reading how checks ended: %w", postgres.Translate(err))
	}
	outcomes := map[ID]Outcome{}
	for _, o := range list {
		outcomes[o.ID] = o
	}
	return outcomes, nil
}

// Failing lists the checks that failed, in the order in which they are shown.
func (s *Store) Failing(ctx context.Context) ([]ID, error) {
	outcomes, err := s.Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	ids := []ID{}
	for _, d := range definitions {
		if outcomes[d.ID].State == Failed {
			ids = append(ids, d.ID)
		}
	}
	return ids, nil
}
