package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
)

// world is everything that a query meets; it writes down in which order.
type world struct {
	steps     []string
	rules     []pii.Rule
	known     bool // the relationships
	readFails error
	tokenErr  error
	runErr    error
	columns   []string
	edits     bool
	entry     query.Entry
	hangs     bool // Power BI does not answer
	settings  map[string]json.RawMessage
}

func (w *world) Model(context.Context, string) (*knowledge.Model, error) {
	w.steps = append(w.steps, "model")
	return &knowledge.Model{
		RelationshipsKnown: w.known,
		Tables: []knowledge.Table{
			{Name: "Customer", Columns: []knowledge.Column{{Name: "Customer", DataType: knowledge.String}, {Name: "Region", DataType: knowledge.String}}},
			{Name: "Sales", Columns: []knowledge.Column{{Name: "Amount", DataType: knowledge.Decimal}},
				Measures: []knowledge.Measure{{Name: "Net sales", Expression: "SUM ( Sales[Amount] )"}}},
		},
	}, nil
}

func (w *world) Rules(context.Context) ([]pii.Rule, error) {
	w.steps = append(w.steps, "rules")
	return w.rules, nil
}

func (w *world) CanEdit(context.Context, string, []string) (bool, error) { return w.edits, nil }

func (w *world) ReadModel(context.Context, string, string) error {
	w.steps = append(w.steps, "read model")
	w.known = w.readFails == nil
	return w.readFails
}

func (w *world) Token(context.Context, string) (query.Token, error) {
	w.steps = append(w.steps, "token")
	return query.Token{Access: "t", ObjectID: "o", Account: "ada@sample.example"}, w.tokenErr
}

func (w *world) ExecuteQuery(ctx context.Context, _, _, _ string) (*query.Rows, error) {
	w.steps = append(w.steps, "power bi")
	if w.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if w.runErr != nil {
		return nil, w.runErr
	}
	row := make([]any, len(w.columns))
	return &query.Rows{Columns: w.columns, Rows: [][]any{row}}, nil
}

func (w *world) LastRefresh(context.Context, string, string) (time.Time, bool, error) {
	return time.Unix(1000, 0), true, nil
}

func (w *world) Read(context.Context) (setting.Values, error) {
	return setting.Base{}.With(w.settings)
}

func (w *world) LogQuery(_ context.Context, _ *policies.Principal, e query.Entry) error {
	w.steps, w.entry = append(w.steps, "log"), e
	return nil
}

func run(t *testing.T, w *world, p *policies.Principal, dax string) (*query.Result, error) {
	t.Helper()
	r := &query.Runner{Models: w, Reader: w, Tokens: w, PowerBI: w, Log: w, Settings: w, Now: time.Now}
	return r.Run(t.Context(), query.Request{Principal: p, Dataset: &knowledge.Dataset{ID: "d", HasRowSecurity: true}, DAX: dax})
}

func viewer(roles ...string) *policies.Principal {
	return &policies.Principal{Kind: policies.Person, ID: "p", Roles: append([]string{policies.RoleViewer}, roles...)}
}

var marked = []pii.Rule{{Kind: pii.Column, Table: "Customer", Name: "Customer", PII: true}}

const (
	names   = `EVALUATE VALUES ( Customer[Customer] )`
	regions = `EVALUATE VALUES ( Customer[Region] )`
)

func account() *policies.Principal {
	return &policies.Principal{Kind: policies.ServiceAccount, ID: viewer().ID, Roles: []string{policies.RolePIIReader}}
}

