package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// ErrNewer is returned, wrapped, when the database was migrated by a newer
// binary than this one.
var ErrNewer = errors.New("the database is newer than this program")

// A migration is one file: it runs once, in a transaction of its own.
type migration struct {
	number int
	name   string // of its file
	sql    string
	digest string // of sql, to notice a file that was edited after it landed
}

// Migrate brings the database up to what this binary expects. First come the
// migrations of the job queue, then our own files in the order of their
// numbers, which also grant on the queue's tables. Any number of processes may
// call it at once: one works and the others wait.
func Migrate(ctx context.Context, migratorURL string) error {
	migrations, err := readMigrations(migrationFiles)
	if err != nil {
		return err
	}
	return migrate(ctx, migratorURL, migrations)
}

// Expected is the number of the last migration that this binary knows.
func Expected() int {
	migrations, err := readMigrations(migrationFiles)
	if err != nil {
		panic(err) // the files are part of the binary, and every test reads them
	}
	return migrations[len(migrations)-1].number
}

// Version is the number of the last migration that was applied to the
// database; every role may ask.
func Version(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	var number int
	err := pool.QueryRow(ctx, "select coalesce(max(number), 0) from schema_migration").Scan(&number)
	return number, Translate(err)
}

func migrate(ctx context.Context, url string, migrations []migration) error {
	pool, err := Open(ctx, url, Migrator)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer pool.Close()

	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrating: %w", Translate(err))
	}
	// Closing the connection lets the lock go, however far this came.
	defer conn.Release()
	defer conn.Conn().Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrateLock)); err != nil {
		return fmt.Errorf("waiting for another migration: %w", Translate(err))
	}

	applied, err := appliedMigrations(ctx, conn.Conn())
	if err != nil {
		return fmt.Errorf("reading what was migrated: %w", err)
	}
	if err := checkApplied(applied, migrations); err != nil {
		return err
	}
	if err := migrateQueue(ctx, pool); err != nil {
		return fmt.Errorf("migrating the job queue: %w", err)
	}
	for _, m := range migrations {
		if _, done := applied[m.number]; done {
			continue
		}
		if err := apply(ctx, conn.Conn(), m); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}

// migrateQueue runs River's migrations. They come in River's own transactions,
// since some of them cannot share one.
func migrateQueue(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var known bool
	if err := pool.QueryRow(ctx, "select to_regclass('river_migration') is not null").Scan(&known); err != nil {
		return Translate(err)
	}
	if known {
		versions := migrator.AllVersions()
		newest := versions[len(versions)-1].Version
		var found int
		if err := pool.QueryRow(ctx, "select coalesce(max(version), 0) from river_migration").Scan(&found); err != nil {
			return Translate(err)
		}
		if found > newest {
			return fmt.Errorf("%w: its job queue is at version %d and this program knows %d", ErrNewer, found, newest)
		}
		if found == newest {
			return nil
		}
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return Translate(err)
}

func apply(ctx context.Context, conn *pgx.Conn, m migration) error {
	return Tx(ctx, conn, func(tx pgx.Tx) error {
		// Without arguments the whole file goes as one simple query, which may
		// hold many statements.
		if _, err := tx.Exec(ctx, m.sql); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "insert into schema_migration (number, name, digest) values ($1, $2, $3)", m.number, m.name, m.digest)
		return err
	})
}

// appliedMigrations gives the digest of each applied migration by its number.
func appliedMigrations(ctx context.Context, conn *pgx.Conn) (map[int]string, error) {
	var exists bool
	if err := conn.QueryRow(ctx, "select to_regclass('schema_migration') is not null").Scan(&exists); err != nil {
		return nil, Translate(err)
	}
	applied := map[int]string{}
	if !exists {
		return applied, nil
	}
	rows, err := conn.Query(ctx, "select number, digest from schema_migration")
	if err != nil {
		return nil, Translate(err)
	}
	var (
		number int
		digest string
	)
	_, err = pgx.ForEachRow(rows, []any{&number, &digest}, func() error {
		applied[number] = digest
		return nil
	})
	return applied, Translate(err)
}

// checkApplied refuses a database that this binary cannot bring up to date.
func checkApplied(applied map[int]string, migrations []migration) error {
	byNumber := map[int]migration{}
	for _, m := range migrations {
		byNumber[m.number] = m
	}
	last := migrations[len(migrations)-1].number
	for number, digest := range applied {
		m, known := byNumber[number]
		switch {
		case !known:
			return fmt.Errorf("%w: it has migration %d and this program knows %d", ErrNewer, number, last)
		case m.digest != digest:
			return fmt.Errorf("migration %s differs from the one that made this database", m.name)
		}
	}
	return nil
}

// readMigrations reads the files in the order of their numbers, which must run
// from 1 without a gap.
func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	var migrations []migration
	for i, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("migration %s should have the number %04d", path.Base(name), i+1)
		}
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(sql)
		migrations = append(migrations, migration{number, path.Base(name), string(sql), hex.EncodeToString(digest[:])})
	}
	if len(migrations) == 0 {
		return nil, errors.New("there are no migrations")
	}
	return migrations, nil
}
