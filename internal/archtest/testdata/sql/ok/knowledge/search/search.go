package search

import (
	"context"

	"github.com/jackc/pgx/v5"
)

func Search(ctx context.Context, tx pgx.Tx, condition string) error {
	_, err := tx.Exec(ctx, "select "+condition)
	return err
}
