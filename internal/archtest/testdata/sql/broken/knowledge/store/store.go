package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/archtest/testdata/sql/broken/knowledge/visibility"
)

func Read(ctx context.Context, tx pgx.Tx, v *visibility.View, name string) {
	_, _ = tx.Exec(ctx, fmt.Sprintf("delete from t where name = '%s'", name)) // want "the SQL given to Exec is put together"
	_, _ = tx.Query(ctx, "select * from t where name = '"+name+"'")           // want "the SQL given to Query is put together"
	var b strings.Builder
	b.WriteString(name)
	_ = tx.QueryRow(ctx, b.String()) // want "the SQL given to QueryRow is put together"
	batch := &pgx.Batch{}
	batch.Queue("select " + name) // want "the SQL given to Queue is put together"
	sql := "select 1"
	sql += name
	_, _ = tx.Exec(ctx, sql)                            // want "the SQL given to Exec is put together"
	completed, args := v.Statement("select "+name, nil) // want "the SQL given to Statement is put together"
	_, _ = tx.Exec(ctx, completed, args)
	pass(ctx, tx, "select 1")
	pass(ctx, tx, "select "+name) // want "the SQL given to pass is put together"
	change(ctx, tx, "select 1")
	_ = again(ctx, tx, fmt.Sprint(name))
	type row struct{ sql string }
	_, _ = tx.Exec(ctx, row{name}.sql) // want "the SQL given to Exec is put together"
}

func choose(ctx context.Context, tx pgx.Tx, all, one string, single bool) {
	text := all
	if single {
		text = one
	}
	_, _ = tx.Exec(ctx, text)
}

func chosen(ctx context.Context, tx pgx.Tx, name string) {
	choose(ctx, tx, "select 1", "select "+name, true) // want "the SQL given to choose is put together"
}

func pass(ctx context.Context, tx pgx.Tx, text string) { _, _ = tx.Exec(ctx, text) }

func again[T any](ctx context.Context, tx pgx.Tx, text T) error {
	_, err := tx.Exec(ctx, any(text).(string)) // want "the SQL given to Exec is put together"
	pass(ctx, tx, "select 1")
	return err
}

func change(ctx context.Context, tx pgx.Tx, text string) {
	text = strings.ToUpper(text)
	_, _ = tx.Exec(ctx, text) // want "the SQL given to Exec is put together"
}
