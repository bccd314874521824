package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/model"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

const dataset = "00000000-0000-4000-8000-000000000001"

// A source answers by token, and by token and query where a test says so. What it
// is not told of has no rows, or is refused to whom relationships are refused.
type source struct {
	answers map[string]any // error or *powerbi.Result
	asked   []string
}

func (s *source) ExecuteQuery(_ context.Context, token, _, dax string) (*powerbi.Result, error) {
	s.asked = append(s.asked, token+" "+dax)
	answer, ok := s.answers[token+" "+dax]
	if !ok {
		answer = s.answers[token]
		if _, isResult := answer.(*powerbi.Result); isResult && dax != relationshipsQuery {
			return &powerbi.Result{}, nil
		}
	}
	switch a := answer.(type) {
	case error:
		return nil, a
	case *powerbi.Result:
		return a, nil
	}
	return nil, errors.New("nobody")
}

const (
	relationshipsQuery = "EVALUATE INFO.VIEW.RELATIONSHIPS()"
	tablesQuery        = "EVALUATE INFO.VIEW.TABLES()"
	groupsQuery        = "EVALUATE INFO.CALCULATIONGROUPS()"
	itemsQuery         = "EVALUATE INFO.CALCULATIONITEMS()"
	functionsQuery     = "EVALUATE INFO.USERDEFINEDFUNCTIONS()"
)

// result is an answer: the columns, and rows of numbers, texts and blanks.
func result(columns string, rows ...[]any) *powerbi.Result {
	r := &powerbi.Result{}
	for _, c := range strings.Fields(columns) {
		r.Columns = append(r.Columns, "["+c+"]")
	}
	for _, row := range rows {
		cells := make([]any, len(row))
		for i, cell := range row {
			if cells[i] = cell; cell != nil {
				if n, ok := cell.(int); ok {
					cells[i] = json.Number(fmt.Sprint(n))
				}
			}
		}
		r.Rows = append(r.Rows, cells)
	}
	return r
}

// twoTables are a table and a calculation group, as everybody sees them.
func twoTables() *powerbi.Result {
	return result("ID Name CalculationGroupPrecedence", []any{1, "Sales", nil}, []any{2, "Time", 20})
}

// tell has a token answer for all of a model with one calculation item.
func (s *source) tell(token, expression string) {
	s.answers[token] = relationships()
	s.answers[token+" "+tablesQuery] = twoTables()
	s.answers[token+" "+groupsQuery] = result("ID TableID Precedence", []any{7, 2, 20})
	s.answers[token+" "+itemsQuery] = result("ID CalculationGroupID Name Expression Ordinal", []any{9, 7, "Last year", expression, 3})
	s.answers[token+" "+functionsQuery] = result("ID Name Expression", []any{4, "WithTax", "( x ) => x * 1.2"})
}

// refuse has a token be told what readers are told, and nothing of the rest.
func (s *source) refuse(token string) {
	s.answers[token], s.answers[token+" "+tablesQuery] = relationships(), twoTables()
	for _, q := range []string{groupsQuery, itemsQuery, functionsQuery} {
		s.answers[token+" "+q] = &powerbi.Error{Status: 400, Code: "DatasetExecuteQueriesError", Message: "MARK"}
	}
}

func relationships(rows ...string) *powerbi.Result {
	r := &powerbi.Result{Columns: []string{"[ID]", "[Name]", "[IsActive]", "[FromTable]", "[FromColumn]", "[FromCardinality]", "[ToTable]", "[ToColumn]",
		"[ToCardinality]", "[CrossFilteringBehavior]", "[SecurityFilteringBehavior]"}}
	for i, row := range rows {
		f := strings.Split(row, " ") // from to active cross secure fromCardinality toCardinality
		from, to := strings.Split(f[0], "."), strings.Split(f[1], ".")
		r.Rows = append(r.Rows, []any{json.Number(fmt.Sprint(i)), "r", f[2] == "active", from[0], from[1], f[5], to[0], to[1], f[6], f[3], f[4]})
	}
	return r
}

