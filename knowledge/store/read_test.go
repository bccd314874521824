package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

// statements collects what was asked of the mirror.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "powerbi_") {
		s.mu.Lock()
		s.all = append(s.all, data.SQL)
		s.mu.Unlock()
	}
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// VIS-01, PII-65: a list that is kept is what a list that is read anew would be, after
// every change and for everybody.
func TestKeptListsAreAsIfReadAnew(t *testing.T) {
	t.Parallel()
	const app = "b0000000-0000-4000-8000-000000000000"
	const near, far, dataset, other, me, group = "a0000000-0000-4000-8000-000000000000", "a0000000-0000-4000-8000-000000000001",
		"d0000000-0000-4000-8000-000000000000", "d0000000-0000-4000-8000-000000000001",
		"e0000000-0000-4000-8000-000000000000", "e0000000-0000-4000-8000-000000000001"
	db := postgrestest.New(t)
	for id, name := range map[string]string{near: "near", far: "far"} {
		db.Exec(`insert into powerbi_workspace (id, name, folded) values ($1, $2, $2)`, id, name)
	}
	for id, workspace := range map[string]string{dataset: near, other: far} {
		db.Exec(`insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, $1::uuid::text, $1::uuid::text)`, id, workspace)
		db.Exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, 'Customer', 'customer')`, id)
		for _, name := range []string{"Name", "City", "Orders"} {
			db.Exec(`insert into powerbi_column (dataset_id, table_id, name, folded, expression) select dataset_id, id, $2, lower($2), 'UPPER ( Customer[City] )' from powerbi_table where dataset_id = $1`, id, name)
			db.Exec(`insert into powerbi_measure (dataset_id, table_id, name, folded) select dataset_id, id, 'Last ' || $2, lower('Last ' || $2) from powerbi_table where dataset_id = $1`, id, name)
		}
	}
	asked := &statements{}
	config, err := pgxpool.ParseConfig(db.URL(postgres.API))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = asked
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	kept := store.New(pool)

	callers := map[string]*policies.Principal{
		"near":        {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, WorkspaceIDs: []string{near}},
		"by app":      {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, AppIDs: []string{app}},
		"far":         {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, WorkspaceIDs: []string{far}},
		"both":        {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, WorkspaceIDs: []string{near, far}},
		"shared":      {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, DatasetIDs: []string{other}},
		"pii reader":  {Kind: policies.Person, ID: me, Roles: []string{"viewer", "pii_reader"}, WorkspaceIDs: []string{near, far}},
		"nobody":      {Kind: policies.Person, ID: me, Roles: []string{"viewer"}},
		"many shares": {Kind: policies.Person, ID: me, Roles: []string{"viewer"}, ObjectIDs: []string{group}},
	}
	for n := range 1200 {
		callers["many shares"].DatasetIDs = append(callers["many shares"].DatasetIDs, fmt.Sprintf("f0000000-0000-4000-8000-%012d", n))
	}
	filters := []knowledge.ElementFilter{{}, {Dataset: dataset}, {DatasetID: other}, {Words: "last"}, {Words: "city"}, {Table: "customer"}, {Dataset: "nothing"}}
	views := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler))
	list := func(s *store.Store, as policies.Principal, anew bool) string {
		t.Helper()
		if !anew {
			if as.AsOf, err = revision.Read(t.Context(), db.API(), as.ID); err != nil {
				t.Fatal(err)
			}
		}
		view, err := views.For(t.Context(), &as)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range filters {
			for _, r := range []knowledge.Range{{Limit: 2}, {Offset: 2, Limit: 2}, {Limit: 100}} {
				columns, n, hidden, err := s.ListColumns(t.Context(), view, f, r)
				fmt.Fprintf(&all, "%+v %+v: %+v %d %d %v\n", f, r, columns, n, hidden, err)
				measures, n, hidden, err := s.ListMeasures(t.Context(), view, f, r)
				fmt.Fprintf(&all, "%+v %+v: %+v %d %d %v\n", f, r, measures, n, hidden, err)
				datasets, n, err := s.ListDatasets(t.Context(), view, knowledge.DatasetFilter{Words: f.Words}, r)
				fmt.Fprintf(&all, "%+v %+v: %+v %d %v\n", f, r, datasets, n, err)
			}
		}
		return all.String()
	}
	for _, change := range []string{
		`select 1`,
		`insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ('column', 'Customer', 'City', 'customer', 'city', true)`,
		`insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ('measure', 'Customer', 'Last Name', 'customer', 'last name', true)`,
		`update pii_rule set pii = false`,
		`delete from pii_rule`,
		`update powerbi_measure set expression = '1', description = 'city'`,
		`update powerbi_column set removed_at = now() where name = 'Name'`,
		`insert into dataset_switch (dataset_id, is_off) values ('` + dataset + `', true)`,
		`delete from dataset_switch`,
		`update powerbi_measure set own_description = 'the last city'`,
		`insert into own_text (dataset_id, kind, element_id) select dataset_id, 'measure', id from powerbi_measure`,
		`update own_text set version = 2`,
		`update powerbi_dataset set own_description = 'city', custom = '{"department": "retail"}'`,
		`update powerbi_workspace set name = 'renamed', folded = 'renamed'`,
		`insert into powerbi_app (id, workspace_id, name) values ('` + app + `', '` + near + `', 'app')`,
		`insert into powerbi_app_dataset (app_id, dataset_id) values ('` + app + `', '` + other + `')`,
		`update powerbi_dataset set workspace_id = '` + near + `'`,
		`update powerbi_table set folded = 'client'`,
		`insert into powerbi_access (item_kind, item_id, object_id, access_right) values ('dataset', '` + dataset + `', '` + group + `', 'Read')`,
		`truncate powerbi_access`,
		`update powerbi_dataset set removed_at = now()`,
	} {
		for _, p := range callers {
			list(kept, *p, false)
		}
		before := asked.count()
		for _, p := range callers {
			list(kept, *p, false)
		}
		if n := asked.count() - before; n > 0 {
			t.Fatalf("before %s: %d lists are not kept", change, n)
		}
		db.Exec(change)
		for name, p := range callers {
			if d := cmp.Diff(list(store.New(db.API()), *p, true), list(kept, *p, false)); d != "" {
				t.Errorf("after %s, for %s (-anew +kept):\n%s", change, name, d)
			}
		}
	}

	// Whatever a list reads tells of its changes.
	tables := map[string]bool{}
	for _, sql := range asked.all {
		for _, m := range regexp.MustCompile(`(?:from|join)\s+([a-z_]+)`).FindAllStringSubmatch(sql, -1) {
			tables[m[1]] = true
		}
		if clock := regexp.MustCompile(`now\(|current_|random|clock_`).FindString(sql); clock != "" {
			t.Errorf("a list that is kept depends on %s", clock)
		}
	}
	for table := range tables {
		var isTable, watched bool
		db.QueryRow(`select exists (select from pg_class where relkind = 'r' and relname = $1),
			exists (select from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relname = $1 and t.tgname = 'revise' and t.tgenabled = 'O')`,
			[]any{table}, &isTable, &watched)
		if isTable && !watched {
			t.Errorf("%s has no trigger", table)
		}
	}
	if !tables["powerbi_measure"] || !tables["pii_rule"] || !tables["powerbi_access"] {
		t.Errorf("the lists read only %v", tables)
	}
}
