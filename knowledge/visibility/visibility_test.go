package visibility_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// id makes a readable uuid: the kind of thing and its number.
func id(kind byte, n int) string { return fmt.Sprintf("%c0000000-0000-4000-8000-%012d", kind, n) }

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
}

// tenant has datasets that differ in every attribute that a rule may use, empty
// values among them.
func tenant(t testing.TB) *postgrestest.Database {
	t.Helper()
	db := postgrestest.New(t)
	for w := range 3 {
		exec(t, db.Worker(), `insert into powerbi_workspace (id, name, folded) values ($1, $2, $2)`, id('a', w), fmt.Sprintf("workspace %d", w))
	}
	endorsements := []string{"", "Promoted", "Certified", `it's "quoted"`}
	labels := []string{"", "Certified", "Confidential"}
	for d := range 12 {
		exec(t, db.Worker(), `insert into powerbi_dataset (id, workspace_id, name, folded, endorsement, sensitivity_label, has_row_level_security) values ($1, $2, $3, $3, $4, $5, $6)`,
			id('d', d), id('a', d%3), fmt.Sprintf("dataset %d", d), endorsements[d%4], labels[d/4], d%2 == 0)
	}
	for a := range 3 {
		exec(t, db.Worker(), `insert into powerbi_app (id, workspace_id, name) values ($1, $2, $3)`, id('b', a), id('a', a), fmt.Sprintf("app %d", a))
	}
	for _, pair := range [][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 5}, {1, 7}, {2, 11}} {
		exec(t, db.Worker(), `insert into powerbi_app_dataset (app_id, dataset_id) values ($1, $2)`, id('b', pair[0]), id('d', pair[1]))
	}
	return db
}