// A fixture has a dataset and people whose tokens are their names.
type fixture struct {
	db     *postgrestest.Database
	src    *source
	reader *model.Reader
	people map[string]string
}

func newFixture(t *testing.T, people ...string) *fixture {
	t.Helper()
	f := &fixture{db: postgrestest.New(t), src: &source{answers: map[string]any{}}, people: map[string]string{}}
	f.db.Exec("insert into powerbi_workspace (id, name, folded) values ($1, 'W', 'w')", dataset)
	f.db.Exec("insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $1, 'D', 'd')", dataset)
	names := map[string]string{}
	for _, p := range people {
		var id string
		f.db.QueryRow("insert into person (email) values ($1) returning id::text", []any{p}, &id)
		f.db.Exec("insert into powerbi_connection (person_id, state, object_id) values ($1, 'connected', gen_random_uuid())", id)
		f.people[p], names[id] = id, p
	}
	f.reader = &model.Reader{
		Source: f.src, Store: relationship.New(f.db.API()), Log: slog.New(slog.DiscardHandler),
		Token: func(_ context.Context, personID string) (string, error) { return names[personID], nil },
	}
	return f
}

func (f *fixture) text(query string) string {
	var s string
	f.db.QueryRow("select coalesce(string_agg(x, ' ' order by x), '') from ("+query+") q(x)", nil, &s)
	return s
}

const known = "select concat_ws(',', from_table || '.' || from_column, to_table || '.' || to_column, is_active, both_filter, both_secure, from_one, to_many) from model_relationship"

const state = "select concat_ws('|', r.state, p.email, r.reason) from model_read r join person p on p.id = r.read_by where r.part = 'relationships'"

const states = "select concat_ws('|', r.part, r.state, p.email) from model_read r join person p on p.id = r.read_by"

// PII-113, PII-117, PII-120
func TestWhatIsKnownOnlyGrows(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ada", "grace")
	f.src.answers["ada"] = relationships(
		"Sales.Customer Customer.Key active OneDirection OneDirection Many One",
		"Sales.Date Calendar.Date inactive BothDirections BothDirections One Many")
	if err := f.reader.Read(t.Context(), f.people["ada"], dataset); err != nil {
		t.Fatal(err)
	}
	const both = "Sales.Customer,Customer.Key,t,f,f,f,f Sales.Date,Calendar.Date,f,t,t,t,t"
	if got := f.text(known); got != both {
		t.Errorf("got %s", got)
	}
	if got := f.text(state); got != "read|ada|" {
		t.Errorf("got %s", got)
	}
	// Somebody who sees less, and less of what they see.
	f.src.answers["grace"] = relationships("Sales.Customer Customer.Key inactive OneDirection OneDirection Many One")
	f.db.Exec("update powerbi_dataset set schema_hash = '\\x01', schema_at = clock_timestamp()")
	if err := f.reader.Read(t.Context(), f.people["grace"], dataset); err != nil {
		t.Fatal(err)
	}
	if got := f.text(known); got != both {
		t.Errorf("after a smaller read: %s", got)
	}
	if got := f.text(state); got != "read|grace|" {
		t.Errorf("got %s", got)
	}
	if want := "ada EVALUATE INFO.VIEW.RELATIONSHIPS()"; f.src.asked[0] != want {
		t.Errorf("asked %s", f.src.asked[0])
	}
}

