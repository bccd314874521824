package model_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/model"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/scan"
)

// A guarded is the query runner over a synced sample tenant, and what it needs.
type guarded struct {
	t      *testing.T
	db     *postgrestest.Database
	tenant *sample.Tenant
	app    *entra.Client
	source *powerbi.Client
	reader *model.Reader
	book   *store.Store
	ids    map[string]string // of people by name
	tokens map[string]string // by person's id
	rules  []pii.Rule
}

func (g *guarded) Model(ctx context.Context, id string) (*knowledge.Model, error) {
	return g.book.Model(ctx, id)
}
func (g *guarded) Rules(context.Context) ([]pii.Rule, error)               { return g.rules, nil }
func (g *guarded) CanEdit(context.Context, string, []string) (bool, error) { return false, nil }
func (g *guarded) ReadModel(ctx context.Context, personID, datasetID string) error {
	return g.reader.Read(ctx, personID, datasetID)
}
func (g *guarded) Token(_ context.Context, id string) (query.Token, error) {
	return query.Token{Access: g.tokens[id]}, nil
}
func (g *guarded) ExecuteQuery(ctx context.Context, token, id, dax string) (*query.Rows, error) {
	res, err := g.source.ExecuteQuery(ctx, token, id, dax)
	if err != nil {
		return nil, err
	}
	return &query.Rows{Columns: res.Columns, Rows: res.Rows}, nil
}
func (g *guarded) LastRefresh(context.Context, string, string) (time.Time, bool, error) {
	return time.Time{}, false, nil
}
func (g *guarded) Read(context.Context) (setting.Values, error) { return setting.Base{}.With(nil) }
func (g *guarded) LogQuery(context.Context, *policies.Principal, query.Entry) error {
	return nil
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
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
	client := func(id, secret string) *entra.Client {
		return entra.New(srv.URL+sample.LoginPath, sample.TenantID, entra.Registration{
			ClientID: id, Secret: func(context.Context) (string, error) { return secret, nil },
		}, h, time.Now)
	}
	db := postgrestest.New(t)
	g := &guarded{
		t: t, db: db, tenant: tenant, app: client(sample.AppID, sample.AppSecret), book: store.New(db.API()),
		source: powerbi.New(srv.URL+sample.PowerBIPath+"/v1.0/myorg", h), ids: map[string]string{}, tokens: map[string]string{},
	}
	g.reader = &model.Reader{
		Source: g.source, Store: relationship.New(db.API()), Log: slog.New(slog.DiscardHandler),
		Token: func(_ context.Context, id string) (string, error) { return g.tokens[id], nil },
	}
	g.sync(client(sample.ScannerID, sample.ScannerSecret))
	return g
}

func (g *guarded) sync(scanner *entra.Client) {
	g.t.Helper()
	sc := &scan.Scanner{
		Source: g.source, Mirror: mirror.New(g.db.Worker()), Log: slog.New(slog.DiscardHandler), Wait: scan.Sleep,
		Token: func(ctx context.Context) (string, error) { return scanner.AppToken(ctx, powerbi.AppScope) },
	}
	if _, err := sc.Full(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
}

// connect gives a person of the sample tenant a connection.
func (g *guarded) connect(name string) {
	g.t.Helper()
	var id string
	g.db.QueryRow("insert into person (email) values ($1) returning id::text", []any{name}, &id)
	g.db.Exec("insert into powerbi_connection (person_id, state, object_id) values ($1, 'connected', gen_random_uuid())", id)
	g.ids[name], g.tokens[id] = id, signIn(g.t, g.app, name+"@sample.example")
}

// run runs a query of a viewer and says why it was refused, or nothing.
func (g *guarded) run(name, dataset, dax string) string {
	g.t.Helper()
	r := &query.Runner{Models: g, Reader: g, Tokens: g, PowerBI: g, Log: g, Settings: g, Now: time.Now}
	_, err := r.Run(g.t.Context(), query.Request{
		Principal: &policies.Principal{Kind: policies.Person, ID: g.ids[name], Roles: []string{policies.RoleViewer}},
		Dataset:   &knowledge.Dataset{ID: g.tenant.DatasetID(dataset)}, DAX: dax,
	})
	if refused, ok := errors.AsType[*query.RefusedError](err); ok {
		return refused.Cause
	}
	if err != nil {
		g.t.Errorf("%s: %v", dax, err)
	}
	return ""
}

// parts is what a dataset says of its parts, as get_dataset shows it.
func (g *guarded) parts(dataset string) string {
	g.t.Helper()
	person := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{policies.RoleViewer}, DatasetIDs: []string{g.tenant.DatasetID(dataset)}}
	view, err := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler)).For(g.t.Context(), person)
	if err != nil {
		g.t.Fatal(err)
	}
	counts, err := g.book.CountDataset(g.t.Context(), view, g.tenant.DatasetID(dataset))
	if err != nil {
		g.t.Fatal(err)
	}
	var list []string
	for _, p := range counts.Parts {
		list = append(list, string(p.Part)+" "+string(p.State))
		if p.At.IsZero() != (p.State == knowledge.PartNotRead) || (p.Reason != "") != (p.State == knowledge.PartRefused || p.State == knowledge.PartFailed) {
			g.t.Errorf("%+v", p)
		}
	}
	return strings.Join(list, ", ")
}