// datasets reads every dataset with what a single check needs.
func datasets(t testing.TB, db *postgrestest.Database) []knowledge.Dataset {
	t.Helper()
	rows, err := db.API().Query(t.Context(), `
		select d.id::text, d.name, d.workspace_id::text, w.name, `+visibility.AppIDs("d")+`, d.endorsement, d.sensitivity_label, d.has_row_level_security
		from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id order by d.id`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d knowledge.Dataset, err error) {
		return d, row.Scan(&d.ID, &d.Name, &d.WorkspaceID, &d.Workspace, &d.AppIDs, &d.Endorsement, &d.SensitivityLabel, &d.HasRowSecurity)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listed asks the database for what v shows.
func listed(t testing.TB, db *postgrestest.Database, v *visibility.View) []string {
	t.Helper()
	var args visibility.Args
	return ask(t, db, `select d.id::text from powerbi_dataset d where `+v.Datasets("d", args.Add)+` order by 1`, args)
}

func ask(t testing.TB, db *postgrestest.Database, sql string, args []any) []string {
	t.Helper()
	rows, err := db.API().Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
	return out
}

// allow makes a deployment's policy of rules, each for the person whose id is its
// place in the list: many rules are tried on one Cerbos process.
func allow(rules []string) fstest.MapFS {
	b := &strings.Builder{}
	b.WriteString(`apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
`)
	for i, rule := range rules {
		effect := "EFFECT_ALLOW"
		if cut, ok := strings.CutPrefix(rule, "deny "); ok {
			effect, rule = "EFFECT_DENY", cut
		}
		fmt.Fprintf(b, `    - actions: [describe]
      effect: %s
      roles: ["*"]
      condition:
        match:
          all:
            of:
              - expr: P.id == "person:%d"
              - expr: |-
                  %s
`, effect, i, rule)
	}
	return fstest.MapFS{"dataset.yaml": {Data: []byte(b.String())}}
}

func person(n int) *policies.Principal {
	return &policies.Principal{
		Kind: policies.Person, ID: fmt.Sprint(n), Roles: []string{"viewer"},
		WorkspaceIDs: []string{id('a', 1), id('a', 9)}, AppIDs: []string{id('b', 0), id('b', 8)}, DatasetIDs: []string{id('d', 11), id('d', 3)},
	}
}

// VIS-11: for random rules over the allowed grammar, a list is what single checks
// allow, decided by the real Cerbos and the real PostgreSQL.
// VIS-02 VIS-08 VIS-09
func TestListsAgreeWithSingleChecks(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 11))
	rules := []string{
		// Each attribute and operator once by itself.
		`true`, `false`, `deny true`,
		`R.id == "` + id('d', 2) + `"`,
		`R.attr.workspace_id == "` + id('a', 2) + `"`,
		`R.attr.endorsement == "Certified"`, `R.attr.endorsement == ""`, `R.attr.endorsement == "it's \"quoted\""`,
		`R.attr.sensitivity_label == "Confidential"`, `R.attr.sensitivity_label == R.attr.endorsement`,
		`R.attr.has_row_level_security`, `R.attr.has_row_level_security == false`, `!R.attr.has_row_level_security`,
		`"` + id('b', 1) + `" in R.attr.app_ids`,
		`hasIntersection(R.attr.app_ids, ["` + id('b', 0) + `", "` + id('b', 2) + `"])`, `hasIntersection(P.attr.powerbi_app_ids, R.attr.app_ids)`,
		`R.attr.endorsement in ["Certified", "Promoted"]`, `R.attr.endorsement in []`,
		`R.attr.workspace_id in P.attr.powerbi_workspace_ids`,
		// Text that no uuid column equals, and the other spelling of one that does.
		`R.id == "sales"`, `R.id == "` + strings.ToUpper(id('d', 2)) + `"`, `!(R.id in ["sales", "` + id('d', 2) + `"])`,
		`deny R.attr.endorsement == "Certified"`, `deny !(R.id in P.attr.powerbi_dataset_ids)`,
	}
	for range 60 {
		rule := expression(random, 3)
		if random.IntN(4) == 0 {
			rule = "deny " + rule
		}
		rules = append(rules, rule)
	}
	db := tenant(t)
	all := datasets(t, db)
	service := visibility.New(cerbostest.NewDecider(t, allow(rules)), slog.New(slog.DiscardHandler))
	some := false
	for i, rule := range rules {
		p := person(i)
		if i%2 == 1 {
			p.MetadataVisibility = policies.VisibleByPolicy // else the shipped rule counts too
		}
		v, err := service.For(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		var want []string
		for _, d := range all {
			ok, err := v.Allows(t.Context(), &d)
			if err != nil {
				t.Fatalf("%s: %v", rule, err)
			}
			if ok {
				want = append(want, d.ID)
			}
		}
		if got := listed(t, db, v); !slices.Equal(got, want) {
			var args visibility.Args
			t.Errorf("seed %d, %s, by %q:\nlisted  %v\nallowed %v\nsql %s\nargs %v", seed, rule, p.MetadataVisibility, got, want, v.Datasets("d", args.Add), args)
		}
		some = some || len(want) > 0 && len(want) < len(all)
	}
	if !some {
		t.Error("no rule shows some and hides others: the test shows nothing")
	}
}

// expression is a random rule of the allowed grammar.
func expression(r *rand.Rand, depth int) string {
	if depth > 0 {
		switch r.IntN(5) {
		case 0:
			return "(" + expression(r, depth-1) + " && " + expression(r, depth-1) + ")"
		case 1:
			return "(" + expression(r, depth-1) + " || " + expression(r, depth-1) + ")"
		case 2:
			return "!(" + expression(r, depth-1) + ")"
		}
	}
	quoted := func(values ...string) string {
		n := 1 + r.IntN(len(values))
		return `"` + strings.Join(values[:n], `", "`) + `"`
	}
	switch r.IntN(11) {
	case 0:
		return `R.id == ` + quoted(id('d', r.IntN(13)))
	case 1:
		return `R.id in [` + quoted(id('d', r.IntN(13)), id('d', r.IntN(13)), "no uuid") + `]`
	case 2:
		return `R.attr.workspace_id == ` + quoted(id('a', r.IntN(4)))
	case 3:
		return `R.attr.workspace_id in P.attr.powerbi_workspace_ids`
	case 4:
		return `R.attr.endorsement in [` + quoted("Certified", "", "Promoted", "none such") + `]`
	case 5:
		return `R.attr.endorsement == R.attr.sensitivity_label`
	case 6:
		return `R.attr.sensitivity_label == ` + quoted([]string{"", "Certified", "Confidential", "Secret"}[r.IntN(4)])
	case 7:
		return `R.attr.has_row_level_security`
	case 8:
		return `R.attr.has_row_level_security == ` + fmt.Sprint(r.IntN(2) == 0)
	case 9:
		return quoted(id('b', r.IntN(4))) + ` in R.attr.app_ids`
	}
	return `hasIntersection(R.attr.app_ids, [` + quoted(id('b', r.IntN(4)), id('b', r.IntN(4)), "no uuid") + `])`
}

// VIS-08 VIS-09 VIS-10: what lists cannot follow is an error that names it, at the
// top and under each operator, and never a list.
func TestUntranslatable(t *testing.T) {
	bad := map[string]string{ // rule: what the error names
		`R.attr.workspace_name == "Sales"`:              "workspace_name",
		`"Sales" in R.attr.app_names`:                   "app_names",
		`R.attr.custom.department == "retail"`:          "custom",
		`R.attr.endorsement.startsWith("C")`:            "startsWith",
		`R.attr.endorsement < "D"`:                      "lt",
		`R.attr.endorsement != "Certified"`:             "ne",
		`size(R.attr.app_ids) > 0`:                      "",
		`R.attr.app_ids == ["x"]`:                       "app_ids",
		`R.attr.app_ids.exists(a, a == "x")`:            "exists",
		`R.attr.endorsement + "x" == "Certifiedx"`:      "",
		`hasIntersection([R.attr.workspace_id], ["x"])`: "",
		`R.attr.endorsement in R.attr.app_ids`:          "",
		`timestamp(R.attr.endorsement) < now()`:         "",
	}
	type c struct{ rule, names string }
	var cases []c
	for rule, names := range bad {
		cases = append(cases, c{rule, names}, c{"!(" + rule + ")", names},
			c{`R.attr.endorsement == "Certified" && ` + "(" + rule + ")", names}, c{`R.attr.endorsement == "Certified" || !(` + rule + ")", names})
	}
	var rules []string
	for _, c := range cases {
		rules = append(rules, c.rule)
	}
	log := &strings.Builder{}
	service := visibility.New(cerbostest.NewDecider(t, allow(rules)), slog.New(slog.NewTextHandler(log, nil)))
	for i, c := range cases {
		log.Reset()
		v, err := service.For(t.Context(), person(i))
		var e *visibility.UntranslatableError
		switch {
		case !errors.As(err, &e) || !errors.Is(err, policies.ErrUnavailable) || v != nil:
			t.Errorf("%s: %v, %v", c.rule, v, err)
		case !strings.Contains(e.Name, c.names) || !strings.Contains(log.String(), c.names):
			t.Errorf("%s: the error names %q, the log says %s", c.rule, e.Name, log)
		}
	}
}

// planner answers with one plan.
type planner struct {
	cerbostest.Fake
	plan policies.Plan
}

func (p *planner) Plan(context.Context, *policies.Principal, policies.Action, policies.Kind) (policies.Plan, error) {
	return p.plan, nil
}

func e(op string, args ...*policies.Expr) *policies.Expr { return &policies.Expr{Op: op, Args: args} }
func v(name string) *policies.Expr                       { return &policies.Expr{Var: "request.resource." + name} }
func k(value any) *policies.Expr                         { return &policies.Expr{Value: value} }

// VIS-10 VIS-11: plans that Cerbos was not seen to give: a contradiction is an
// error, and values of another type than the attribute's equal nothing.
func TestOddPlans(t *testing.T) {
	db := tenant(t)
	view := func(plan policies.Plan) (*visibility.View, error) {
		return visibility.New(&planner{plan: plan}, slog.New(slog.DiscardHandler)).For(t.Context(), person(0))
	}
	for name, cond := range map[string]*policies.Expr{
		"no condition":                 nil,
		"no operands":                  e("and"),
		"nothing to choose from":       e("or"),
		"not of nothing":               e("not"),
		"not of two":                   e("not", k(true), k(true)),
		"a constant text":              k("true"),
		"no constant at all":           {},
		"text as a condition":          v("attr.endorsement"),
		"== of one":                    e("eq", v("id")),
		"== of three":                  e("eq", v("id"), k("x"), k("y")),
		"== of constants":              e("eq", k("x"), k("x")),
		"== with a list":               e("eq", v("id"), k([]any{"x"})),
		"== with nothing":              e("eq", v("id"), nil),
		"in a text":                    e("in", v("id"), k("x")),
		"in a map":                     e("in", v("id"), k(map[string]any{"x": true})),
		"hasIntersection of text":      e("hasIntersection", v("attr.endorsement"), k([]any{"x"})),
		"hasIntersection with no list": e("hasIntersection", v("attr.app_ids"), k("x")),
		"a list in a list":             e("in", v("attr.app_ids"), k([]any{"x"})),
		"deep below":                   e("and", k(true), e("or", k(false), e("not", e("matches", v("id"), k("x"))))),
	} {
		if _, err := view(policies.Plan{Kind: policies.Conditional, Cond: cond}); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if _, err := view(policies.Plan{Kind: 9}); err == nil {
		t.Error("an unknown kind of plan is no error")
	}
	for name, c := range map[string]struct {
		plan policies.Plan
		want int
	}{
		"always":                 {policies.Plan{Kind: policies.Always}, 12},
		"never":                  {policies.Plan{Kind: policies.Never}, 0},
		"the zero plan":          {policies.Plan{}, 0},
		"text == number":         {conditional(e("eq", v("attr.endorsement"), k(1.0))), 0},
		"text == null":           {conditional(e("eq", v("attr.endorsement"), k(nil))), 0},
		"text == bool":           {conditional(e("eq", v("id"), k(true))), 0},
		"bool == text":           {conditional(e("eq", k("true"), v("attr.has_row_level_security"))), 0},
		"bool == text attribute": {conditional(e("eq", v("attr.endorsement"), v("attr.has_row_level_security"))), 0},
		"not bool == text":       {conditional(e("not", e("eq", k("true"), v("attr.has_row_level_security")))), 12},
		"bool in":                {conditional(e("in", v("attr.has_row_level_security"), k([]any{"x", true}))), 6},
		"bool in both":           {conditional(e("in", v("attr.has_row_level_security"), k([]any{false, true}))), 12},
		"bool in nothing":        {conditional(e("in", v("attr.has_row_level_security"), k([]any{}))), 0},
		"in mixed values":        {conditional(e("in", v("attr.endorsement"), k([]any{1.0, nil, "Certified", true}))), 3},
		"number in apps":         {conditional(e("in", k(1.0), v("attr.app_ids"))), 0},
		"apps with nothing":      {conditional(e("hasIntersection", v("attr.app_ids"), k([]any{}))), 0},
		"not apps with nothing":  {conditional(e("not", e("hasIntersection", k([]any{}), v("attr.app_ids")))), 12},
		"id == workspace_id":     {conditional(e("eq", v("id"), v("attr.workspace_id"))), 0},
		"workspace_id == itself": {conditional(e("eq", v("attr.workspace_id"), v("attr.workspace_id"))), 12},
		"true":                   {conditional(k(true)), 12},
		"false or not false":     {conditional(e("or", k(false), e("not", k(false)))), 12},
	} {
		view, err := view(c.plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := listed(t, db, view); len(got) != c.want {
			t.Errorf("%s: %d datasets, want %d", name, len(got), c.want)
		}
	}
}

func conditional(cond *policies.Expr) policies.Plan {
	return policies.Plan{Kind: policies.Conditional, Cond: cond}
}

// VIS-12: a value of a rule is never part of the text.
func TestValuesAreParameters(t *testing.T) {
	const evil = `x' or true or '' = '`
	plan := conditional(e("or",
		e("eq", v("attr.endorsement"), k(evil)), e("in", v("attr.sensitivity_label"), k([]any{evil, "x"})),
		e("eq", v("id"), k(evil)), e("hasIntersection", v("attr.app_ids"), k([]any{evil}))))
	view, err := visibility.New(&planner{plan: plan}, slog.New(slog.DiscardHandler)).For(t.Context(), person(0))
	if err != nil {
		t.Fatal(err)
	}
	var args visibility.Args
	sql := view.Datasets("d", args.Add)
	if strings.ContainsAny(sql, `'"`) || strings.Contains(sql, " x") {
		t.Errorf("the condition holds a value: %s", sql)
	}
	if got := fmt.Sprint(args); strings.Count(got, evil) != 2 {
		t.Errorf("the arguments are %s", got)
	}
	if got := listed(t, tenant(t), view); len(got) != 0 {
		t.Errorf("it shows %v", got)
	}
}

// VIS-23: no policy brings back what is switched off or gone from the tenant.
func TestFloor(t *testing.T) {
	db := tenant(t)
	exec(t, db.API(), `insert into dataset_switch (dataset_id, is_off) values ($1, true), ($2, false)`, id('d', 1), id('d', 2))
	exec(t, db.Worker(), `update powerbi_dataset set removed_at = now() where id = $1`, id('d', 3))
	for _, plan := range []policies.Plan{{Kind: policies.Always}, conditional(e("not", e("eq", v("attr.endorsement"), k("none such"))))} {
		for _, roles := range [][]string{{"viewer"}, {"admin", "pii_reader"}} {
			p := person(0)
			p.Roles, p.MetadataVisibility = roles, policies.VisibleToEveryone
			view, err := visibility.New(&planner{plan: plan}, slog.New(slog.DiscardHandler)).For(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			got := listed(t, db, view)
			if len(got) != 10 || slices.Contains(got, id('d', 1)) || slices.Contains(got, id('d', 3)) || !slices.Contains(got, id('d', 2)) {
				t.Errorf("%v see %v", roles, got)
			}
		}
	}
}

// SVC-13: a service account stays within its grant, whatever a policy allows.
func TestServiceAccountStaysWithinItsGrant(t *testing.T) {
	db := tenant(t)
	d := &planner{plan: policies.Plan{Kind: policies.Always}}
	d.Over = func(*policies.Principal, policies.Action, policies.Resource) (bool, bool) { return true, true }
	service := visibility.New(d, slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct {
		change func(*policies.Principal)
		want   []string
	}{
		"a workspace": {func(p *policies.Principal) { p.WorkspaceIDs = []string{id('a', 0)} }, []string{id('d', 0), id('d', 3), id('d', 6), id('d', 9)}},
		"an app":      {func(p *policies.Principal) { p.AppIDs = []string{id('b', 1)} }, []string{id('d', 1), id('d', 5), id('d', 7)}},
		"nothing":     {func(*policies.Principal) {}, nil},
	} {
		p := &policies.Principal{Kind: policies.ServiceAccount, ID: "s", Roles: []string{"viewer"}}
		c.change(p)
		view, err := service.For(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(t, db, view); !slices.Equal(got, c.want) {
			t.Errorf("granted %s, it lists %v, want %v", name, got, c.want)
		}
		for _, dataset := range datasets(t, db) {
			got, err := view.Allows(t.Context(), &dataset)
			if want := slices.Contains(c.want, dataset.ID); got != want || err != nil {
				t.Errorf("granted %s, it may describe %s: %t, %v, want %t", name, dataset.ID, got, err, want)
			}
		}
	}
}

// VIS-11 VIS-13: a long list shows what a short one does, whether it travels or is
// the principal's own, which the database has.
func TestLongLists(t *testing.T) {
	db := tenant(t)
	long := func(kind byte, seen ...int) []string {
		ids := make([]string, 0, 1200)
		for _, n := range seen {
			ids = append(ids, id(kind, n))
		}
		for n := range 1200 - len(seen) {
			ids = append(ids, id(kind, 1000+n))
		}
		return ids
	}
	for name, c := range map[string]struct {
		kind  string
		reach policies.Principal
		want  []string
	}{
		"datasets":   {"dataset", policies.Principal{DatasetIDs: long('d', 2, 5)}, []string{id('d', 2), id('d', 5)}},
		"workspaces": {"workspace", policies.Principal{WorkspaceIDs: long('a', 2)}, []string{id('d', 2), id('d', 5), id('d', 8), id('d', 11)}},
		"apps":       {"app", policies.Principal{AppIDs: long('b', 1, 2)}, []string{id('d', 1), id('d', 5), id('d', 7), id('d', 11)}},
	} {
		p := c.reach
		p.Kind, p.ID, p.Roles = policies.Person, "p", []string{"viewer"}
		object := id('e', 0)
		exec(t, db.Worker(), `delete from powerbi_access`)
		// Somebody else reaches everything, and this one more of another kind.
		exec(t, db.Worker(), `insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'dataset', id, $1, 'Read' from powerbi_dataset`, id('e', 9))
		exec(t, db.Worker(), `insert into powerbi_access (item_kind, item_id, object_id, access_right) select $1, unnest($2::uuid[]), $3, 'Read'`,
			c.kind, slices.Concat(p.DatasetIDs, p.WorkspaceIDs, p.AppIDs), object)
		for _, objects := range [][]string{nil, {object}} {
			p.ObjectIDs = objects
			view, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			if got := listed(t, db, view); !slices.Equal(got, c.want) {
				t.Errorf("%s by %v: %v, want %v", name, objects, got, c.want)
			}
			var args visibility.Args
			view.Datasets("d", args.Add)
			if travels := len(fmt.Sprint(args)) > 10_000; travels != (objects == nil) {
				t.Errorf("%s by %v: the list travels: %t", name, objects, travels)
			}
			args = nil
			if apps := ask(t, db, `select a.id::text from powerbi_app a where `+view.Apps("a", args.Add), args); len(apps) == 0 && name != "datasets" {
				t.Errorf("%s by %v: no apps", name, objects)
			}
		}
		// A list of as many other ids is a rule's, and travels.
		p.ObjectIDs = []string{object}
		other := long('d', 9)
		values := make([]any, len(other))
		for i, v := range other {
			values[i] = v
		}
		view, err := visibility.New(&planner{plan: conditional(e("in", v("id"), k(values)))}, slog.New(slog.DiscardHandler)).For(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(t, db, view); !slices.Equal(got, []string{id('d', 9)}) {
			t.Errorf("%s: a rule's own list shows %v", name, got)
		}
	}
}

// VIS-22: who sees an app.
func TestApps(t *testing.T) {
	db := tenant(t)
	exec(t, db.Worker(), `insert into powerbi_app (id, workspace_id, name, removed_at) values ($1, $2, 'gone', now())`, id('b', 3), id('a', 0))
	for name, c := range map[string]struct {
		reach policies.Principal
		see   policies.MetadataVisibility
		plan  policies.Plan
		want  []string
	}{
		"its audience":                {reach: policies.Principal{AppIDs: []string{id('b', 0), id('b', 3)}}, want: []string{id('b', 0)}},
		"its workspace":               {reach: policies.Principal{WorkspaceIDs: []string{id('a', 0)}}, want: []string{id('b', 0)}},
		"a share of a dataset in it":  {reach: policies.Principal{DatasetIDs: []string{id('d', 0)}}},
		"an outsider":                 {},
		"everyone":                    {see: policies.VisibleToEveryone, want: []string{id('b', 0), id('b', 1), id('b', 2)}},
		"everyone, a service account": {reach: policies.Principal{Kind: policies.ServiceAccount, AppIDs: []string{id('b', 2)}}, see: policies.VisibleToEveryone, want: []string{id('b', 2)}},
		"policy, nothing allowed":     {reach: policies.Principal{AppIDs: []string{id('b', 0)}}, see: policies.VisibleByPolicy},
		"policy, a dataset of it": {
			see: policies.VisibleByPolicy, plan: conditional(e("eq", v("id"), k(id('d', 11)))), want: []string{id('b', 2)},
		},
	} {
		p := c.reach
		if p.Kind == "" {
			p.Kind = policies.Person
		}
		p.ID, p.Roles, p.MetadataVisibility = "p", []string{"viewer"}, c.see
		view, err := visibility.New(&planner{plan: c.plan}, slog.New(slog.DiscardHandler)).For(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		var args visibility.Args
		if got := ask(t, db, `select a.id::text from powerbi_app a where `+view.Apps("a", args.Add)+` order by 1`, args); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Nothing is seen without a decision or without a view.
func TestNoDecisionNoView(t *testing.T) {
	view, err := visibility.New(&cerbostest.Fake{Err: errors.New("down")}, slog.New(slog.DiscardHandler)).For(t.Context(), person(0))
	if view != nil || !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("%v, %v", view, err)
	}
	var args visibility.Args
	for name, none := range map[string]*visibility.View{"nil": nil, "zero": {}} {
		if none.Datasets("d", args.Add) != "false" || none.Apps("a", args.Add) != "false" || none.ReadsPII() {
			t.Errorf("a %s view shows something", name)
		}
		if ok, err := none.Allows(t.Context(), &knowledge.Dataset{}); ok || err != nil {
			t.Errorf("a %s view allows: %t, %v", name, ok, err)
		}
	}
}
