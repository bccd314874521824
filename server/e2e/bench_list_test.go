package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// The list of datasets and its count as the store asks for them, without what is
// looked for and without whom it is for.
const (
	unfilteredList = `
select d.id::text, d.name, d.workspace_id::text, w.name,
  array(select o.app_id::text from powerbi_app_dataset o join powerbi_app a on a.id = o.app_id and a.removed_at is null where o.dataset_id = d.id order by 1),
  array(select a.name from powerbi_app_dataset o join powerbi_app a on a.id = o.app_id and a.removed_at is null where o.dataset_id = d.id order by a.name),
  d.description, d.own_description, d.endorsement, d.sensitivity_label, d.has_row_level_security, d.schema_error, d.configured_by, d.custom, d.last_seen_at
from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
where d.removed_at is null
order by d.folded, d.id::text limit 50`

	unfilteredCount = `select count(*) from powerbi_dataset d where d.removed_at is null`
)

// listLimit is how many times longer than without a filter a list and its count may take.
const listLimit = 2

// listFigures measures the list of datasets for people who reach 10,000 of 12,500.
func listFigures(t *testing.T) section {
	const rounds = 41
	db := postgrestest.New(t)
	db.Exec(`insert into powerbi_workspace (id, name, folded)
		select ('a0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'workspace ' || n, 'workspace ' || n from generate_series(0, 5999) n`)
	db.Exec(`insert into powerbi_dataset (id, workspace_id, name, folded)
		select ('d0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ('a0000000-0000-4000-8000-' || lpad((n % 6000)::text, 12, '0'))::uuid,
			'dataset ' || n, 'dataset ' || n from generate_series(0, 12499) n`)
	reach := func(kind, letter string, object string, n int) []string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s0000000-0000-4000-8000-%012d", letter, i)
		}
		db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right) select $1, id, $2, 'Read' from unnest($3::uuid[]) id`, kind, object, ids)
		return ids
	}
	const shares, spaces = "e0000000-0000-4000-8000-000000000001", "e0000000-0000-4000-8000-000000000002"
	// 4,800 workspaces have 10,100 datasets.
	datasets, workspaces := reach("dataset", "d", shares, 10_000), reach("workspace", "a", spaces, 4800)
	db.Exec(`vacuum analyze`)
	views := visibility.New(cerbostest.NewDecider(t), slog.New(slog.DiscardHandler))
	book := store.New(db.API())

	callers := []struct {
		name string
		policies.Principal
		total int
	}{
		{"by 4,800 workspaces", policies.Principal{WorkspaceIDs: workspaces, ObjectIDs: []string{spaces}}, 10_100},
		{"by 10,000 single shares", policies.Principal{DatasetIDs: datasets, ObjectIDs: []string{shares}}, 10_000},
		{"by both", policies.Principal{DatasetIDs: datasets, WorkspaceIDs: workspaces, ObjectIDs: []string{shares, spaces}}, 11_300},
	}
	list := func(ctx context.Context, p *policies.Principal, again bool, total int) {
		if again {
			var err error
			if p.AsOf, err = revision.Read(ctx, db.API(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		view, err := views.For(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		found, n, err := book.ListDatasets(ctx, view, knowledge.DatasetFilter{}, knowledge.Range{Limit: 50})
		if err != nil || len(found) != 50 || n != total {
			t.Fatalf("%d datasets of %d, want 50 of %d: %v", len(found), n, total, err)
		}
	}
	unfiltered := func(ctx context.Context) {
		for _, sql := range []string{unfilteredList, unfilteredCount} {
			rows, err := db.API().Query(ctx, sql)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				if _, err := rows.Values(); err != nil {
					t.Fatal(err)
				}
			}
			if rows.Err() != nil {
				t.Fatal(rows.Err())
			}
		}
	}
	var f section
	f.printf("The first 50 of 12,500 datasets in 6,000 workspaces, and how many there are, for a person who reaches 10,000 of them; Cerbos' plan included, from the second request on. The reference is the same SQL without a filter. Median of %d interleaved rounds. *Kept* is what a caller gets from the second request on, after the database was asked whether anything has changed: at most %d times. *Anew* is the first request after a change, which reads the tables.\n\n", rounds, listLimit)
	f.printf("| reach | without a filter | anew | times | kept | times |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range callers {
		anew, kept := c.Principal, c.Principal
		for _, p := range []*policies.Principal{&anew, &kept} {
			p.Kind, p.ID, p.Roles = policies.Person, "e0000000-0000-4000-8000-00000000000f", []string{policies.RoleViewer}
		}
		took := map[string][]time.Duration{}
		for range rounds {
			for name, do := range map[string]func(){
				"without": func() { unfiltered(t.Context()) },
				"anew":    func() { list(t.Context(), &anew, false, c.total) },
				"kept":    func() { list(t.Context(), &kept, true, c.total) },
			} {
				began := time.Now()
				do()
				took[name] = append(took[name], time.Since(began))
			}
		}
		median := func(name string) time.Duration { slices.Sort(took[name]); return took[name][rounds/2] }
		times := func(name string) float64 { return float64(median(name)) / float64(median("without")) }
		f.printf("| %s | %v | %v | %.2f | %v | %.2f |\n", c.name, median("without").Round(10*time.Microsecond),
			median("anew").Round(10*time.Microsecond), times("anew"), median("kept").Round(10*time.Microsecond), times("kept"))
		if times("kept") > listLimit {
			f.miss("The list of somebody with datasets %s takes %.1f times what it takes without a filter, not %d.", c.name, times("kept"), listLimit)
		}
	}
	return f
}