// QUERY-02: a refusal at any step makes no later step happen, and every query is
// logged with its outcome.
func TestOrder(t *testing.T) {
	tests := map[string]struct {
		world   world
		who     *policies.Principal
		dax     string
		steps   []string
		outcome string
	}{
		"a sound query": {
			world{known: true, rules: marked, columns: []string{"Customer[Region]"}}, viewer(), regions,
			[]string{"model", "rules", "token", "power bi", "log"}, "done",
		},
		// PII-81, PII-96
		"personal data": {world{known: true, rules: marked}, viewer(), names, []string{"model", "rules", "log"}, "pii_refused"},
		// PII-79
		"personal data by a reader": {
			world{known: true, rules: marked, columns: []string{"Customer[Customer]"}}, viewer(policies.RolePIIReader), names,
			[]string{"model", "rules", "token", "power bi", "log"}, "done",
		},
		// PII-62: the role does nothing for a service account.
		"personal data by a service account": {
			world{known: true, rules: marked}, account(), names,
			[]string{"model", "rules", "log"}, "pii_refused",
		},
		// CONN-34, SVC-19: no person's token is asked for, not even that of a person
		// with the same id.
		"a sound query by a service account": {
			world{known: true, rules: marked}, account(), regions, []string{"model", "rules", "log"}, "forbidden",
		},
		"relationships that are not known yet, for a service account": {
			world{rules: marked}, account(), regions, []string{"model", "rules", "log"}, "forbidden",
		},
		// PII-94
		"no personal data in the dataset": {
			world{columns: []string{"Customer[Customer]"}}, viewer(), names, []string{"model", "rules", "token", "power bi", "log"}, "done",
		},
		// PII-114: read at once, under the asker's token, and judged then.
		"relationships that are not known yet": {
			world{rules: marked, columns: []string{"Customer[Region]"}}, viewer(), regions,
			[]string{"model", "rules", "read model", "model", "token", "power bi", "log"}, "done",
		},
		"relationships that cannot be read": {
			world{rules: marked, readFails: errors.New("refused")}, viewer(), regions,
			[]string{"model", "rules", "read model", "model", "log"}, "pii_refused",
		},
		"nobody is connected, so none can be read": {
			world{rules: marked, readFails: query.ErrNotConnected}, viewer(), regions,
			[]string{"model", "rules", "read model", "log"}, "connection_required",
		},
		"no connection":           {world{tokenErr: query.ErrNotConnected}, viewer(), regions, []string{"model", "rules", "token", "log"}, "connection_required"},
		"a connection that ended": {world{tokenErr: query.ErrNeedsReconnect}, viewer(), regions, []string{"model", "rules", "token", "log"}, "reconnect_required"},
		"Power BI refuses": {
			world{runErr: &query.UpstreamError{Status: 404}}, viewer(), regions, []string{"model", "rules", "token", "power bi", "log"}, "upstream",
		},
		"Power BI throttles": {
			world{runErr: &query.UpstreamError{Status: 429}}, viewer(), regions, []string{"model", "rules", "token", "power bi", "log"}, "throttled",
		},
		// PII-121, PII-123: what comes back is not what was foreseen.
		"an answer with a marked column": {
			world{known: true, rules: marked, columns: []string{"Customer[Region]", "Customer[Customer]"}}, viewer(), regions,
			[]string{"model", "rules", "token", "power bi", "log"}, "pii_refused",
		},
		"an answer with a column that nobody foresaw": {
			world{known: true, rules: marked, columns: []string{"Customer[Region]", "[who]"}}, viewer(), regions,
			[]string{"model", "rules", "token", "power bi", "log"}, "pii_refused",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := tt.world
			result, err := run(t, &w, tt.who, tt.dax)
			if !slices.Equal(w.steps, tt.steps) {
				t.Errorf("steps %q, want %q", w.steps, tt.steps)
			}
			if w.entry.Outcome != tt.outcome || (err == nil) != (tt.outcome == "done") || (result != nil) != (tt.outcome == "done") {
				t.Errorf("logged %q with error %v and result %v, want %q", w.entry.Outcome, err, result, tt.outcome)
			}
		})
	}
}