// PII-102, PII-126, PII-129, JOBS-24: items and functions of the sample tenant's
// Finance. While nobody who may edit the model is connected, items are not
// checked and functions are not known; once somebody is, both are judged by their
// DAX. The product's own reading passes on a dataset that has personal data.
func TestCalculationItemsAndFunctionsAreChecked(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.rules = []pii.Rule{{Kind: pii.Column, Table: "Calendar", Name: "Date", PII: true}}
	const (
		items    = `EVALUATE VALUES ( 'Time view'[View] )` // one of them reaches Calendar[Date]
		function = `EVALUATE { WithTax ( 1, 0.2 ) }`
		own      = `EVALUATE INFO.VIEW.RELATIONSHIPS ()`
	)
	finance := g.tenant.DatasetID("Finance")
	g.connect("curator") // may query Finance and not edit it
	for dax, want := range map[string]string{items: "", function: "not_known", own: "reader"} {
		if got := g.run("curator", "Finance", dax); got != want {
			t.Errorf("before: %s refused because %q, want %q", dax, got, want)
		}
	}
	parts := func() string { return g.parts("Finance") }
	if got := parts(); got != "relationships read, calculation_groups read, calculation_items refused, functions refused" {
		t.Errorf("got %s", got)
	}

	g.connect("steward")
	if err := g.reader.ReadAsAnybody(t.Context(), finance); err != nil {
		t.Fatal(err)
	}
	if got := parts(); strings.Contains(got, "refused") {
		t.Errorf("got %s", got)
	}
	for dax, want := range map[string]string{items: "calculation_item", function: "", own: "reader"} {
		if got := g.run("curator", "Finance", dax); got != want {
			t.Errorf("after: %s refused because %q, want %q", dax, got, want)
		}
	}
}

// JOBS-24, PII-114: after a scan that found another schema nothing that was read
// before counts as complete, and the next query has it read anew. Where that is
// not possible the query waits.
func TestAnotherSchemaIsReadAnew(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.rules = []pii.Rule{{Kind: pii.Column, Table: "Customer", Name: "Customer", PII: true}}
	g.connect("viewer")
	const dax = `EVALUATE VALUES ( Customer[Region] )`
	reads := func() int { return g.tenant.Requests("*executeQueries") }
	var counts []int
	step := func(want string) {
		t.Helper()
		before := reads()
		if got := g.run("viewer", "Sales", dax); got != want {
			t.Errorf("refused because %q, want %q", got, want)
		}
		counts = append(counts, reads()-before)
	}
	if got := g.parts("Sales"); strings.Count(got, "not_read") != 4 {
		t.Errorf("at first %s", got)
	}
	step("") // four parts by three queries and a refused one, and the query itself
	step("")
	g.db.Exec("update powerbi_dataset set schema_hash = '\\x01' where name = 'Sales'")
	step("")
	step("")
	if counts[0] < 4 || counts[1] != 1 || !slices.Equal(counts[:2], counts[2:]) {
		t.Errorf("requests %v", counts)
	}
	// Nobody answers now: what is known is of an older schema, and is not enough.
	g.db.Exec("update powerbi_dataset set schema_hash = '\\x02' where name = 'Sales'")
	if got := g.parts("Sales"); strings.Count(got, "outdated") != 3 {
		t.Errorf("after a change %s", got)
	}
	source := g.reader.Source
	g.reader.Source = broken{}
	step("relationships_not_known")
	if got := g.parts("Sales"); strings.Count(got, "failed") != 4 {
		t.Errorf("after a failure %s", got)
	}
	g.reader.Source = source
	step("")
}

type broken struct{}

func (broken) ExecuteQuery(context.Context, string, string, string) (*powerbi.Result, error) {
	return nil, &powerbi.Error{Status: 503}
}
