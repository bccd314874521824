package mirror_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// A tenant of a tenth of what PERF-04 asks for.
const (
	workspaces = 600
	datasets   = 2  // in each workspace
	tables     = 5  // in each dataset
	columns    = 16 // in each table
	measures   = 4  // in each table
)

func uuid(kind, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n) }

func workspace(n int) mirror.Workspace {
	w := mirror.Workspace{ID: uuid(1, n), Name: fmt.Sprint("Workspace ", n), Type: "Workspace"}
	for i := range 5 {
		w.Access = append(w.Access, mirror.Entry{ObjectID: uuid(9, (n*7+i)%500), Right: "Viewer"})
	}
	for d := range datasets {
		ds := mirror.Dataset{ID: uuid(2, n*datasets+d), Name: fmt.Sprint("Dataset ", n, d)}
		for t := range tables {
			table := knowledge.Table{Name: fmt.Sprint("Table ", t)}
			for c := range columns {
				table.Columns = append(table.Columns, knowledge.Column{Name: fmt.Sprint("Column ", c), DataType: knowledge.Int64})
			}
			for m := range measures {
				table.Measures = append(table.Measures, knowledge.Measure{
					Name: fmt.Sprint("Measure ", t, m), Expression: fmt.Sprintf("SUMX ( 'Table %d', [Column 1] * [Column %d] )", t, m),
				})
			}
			ds.Tables = append(ds.Tables, table)
		}
		w.Datasets = append(w.Datasets, ds)
	}
	return w
}

// BenchmarkFullRun compares three runs with a bare COPY of the same rows into the
// same tables with the same indexes: the first of all, one after which every
// schema is another, and one that finds everything as it was. PERF-04
func BenchmarkFullRun(b *testing.B) {
	for b.Loop() {
		db := postgrestest.New(b)
		w := mirror.New(db.Worker())
		full := func(change string) time.Duration {
			began := time.Now()
			run, err := w.Begin(b.Context(), mirror.Full)
			if err != nil {
				b.Fatal(err)
			}
			const batch = 50
			for n := 0; n < workspaces; n += batch {
				var list []mirror.Workspace
				for i := n; i < n+batch; i++ {
					ws := workspace(i)
					for d := range ws.Datasets {
						ws.Datasets[d].Tables[0].Description = change
					}
					list = append(list, ws)
				}
				if _, err := run.WriteWorkspaces(b.Context(), list); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := run.Complete(b.Context()); err != nil {
				b.Fatal(err)
			}
			return time.Since(began)
		}
		bare := bareCopy(b)
		first, changed, same := full(""), full("other"), full("other")
		b.ReportMetric(bare.Seconds(), "s-copy")
		b.ReportMetric(first.Seconds()/bare.Seconds(), "first/copy")
		b.ReportMetric(changed.Seconds()/bare.Seconds(), "changed/copy")
		b.ReportMetric(same.Seconds()/bare.Seconds(), "same/copy")
	}
}

// bareCopy copies the rows of tables, columns and measures, ids included, as the
// owner of the tables.
func bareCopy(b *testing.B) time.Duration {
	b.Helper()
	db := postgrestest.New(b)
	conn, err := pgx.Connect(b.Context(), db.URL(postgres.Migrator))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	var ws, ds, ts, cs, ms [][]any
	for n := range workspaces {
		w := workspace(n)
		ws = append(ws, []any{w.ID, w.Name, knowledge.Fold(w.Name)})
		for _, d := range w.Datasets {
			ds = append(ds, []any{d.ID, w.ID, d.Name, knowledge.Fold(d.Name)})
			for _, t := range d.Tables {
				id := int64(len(ts) + 1)
				ts = append(ts, []any{id, d.ID, t.Name, knowledge.Fold(t.Name)})
				for _, c := range t.Columns {
					cs = append(cs, []any{d.ID, id, c.Name, knowledge.Fold(c.Name), string(c.DataType)})
				}
				for _, m := range t.Measures {
					ms = append(ms, []any{d.ID, id, m.Name, knowledge.Fold(m.Name), m.Expression})
				}
			}
		}
	}
	began := time.Now()
	for _, c := range []struct {
		table   string
		columns []string
		rows    [][]any
	}{
		{"powerbi_workspace", []string{"id", "name", "folded"}, ws},
		{"powerbi_dataset", []string{"id", "workspace_id", "name", "folded"}, ds},
		{"powerbi_table", []string{"id", "dataset_id", "name", "folded"}, ts},
		{"powerbi_column", []string{"dataset_id", "table_id", "name", "folded", "data_type"}, cs},
		{"powerbi_measure", []string{"dataset_id", "table_id", "name", "folded", "expression"}, ms},
	} {
		if _, err := conn.CopyFrom(b.Context(), pgx.Identifier{c.table}, c.columns, pgx.CopyFromRows(c.rows)); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
