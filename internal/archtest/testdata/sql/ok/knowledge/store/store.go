package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/archtest/testdata/sql/ok/knowledge/visibility"
)

const (
	columns = "id, name"
	list    = "select " + columns + " from t where {datasets d}"
)

func Read(ctx context.Context, tx pgx.Tx, v *visibility.View) error {
	if _, err := tx.Exec(ctx, "delete from t where id = $1", 1); err != nil {
		return err
	}
	sql := "select " + columns + " from t"
	if _, err := tx.Query(ctx, sql); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue("select 1")
	_, err := rows[int](ctx, tx, v, list)
	return err
}

// rows passes on what it was given.
func rows[T any](ctx context.Context, tx pgx.Tx, v *visibility.View, text string) ([]T, error) {
	sql, args := v.Statement(text, nil)
	found, err := tx.Query(ctx, sql, pgx.NamedArgs(args))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[T])
}

// choose passes on one of two that it was given.
func choose(ctx context.Context, tx pgx.Tx, all, one string, single bool) error {
	text := all
	if single {
		text = one
	}
	_, err := tx.Exec(ctx, text)
	return err
}

func chosen(ctx context.Context, tx pgx.Tx) error {
	return choose(ctx, tx, "select 1", "select 2", true)
}
