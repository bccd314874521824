package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

// JOBS-22: of the mirror the api writes the book's own description and custom
// fields, and nothing else. What it reads of models under people's tokens stands
// in tables that it writes and the worker does not add to.
func TestTheAPIWritesNothingOfTheMirror(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	var columns []string
	db.QueryRow(`select array_agg(table_name || ' ' || column_name || ' ' || is_identity order by table_name, ordinal_position)
		from information_schema.columns where table_schema = 'public' and table_name like 'powerbi\_%' and table_name <> 'powerbi_connection'`, nil, &columns)
	own := 0
	var tables []string
	for _, c := range columns {
		f := strings.Fields(c)
		table, column := f[0], f[1]
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
		_, err := db.API().Exec(t.Context(), "update "+table+" set "+pgx.Identifier{column}.Sanitize()+" = default where false")
		may := column == "own_description" || column == "custom"
		if may {
			own++
		}
		if (err == nil) != may || err != nil && !strings.Contains(err.Error(), "42501") {
			t.Errorf("update of %s.%s: %v", table, column, err)
		}
	}
	if own != 8 || !slices.Contains(tables, "powerbi_access") {
		t.Errorf("%d columns of the book's own in %v", own, tables)
	}
	for _, table := range tables {
		for _, statement := range []string{"insert into " + table + " default values", "delete from " + table, "truncate " + table} {
			if _, err := db.API().Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "42501") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	for _, table := range []string{"model_relationship", "model_calculation_group", "model_calculation_item", "model_function", "model_read"} {
		if _, err := db.Worker().Exec(t.Context(), "insert into "+table+" default values"); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("the worker inserts into %s: %v", table, err)
		}
	}
}
