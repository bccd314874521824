package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

func TestTranslateTellsApart(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	pool := db.API()
	run := func(sql string) error {
		_, err := pool.Exec(t.Context(), sql)
		return err
	}
	if err := run("insert into setting (key, value) values ('k', '1')"); err != nil {
		t.Fatal(err)
	}
	var key string
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"a second row with the key":   {run("insert into setting (key, value) values ('k', '2')"), postgres.ErrDuplicate},
		"a table of another role":     {run("delete from powerbi_dataset"), postgres.ErrDenied},
		"a row that is not there":     {pool.QueryRow(t.Context(), "select key from setting where key = 'x'").Scan(&key), postgres.ErrNotFound},
		"a server that is not there":  {dial(t, "postgres://api_rw@/x?host=/nonexistent"), postgres.ErrUnavailable},
		"a port that nobody answers":  {dial(t, "postgres://api_rw@127.0.0.1:1/x"), postgres.ErrUnavailable},
		"a session that was ended":    {ended(t, db), postgres.ErrUnavailable},
		"a serialization that failed": {serialization(t, db), postgres.ErrConflict},
	} {
		err := postgres.Translate(fmt.Errorf("doing it: %w", c.err))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if again := postgres.Translate(err); again != err {
			t.Errorf("%s: translated twice: %v", name, again)
		}
	}
	if err := postgres.Translate(context.Canceled); err != context.Canceled {
		t.Errorf("an error that is not the database's: got %v", err)
	}
}

// NET-42
func TestTranslateLeavesParametersOut(t *testing.T) {
	t.Parallel()
	const mark = "mark-of-a-secret"
	db := postgrestest.New(t)
	pool := db.API()
	if _, err := pool.Exec(t.Context(), "insert into setting (key, value) values ($1, '1')", mark); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sql  string
		args []any
	}{
		"a duplicate key":                   {"insert into setting (key, value) values ($1, '1')", []any{mark}},
		"text that is no uuid":              {"select $1::text::uuid", []any{mark}},
		"text that is no number":            {"select $1::text::int", []any{mark}},
		"text that is no JSON":              {"select $1::text::jsonb", []any{mark}},
		"a value refused before it is sent": {"select id from person where id = $1", []any{mark}},
		"a check that fails":                {"insert into account (provider, account_id, person_id) values ('x', $1, gen_random_uuid())", []any{strings.ToUpper(mark)}},
		"a null where none may be":          {"insert into setting (key, value) values ($1, null)", []any{mark + "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := postgres.Tx(t.Context(), pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), c.sql, c.args...); err != nil {
					return fmt.Errorf("first: %w", fmt.Errorf("second: %w", err))
				}
				return nil
			})
			if err == nil {
				t.Fatal("the statement did not fail")
			}
			if text := strings.ToLower(fmt.Sprintf("%v %+v %q", err, err, err)); strings.Contains(text, mark) {
				t.Errorf("the error repeats the parameter: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "first: second: ") {
				t.Errorf("the error lost its callers' words: %v", err)
			}
		})
	}
}

func dial(t *testing.T, url string) error {
	t.Helper()
	_, err := pgx.Connect(t.Context(), url)
	if err == nil {
		t.Fatalf("%s answers", url)
	}
	return err
}

// ended is the error of a query whose session somebody ended.
func ended(t *testing.T, db *postgrestest.Database) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL(postgres.API))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	db.Exec("select pg_terminate_backend($1)", conn.PgConn().PID())
	_, err = conn.Exec(t.Context(), "select 1")
	return err
}

// serialization is the error of the later of two transactions that each read
// what the other writes.
func serialization(t *testing.T, db *postgrestest.Database) error {
	t.Helper()
	var txs [2]pgx.Tx
	for i := range txs {
		conn, err := pgx.Connect(t.Context(), db.URL(postgres.API))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if txs[i], err = conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.Serializable}); err != nil {
			t.Fatal(err)
		}
	}
	for i, tx := range txs {
		if _, err := tx.Exec(t.Context(), "select count(*) from setting"); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "insert into setting (key, value) values ($1, '1')", fmt.Sprint("serial", i)); err != nil {
			return err
		}
	}
	if err := txs[0].Commit(t.Context()); err != nil {
		return err
	}
	return txs[1].Commit(t.Context())
}