// PII-116, JOBS-24
func TestTheCauseOfARefusalIsStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer any
		want   string
	}{
		"no right":      {&powerbi.Error{Status: 404, Code: "PowerBIEntityNotFound", Message: "MARK"}, "refused|ada|Power BI does not let those who were tried query the model."},
		"not supported": {&powerbi.Error{Status: 400, Code: "DatasetExecuteQueriesError", Message: "MARK"}, "refused|ada|Power BI refused to list the relationships: DatasetExecuteQueriesError."},
		"throttled":     {&powerbi.Error{Status: 429}, "failed|ada|Power BI answered 429."},
		"unreachable":   {errors.New("MARK"), "failed|ada|Power BI could not be reached, or its answer was not understood."},
		"another shape": {&powerbi.Result{Columns: []string{"[x]"}, Rows: [][]any{{"MARK"}}}, "failed|ada|Power BI could not be reached, or its answer was not understood."},
		"half an end":   {relationships("Sales. Customer.Key active x x x x"), "failed|ada|Power BI could not be reached, or its answer was not understood."},
		"a part":        {&powerbi.Result{Truncated: "More than 1 rows in a query result"}, "failed|ada|Power BI could not be reached, or its answer was not understood."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "ada")
			f.src.answers["ada"] = c.answer
			if err := f.reader.Read(t.Context(), f.people["ada"], dataset); err == nil {
				t.Error("no error")
			}
			if got := f.text(state); got != c.want {
				t.Errorf("stored %s, want %s", got, c.want)
			}
			if got := f.text(known); got != "" {
				t.Errorf("stored %s", got)
			}
		})
	}
}

// PII-120: who is refused later does not undo what somebody else has read, until
// the schema is another.
func TestALaterRefusalLeavesWhatWasRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ada", "grace")
	f.src.answers["ada"], f.src.answers["grace"] = relationships(), &powerbi.Error{Status: 403}
	if err := f.reader.Read(t.Context(), f.people["ada"], dataset); err != nil {
		t.Fatal(err)
	}
	f.db.Exec("update powerbi_connection set state = 'disconnected' where person_id = $1", f.people["ada"])
	for _, read := range []func() error{
		func() error { return f.reader.Read(t.Context(), f.people["grace"], dataset) },
		func() error { return f.reader.ReadAsAnybody(t.Context(), dataset) },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
		if got := f.text(state); got != "read|ada|" {
			t.Errorf("got %s", got)
		}
	}
	f.db.Exec("update powerbi_dataset set schema_at = clock_timestamp()")
	f.reader.Read(t.Context(), f.people["grace"], dataset)
	if got := f.text(state); !strings.HasPrefix(got, "refused|grace|") {
		t.Errorf("got %s", got)
	}
}

// JOBS-24: a curator who reaches the dataset, then whoever queried it last; who
// is refused, or has no token, makes room for the next.
func TestTheNextPersonIsTried(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "idle", "asker", "curator", "stranger", "lapsed")
	for _, p := range []string{"curator", "stranger", "lapsed"} {
		f.db.Exec("insert into role_assignment (role, kind, subject, person_id) values ('curator', 'person', $1, $2)", p, f.people[p])
	}
	for p, right := range map[string]string{"curator": "Viewer", "lapsed": "Admin", "asker": "Viewer"} {
		f.db.Exec("insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'workspace', $1, object_id, $2 from powerbi_connection where person_id = $3",
			dataset, right, f.people[p])
	}
	f.db.Exec("insert into query_log (principal_id, via, dataset_id, dax, outcome, milliseconds) values ($1, 'browser', $2, 'x', 'done', 1)", f.people["asker"], dataset)
	token := f.reader.Token
	f.reader.Token = func(ctx context.Context, id string) (string, error) {
		if id == f.people["lapsed"] {
			f.src.asked = append(f.src.asked, "lapsed")
			return "", fmt.Errorf("none: %w", model.ErrNoToken)
		}
		return token(ctx, id)
	}
	f.src.answers["curator"] = &powerbi.Error{Status: 403}
	f.src.answers["asker"] = relationships("A.x B.y active OneDirection OneDirection Many One")
	if err := f.reader.ReadAsAnybody(t.Context(), dataset); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, asked := range f.src.asked {
		if name, _, _ := strings.Cut(asked, " "); len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if got := strings.Join(order, " "); got != "lapsed curator asker" {
		t.Errorf("asked as %s", got)
	}
	if got := f.text(state); got != "read|asker|" {
		t.Errorf("got %s", got)
	}

	f.src.answers["curator"], f.src.asked = &powerbi.Error{Status: 429}, nil
	if err := f.reader.ReadAsAnybody(t.Context(), dataset); err == nil || len(f.src.asked) != 2 {
		t.Errorf("got %v after %v", err, f.src.asked)
	}
	f.db.Exec("update powerbi_connection set state = 'disconnected'")
	if err := f.reader.ReadAsAnybody(t.Context(), dataset); err != nil {
		t.Errorf("with nobody connected: %v", err)
	}
}

