package visibility_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// BenchmarkList reads the first page of 12,500 datasets and counts them, for a
// person who reaches 10,000 of them one by one, beside the same without a filter
// (PERF-05), and for one who reaches a tenth of them by workspace.
func BenchmarkList(b *testing.B) {
	db := postgrestest.New(b)
	exec(b, db.Worker(), `insert into powerbi_workspace (id, name, folded)
		select ('a0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'workspace ' || n, 'workspace ' || n from generate_series(0, 5999) n`)
	exec(b, db.Worker(), `insert into powerbi_dataset (id, workspace_id, name, folded)
		select ('d0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ('a0000000-0000-4000-8000-' || lpad((n % 6000)::text, 12, '0'))::uuid,
			'dataset ' || n, 'dataset ' || n from generate_series(0, 12499) n`)
	service := visibility.New(cerbostest.NewDecider(b), slog.New(slog.DiscardHandler))

	many := &policies.Principal{Kind: policies.Person, ID: "many", Roles: []string{"viewer"}, ObjectIDs: []string{id('e', 1)}}
	for n := range 10_000 {
		many.DatasetIDs = append(many.DatasetIDs, id('d', n))
	}
	exec(b, db.Worker(), `insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'dataset', id, $1, 'Read' from unnest($2::uuid[]) id`,
		many.ObjectIDs[0], many.DatasetIDs)
	db.Exec(`vacuum analyze`)
	few := &policies.Principal{Kind: policies.Person, ID: "few", Roles: []string{"viewer"}}
	for n := range 600 {
		few.WorkspaceIDs = append(few.WorkspaceIDs, id('a', n))
	}
	list := func(b *testing.B, condition string, args []any, want int) {
		b.Helper()
		var total int
		if err := db.API().QueryRow(b.Context(), `select count(*) from powerbi_dataset d where `+condition, args...).Scan(&total); err != nil {
			b.Fatal(err)
		}
		if total != want {
			b.Fatalf("%d datasets, want %d", total, want)
		}
		rows, err := db.API().Query(b.Context(), `select d.id from powerbi_dataset d where `+condition+` order by d.folded, d.id limit 50`, args...)
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
		}
		if rows.Err() != nil {
			b.Fatal(rows.Err())
		}
	}
	b.Run("no filter", func(b *testing.B) {
		for b.Loop() {
			list(b, "true", nil, 12_500)
		}
	})
	for _, c := range []struct {
		name string
		p    *policies.Principal
		want int
	}{{"10000 shares", many, 10_000}, {"600 workspaces", few, 1_700}} {
		// From the second request on the plan is remembered.
		if _, err := service.For(b.Context(), c.p); err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				v, err := service.For(b.Context(), c.p)
				if err != nil {
					b.Fatal(err)
				}
				var args visibility.Args
				list(b, v.Datasets("d", args.Add), args, c.want)
			}
		})
		b.Run(c.name+"/view alone", func(b *testing.B) {
			for b.Loop() {
				v, err := service.For(b.Context(), c.p)
				if err != nil {
					b.Fatal(err)
				}
				var args visibility.Args
				if sql := v.Datasets("d", args.Add); sql == fmt.Sprint(false) {
					b.Fatal(sql)
				}
			}
		})
	}
}
