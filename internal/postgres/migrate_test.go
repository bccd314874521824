package postgres_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// OPS-14, OPS-10
func TestMigrateByTwoAtOnce(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = postgres.Migrate(t.Context(), db.URL(postgres.Migrator)) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("migration %d of %d at once: %v", i+1, len(errs), err)
		}
	}
	version, err := postgres.Version(t.Context(), db.API())
	if err != nil || version != postgres.Expected() {
		t.Errorf("version %d, %v; want %d", version, err, postgres.Expected())
	}
}

// OPS-14
func TestMigrateRefusesANewerDatabase(t *testing.T) {
	t.Parallel()
	for name, newer := range map[string]string{
		"with another file":           "insert into schema_migration (number, name, digest) values (9999, '9999_later.sql', '')",
		"with another queue version":  "insert into river_migration (line, version) values ('main', 9999)",
		"with both, as an upgrade is": "insert into schema_migration (number, name, digest) values (9999, '9999_later.sql', ''); insert into river_migration (line, version) values ('main', 9999)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			if err := postgres.Migrate(t.Context(), db.URL(postgres.Migrator)); err != nil {
				t.Fatalf("before there is anything newer: %v", err)
			}
			db.Exec(newer)
			if err := postgres.Migrate(t.Context(), db.URL(postgres.Migrator)); !errors.Is(err, postgres.ErrNewer) {
				t.Errorf("got %v, want ErrNewer", err)
			}
		})
	}
}

// OPS-14
func TestMigrateRefusesAnEditedFile(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("update schema_migration set digest = 'of another text' where number = 1")
	if err := postgres.Migrate(t.Context(), db.URL(postgres.Migrator)); err == nil || errors.Is(err, postgres.ErrNewer) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