// PII-124: what Power BI quotes may be a value.
func TestQuotedValuesAreTakenOut(t *testing.T) {
	said := &query.UpstreamError{Status: 400, Message: `Query (1, 3) Cannot convert value 'Jane Doe' of type Text; "Jane" is no number.`}
	for name, tt := range map[string]struct {
		who  *policies.Principal
		says bool
	}{"a viewer": {viewer(), false}, "a reader": {viewer(policies.RolePIIReader), true}} {
		_, err := run(t, &world{known: true, rules: marked, runErr: said}, tt.who, regions)
		up, ok := errors.AsType[*query.UpstreamError](err)
		if !ok || strings.Contains(up.Message, "Jane") != tt.says || !strings.HasPrefix(up.Message, "Query (1, 3) Cannot convert value") {
			t.Errorf("%s is told %v", name, up)
		}
	}
}

// QUERY-08
func TestRowSecurityIsTold(t *testing.T) {
	for edits, want := range map[bool]query.RowSecurity{true: query.EditsWorkspace, false: query.Filtered} {
		result, err := run(t, &world{edits: edits, columns: []string{"[x]"}}, viewer(), regions)
		if err != nil || result.RowSecurity != want || result.RanAs != "ada@sample.example" || result.DataAt.Unix() != 1000 {
			t.Errorf("%+v, %v, want %q", result, err, want)
		}
	}
}

// QUERY-07: the limit is the setting's, read for each query; what runs out of time is
// cancelled and logged so.
func TestTimeLimit(t *testing.T) {
	for saved, want := range map[string]time.Duration{"": 120 * time.Second, "1": time.Second, "600": 600 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{known: true, hangs: true, settings: map[string]json.RawMessage{}}
			if saved != "" {
				w.settings["query.timeout_seconds"] = json.RawMessage(saved)
			}
			start := time.Now()
			_, err := run(t, w, viewer(), regions)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != want {
				t.Errorf("with %q: %v after %v, want the end after %v", saved, err, took, want)
			}
			if w.entry.Outcome != "timeout" || w.entry.Took != want {
				t.Errorf("with %q: logged %+v", saved, w.entry)
			}
		})
	}
	w := &world{known: true, settings: map[string]json.RawMessage{"query.timeout_seconds": json.RawMessage("601")}}
	if _, err := run(t, w, viewer(), regions); err == nil || len(w.steps) > 0 {
		t.Errorf("with a limit that the setting does not take: %v, steps %q", err, w.steps)
	}
}

// QUERY-09: types come from the model, and where it knows none from the cells.
func TestColumnTypes(t *testing.T) {
	w := &typed{rows: query.Rows{
		Columns: []string{"Sales[Amount]", "[n]", "[f]", "[mixed]", "[day]", "[yes]", "[blank]"},
		Rows: [][]any{
			{json.Number("1"), json.Number("9007199254740993"), json.Number("1"), "a", "2026-01-31T00:00:00", true, nil},
			{nil, json.Number("2"), json.Number("1.5"), json.Number("1"), nil, nil, nil},
		},
	}}
	r := &query.Runner{Models: w, Reader: w, Tokens: w, PowerBI: w, Log: w, Settings: w, Now: time.Now}
	result, err := r.Run(t.Context(), query.Request{Principal: viewer(), Dataset: &knowledge.Dataset{}, DAX: regions})
	if err != nil {
		t.Fatal(err)
	}
	want := []knowledge.DataType{knowledge.Decimal, knowledge.Int64, knowledge.Double, knowledge.Variant, knowledge.DateTime, knowledge.Boolean, ""}
	for i, c := range result.Columns {
		if c.Type != want[i] {
			t.Errorf("%s is %q, want %q", c.Name, c.Type, want[i])
		}
	}
}

// typed is a world that answers with given rows.
type typed struct {
	world
	rows query.Rows
}

func (t *typed) ExecuteQuery(context.Context, string, string, string) (*query.Rows, error) {
	return &t.rows, nil
}