// JOBS-24, PII-126: what the asker is refused is read as a curator, at once.
func TestItemsAndFunctionsAreReadAsWhoeverMay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "asker", "curator")
	f.db.Exec("insert into role_assignment (role, kind, subject, person_id) values ('curator', 'person', 'curator', $1)", f.people["curator"])
	f.db.Exec("insert into powerbi_access (item_kind, item_id, object_id, access_right) select 'workspace', $1, object_id, 'Member' from powerbi_connection where person_id = $2",
		dataset, f.people["curator"])
	f.src.refuse("asker")
	f.src.tell("curator", "SELECTEDMEASURE ()")
	if err := f.reader.Read(t.Context(), f.people["asker"], dataset); err != nil {
		t.Fatal(err)
	}
	const all = "calculation_groups|read|curator calculation_items|read|curator functions|read|curator relationships|read|asker"
	if got := f.text(states); got != all {
		t.Errorf("got %s", got)
	}
	const stored = "Time|20|Last year|3|SELECTEDMEASURE () WithTax|( x ) => x * 1.2"
	const kept = `select concat_ws('|', g.table_name, g.precedence, i.name, i.ordinal, i.expression) from model_calculation_group g
		join model_calculation_item i on i.dataset_id = g.dataset_id and i.table_name = g.table_name
		union all select concat_ws('|', name, expression) from model_function`
	if got := f.text(kept); got != stored {
		t.Errorf("stored %s", got)
	}
	// What is known is not read for the next query; the next day all of it is.
	f.src.asked = nil
	if err := f.reader.Read(t.Context(), f.people["asker"], dataset); err != nil || len(f.src.asked) > 0 {
		t.Errorf("got %v, asked %v", err, f.src.asked)
	}
	f.src.tell("curator", "1")
	if err := f.reader.ReadAsAnybody(t.Context(), dataset); err != nil {
		t.Fatal(err)
	}
	if got := f.text(kept); got != strings.Replace(stored, "SELECTEDMEASURE ()", "1", 1) {
		t.Errorf("after a change: %s", got)
	}
}

// JOBS-24, PII-129: refused counts only when everybody was, and is left until the
// next day; what failed on the way is not taken for a refusal.
func TestRefusalsOfAllAreLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "asker", "other")
	f.src.refuse("asker")
	f.src.refuse("other")
	f.src.answers["other "+groupsQuery] = &powerbi.Error{Status: 503}
	if err := f.reader.Read(t.Context(), f.people["asker"], dataset); err == nil {
		t.Error("no error of a failure")
	}
	const failed = "calculation_groups|read|other calculation_items|failed|other functions|failed|other relationships|read|asker"
	if got := f.text(states); got != failed {
		t.Errorf("got %s", got)
	}
	f.src.refuse("other")
	if err := f.reader.Read(t.Context(), f.people["asker"], dataset); err != nil {
		t.Fatal(err)
	}
	if got := f.text("select concat_ws('|', part, state, reason) from model_read where state <> 'read'"); got !=
		"calculation_items|refused|Power BI refused to list the calculation items: DatasetExecuteQueriesError. "+
			"functions|refused|Power BI refused to list the functions: DatasetExecuteQueriesError." {
		t.Errorf("got %s", got)
	}
	f.src.asked = nil
	if err := f.reader.Read(t.Context(), f.people["asker"], dataset); err != nil || len(f.src.asked) > 0 {
		t.Errorf("got %v, asked %v", err, f.src.asked)
	}
	if err := f.reader.ReadAsAnybody(t.Context(), dataset); err != nil || len(f.src.asked) == 0 {
		t.Errorf("the next day: got %v, asked %v", err, f.src.asked)
	}
}

