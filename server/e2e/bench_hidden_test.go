package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// hiddenFigures measures lists and searches of somebody who sees everything of a
// tenant, and of somebody who sees as much of one that is ten times as large. What
// is kept between requests is left out: each request reads the tables.
func hiddenFigures(t *testing.T) section {
	const rounds, seen, most = 60, 1250, 1.5
	views := visibility.New(cerbostest.NewDecider(t), slog.New(slog.DiscardHandler))

	const person = "e0000000-0000-4000-8000-000000000001"
	var reached []string // a workspace for each ten datasets
	for i := range seen / 10 {
		reached = append(reached, fmt.Sprintf("a0000000-0000-4000-8000-%012d", i))
	}
	caller := &policies.Principal{Kind: policies.Person, ID: person, Roles: []string{policies.RoleViewer}, WorkspaceIDs: reached, ObjectIDs: []string{person}}
	requests := []struct {
		name string
		send func(context.Context, *store.Store, *visibility.View) (int, error)
	}{
		{"datasets", func(ctx context.Context, s *store.Store, v *visibility.View) (int, error) {
			found, _, err := s.ListDatasets(ctx, v, knowledge.DatasetFilter{}, knowledge.Range{Limit: 50})
			return len(found), err
		}},
		{"measures of one dataset", func(ctx context.Context, s *store.Store, v *visibility.View) (int, error) {
			found, _, _, err := s.ListMeasures(ctx, v, knowledge.ElementFilter{Dataset: "dataset 7"}, knowledge.Range{Limit: 50})
			return len(found), err
		}},
		{"all measures", func(ctx context.Context, s *store.Store, v *visibility.View) (int, error) {
			found, _, _, err := s.ListMeasures(ctx, v, knowledge.ElementFilter{}, knowledge.Range{Limit: 50})
			return len(found), err
		}},
		{"a search", func(ctx context.Context, s *store.Store, v *visibility.View) (int, error) {
			found, err := s.Search(ctx, v, "amount of kind 7", nil, "", 20)
			return len(found), err
		}},
	}
	var f section
	took := map[string][]time.Duration{}
	sizes := map[string]int{"none hidden": seen, "90 % hidden": 10 * seen}
	for tenant, datasets := range sizes {
		db := postgrestest.New(t)
		db.Exec(fmt.Sprintf(`insert into powerbi_workspace (id, name, folded)
			select ('a0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'workspace ' || n, 'workspace ' || n from generate_series(0, %d) n`, datasets/10-1))
		db.Exec(fmt.Sprintf(`insert into powerbi_dataset (id, workspace_id, name, folded)
			select ('d0000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ('a0000000-0000-4000-8000-' || lpad((n / 10)::text, 12, '0'))::uuid,
				'dataset ' || n, 'dataset ' || n from generate_series(0, %d) n`, datasets-1))
		db.Exec(`insert into powerbi_table (dataset_id, name, folded) select id, 'Facts', 'facts' from powerbi_dataset`)
		db.Exec(`insert into powerbi_measure (dataset_id, table_id, name, folded, expression)
			select t.dataset_id, t.id, 'Amount of kind ' || n, 'amount of kind ' || n, '1' from powerbi_table t, generate_series(0, 19) n`)
		db.Exec(`insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'workspace', id, $1, 'Read' from unnest($2::uuid[]) id`, person, reached)
		db.Exec(`vacuum analyze`)
		book := store.New(db.API())
		for range rounds {
			for _, r := range requests {
				began := time.Now()
				view, err := views.For(t.Context(), caller)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := r.send(t.Context(), book, view); err != nil || n == 0 {
					t.Fatalf("%s with %s: %d, %v", r.name, tenant, n, err)
				}
				took[r.name+tenant] = append(took[r.name+tenant], time.Since(began))
			}
		}
	}
	p95 := func(key string) time.Duration { slices.Sort(took[key]); return took[key][rounds*95/100] }
	f.printf("A first page for somebody who sees 1,250 datasets with 25,000 measures, where there are no others and where there are ten times as many. Each request reads the tables; Cerbos' plan included. p95 of %d rounds; at most %.1f times.\n\n", rounds, most)
	f.printf("| page | none hidden | 90 %% hidden | times |\n| --- | ---: | ---: | ---: |\n")
	for _, r := range requests {
		none, hidden := p95(r.name+"none hidden"), p95(r.name+"90 % hidden")
		times := float64(hidden) / float64(none)
		f.printf("| %s | %v | %v | %.2f |\n", r.name, none.Round(10*time.Microsecond), hidden.Round(10*time.Microsecond), times)
		if times > most {
			f.miss("With 90 %% hidden, %s take %.1f times as long, not %.1f.", r.name, times, most)
		}
	}
	return f
}