// A scan that found another schema while a model was read, or before, leaves what
// was read incomplete.
func TestWhatWasReadOfAnOldSchemaIsReadAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ada")
	f.src.tell("ada", "1")
	f.db.Exec("update powerbi_dataset set schema_hash = '\\x01', schema_at = clock_timestamp()")
	token := f.reader.Token
	f.reader.Token = func(ctx context.Context, id string) (string, error) {
		f.reader.Token = token // the scan began before, so its time is not later
		f.db.Exec("update powerbi_dataset set schema_hash = '\\x02'")
		return token(ctx, id)
	}
	for _, want := range []int{5, 5, 0} {
		f.src.asked = nil
		if err := f.reader.Read(t.Context(), f.people["ada"], dataset); err != nil || len(f.src.asked) != want {
			t.Errorf("got %v, asked %v, want %d queries", err, f.src.asked, want)
		}
	}
}

// JOBS-24: over the sample tenant, under a person's own token.
func TestSampleTenant(t *testing.T) {
	t.Parallel()
	tenant, err := sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	h, err := fetch.NewFixed([]string{srv.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	app := entra.New(srv.URL+sample.LoginPath, sample.TenantID, entra.Registration{
		ClientID: sample.AppID, Secret: func(context.Context) (string, error) { return sample.AppSecret, nil },
	}, h, time.Now)
	id := tenant.DatasetID("Sales")
	f := newFixture(t, "curator@sample.example", "outsider@sample.example", "steward@sample.example")
	f.db.Exec("insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, 'Sales', 'sales')", id, dataset)
	tokens := map[string]string{}
	for name, person := range f.people {
		tokens[person] = signIn(t, app, name)
	}
	f.reader.Source = powerbi.New(srv.URL+sample.PowerBIPath+"/v1.0/myorg", h)
	f.reader.Token = func(_ context.Context, personID string) (string, error) { return tokens[personID], nil }

	alone := f.people["curator@sample.example"]
	f.db.Exec("update powerbi_connection set state = 'disconnected' where person_id <> $1", f.people["outsider@sample.example"])
	err = f.reader.Read(t.Context(), f.people["outsider@sample.example"], id)
	var refused *powerbi.Error
	if !errors.As(err, &refused) || !refused.Unseen() {
		t.Errorf("the outsider got %v", err)
	}
	f.db.Exec("update powerbi_connection set state = 'connected' where person_id = $1", alone)
	if err := f.reader.Read(t.Context(), alone, id); err != nil {
		t.Fatal(err)
	}
	if got := f.text(known); !strings.Contains(got, "Sales.") || !strings.Contains(got, ",Customer.") {
		t.Errorf("got %s", got)
	}

	// PII-126, PII-129: who may only query is told which tables are calculation
	// groups; who may edit, what is in them.
	finance := tenant.DatasetID("Finance")
	f.db.Exec("insert into powerbi_dataset (id, workspace_id, name, folded) values ($1, $2, 'Finance', 'finance')", finance, dataset)
	const counts = "select concat_ws(' ', (select count(*) from model_calculation_group), (select count(*) from model_calculation_item), (select count(*) from model_function))"
	for _, step := range []struct{ person, want string }{{"curator@sample.example", "1 0 0"}, {"steward@sample.example", "1 4 1"}} {
		f.db.Exec("update powerbi_connection set state = case when person_id = $1 then 'connected' else 'disconnected' end", f.people[step.person])
		if err := f.reader.ReadAsAnybody(t.Context(), finance); err != nil {
			t.Fatal(err)
		}
		if got := f.text(counts); got != step.want {
			t.Errorf("as %s: groups, items and functions %s, want %s", step.person, got, step.want)
		}
	}
}

// signIn gives a person's access token for Power BI.
func signIn(t *testing.T, app *entra.Client, person string) string {
	t.Helper()
	const back = "http://localhost:9/callback"
	verifier := oauth2.GenerateVerifier()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.PostForm(app.AuthorizeURL(back, "s", "n", oauth2.S256ChallengeFromVerifier(verifier), []string{powerbi.Scope, "openid"}), url.Values{"person": {person}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	token, err := app.Exchange(t.Context(), back, to.Query().Get("code"), verifier, []string{powerbi.Scope})
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}
