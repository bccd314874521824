package operation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	defaults "github.com/pbmb/pbmb/policies/default"
	"github.com/pbmb/pbmb/tools/operation"
)

// recorder is a decider, limiter, dataset finder and auditor that writes down in
// which order it was asked.
type recorder struct {
	steps    []string
	denied   []policies.Action
	broken   error
	overRate bool
	found    []knowledge.Dataset
	refusals []operation.Refusal
}

func (r *recorder) Allowed(_ context.Context, _ *policies.Principal, a policies.Action, res policies.Resource) (bool, error) {
	r.steps = append(r.steps, "decide "+string(a)+" on "+string(res.Kind))
	if r.broken != nil {
		return false, r.broken
	}
	return !slices.Contains(r.denied, a), nil
}

func (r *recorder) Plan(context.Context, *policies.Principal, policies.Action, policies.Kind) (policies.Plan, error) {
	r.steps = append(r.steps, "plan")
	return policies.Plan{Kind: policies.Always}, r.broken
}

func (r *recorder) Allow(context.Context, string, string, int) (bool, time.Duration, error) {
	r.steps = append(r.steps, "limit")
	return !r.overRate, 30 * time.Second, nil
}

func (r *recorder) FindDatasets(_ context.Context, _ *visibility.View, _ string) ([]knowledge.Dataset, error) {
	r.steps = append(r.steps, "find")
	return r.found, nil
}

func (r *recorder) NearestDatasets(context.Context, *visibility.View, string) ([]string, error) {
	return []string{"Sales"}, nil
}

func (r *recorder) Refused(_ context.Context, _ *policies.Principal, refusal operation.Refusal) error {
	r.refusals = append(r.refusals, refusal)
	return nil
}

func newGuard(r *recorder) *operation.Guard {
	log := slog.New(slog.DiscardHandler)
	return &operation.Guard{Decider: r, Visibility: visibility.New(r, log), Datasets: r, Limits: r, Audit: r, Log: log}
}

type input struct {
	Dataset string `json:"dataset" doc:"A dataset" minLength:"1"`
	Count   int    `json:"count,omitempty" doc:"How many" minimum:"1" maximum:"5" default:"2"`
}

type answer struct {
	Said string `json:"said" doc:"What was said"`
}

// newDef declares an operation on a dataset whose handler writes itself down.
func newDef(r *recorder, handle func(input) (answer, error)) *operation.Def {
	return operation.Operation[input, answer]{
		Name: "say", Title: "Say", Doc: "Says it.", Route: "POST /say/{dataset}", Command: "say <dataset>",
		Surfaces: operation.Connector | operation.API, Effect: operation.Reads, Rate: operation.Rate{PerMinute: 60},
		Ask: operation.OnDataset(policies.Query, func(in input) string { return in.Dataset }),
		Handle: func(_ context.Context, c *operation.Call, in input) (answer, error) {
			r.steps = append(r.steps, "handle "+c.Dataset.Name)
			return handle(in)
		},
	}.Def()
}

func viewer() *policies.Principal {
	return &policies.Principal{Kind: policies.Person, ID: "p1", Roles: []string{policies.RoleViewer}, Via: policies.ViaConnector}
}

// TOOLS-02, AUTHZ-01
func TestCallTakesEveryStepInOrder(t *testing.T) {
	r := &recorder{found: []knowledge.Dataset{{ID: "d1", Name: "Sales"}}}
	def := newDef(r, func(input) (answer, error) { return answer{"hello"}, nil })

	out, failure := newGuard(r).Call(policies.NewContext(t.Context(), viewer()), def, json.RawMessage(`{"dataset":"Sales"}`))
	if failure != nil {
		t.Fatal(failure)
	}
	want := []string{"limit", "plan", "find", "decide query on dataset", "handle Sales"}
	if !slices.Equal(r.steps, want) {
		t.Errorf("steps %q, want %q", r.steps, want)
	}
	if string(out.JSON) != `{"said":"hello"}` || out.Text != "said: hello" {
		t.Errorf("answer %s and %q", out.JSON, out.Text)
	}
}

// What stops a call, and that nothing after the stop was reached.
func TestCallStops(t *testing.T) {
	sales := []knowledge.Dataset{{ID: "d1", Name: "Sales", Workspace: "Retail"}}
	nobody := viewer()
	nobody.Roles = nil
	account := viewer()
	account.Kind, account.Via = policies.ServiceAccount, policies.ViaServiceAccount

	tests := map[string]struct {
		who   *policies.Principal
		args  string
		set   recorder
		kind  operation.ErrorKind
		says  string
		steps int // how many were taken
	}{
		// NET-02
		"a call by nobody": {who: nil, kind: operation.Unauthenticated},
		// SIGNIN-04
		"a caller whom no role reaches": {who: nobody, kind: operation.Forbidden},
		// NET-21
		"a caller over the limit": {who: viewer(), set: recorder{overRate: true}, kind: operation.RateLimited, says: "60 times a minute", steps: 1},
		// MCP-05, TOOLS-09
		"an unknown argument": {who: viewer(), args: `{"dataset":"Sales","colunm":1}`, kind: operation.Invalid, says: `nknown argument "colunm"`, steps: 1},
		// MCP-05
		"a missing argument":             {who: viewer(), args: `{}`, kind: operation.Invalid, says: `"dataset" is missing`, steps: 1},
		"a wrong type":                   {who: viewer(), args: `{"dataset":7}`, kind: operation.Invalid, says: `"dataset": expected string`, steps: 1},
		"a number out of range":          {who: viewer(), args: `{"dataset":"Sales","count":9}`, kind: operation.Invalid, says: "<= 5", steps: 1},
		"arguments that are no object":   {who: viewer(), args: `[1]`, kind: operation.Invalid, says: "not a JSON object", steps: 1},
		"null for arguments":             {who: viewer(), args: `null`, kind: operation.Invalid, says: `"dataset" is missing`, steps: 1},
		"a dataset that is not visible":  {who: viewer(), set: recorder{}, kind: operation.NotFound, says: `No dataset named "Sales"`, steps: 3},
		"two datasets of the same name":  {who: viewer(), set: recorder{found: append(sales, knowledge.Dataset{ID: "d2", Name: "Sales"})}, kind: operation.Invalid, says: "More than one", steps: 3},
		"an action that is denied":       {who: viewer(), set: recorder{found: sales, denied: []policies.Action{policies.Query}}, kind: operation.Forbidden, says: "may not query", steps: 4},
		"a decider that is out of reach": {who: viewer(), set: recorder{found: sales, broken: policies.ErrUnavailable}, kind: operation.Unavailable, steps: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := tt.set
			def := newDef(&r, func(input) (answer, error) { return answer{}, errors.New("the handler was reached") })
			args := tt.args
			if args == "" {
				args = `{"dataset":"Sales"}`
			}
			_, failure := newGuard(&r).Call(policies.NewContext(t.Context(), tt.who), def, json.RawMessage(args))
			if failure == nil || failure.Kind != tt.kind || !strings.Contains(failure.Sentence+failure.Next, tt.says) {
				t.Errorf("failure %+v, want %s that says %q", failure, tt.kind, tt.says)
			}
			if len(r.steps) != tt.steps {
				t.Errorf("steps %q, want %d", r.steps, tt.steps)
			}
		})
	}
}

// AUTHZ-09: a refusal leaves a deny row; what was merely wrong leaves none.
func TestRefusalsAreAudited(t *testing.T) {
	r := &recorder{found: []knowledge.Dataset{{ID: "d1", Name: "Sales"}}, denied: []policies.Action{policies.Query}}
	def := newDef(r, func(input) (answer, error) { return answer{}, nil })
	ctx := policies.NewContext(t.Context(), viewer())

	newGuard(r).Call(ctx, def, json.RawMessage(`{"dataset":"Sales"}`))
	newGuard(r).Call(ctx, def, json.RawMessage(`{}`))

	want := operation.Refusal{Operation: "say", Element: "d1", Kind: operation.Forbidden}
	if len(r.refusals) != 1 || r.refusals[0].Operation != want.Operation || r.refusals[0].Element != want.Element || r.refusals[0].Kind != want.Kind {
		t.Errorf("audited %+v, want %+v alone", r.refusals, want)
	}
}

// MCP-09: what a dependency says never reaches the caller.
func TestUnexpectedErrorsKeepTheirText(t *testing.T) {
	for name, handle := range map[string]func(input) (answer, error){
		"an error": func(input) (answer, error) { return answer{}, errors.New("relation secret_table does not exist") },
		"a panic":  func(input) (answer, error) { panic("secret_table") },
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{found: []knowledge.Dataset{{ID: "d1", Name: "Sales"}}}
			_, failure := newGuard(r).Call(policies.NewContext(t.Context(), viewer()), newDef(r, handle), json.RawMessage(`{"dataset":"Sales"}`))
			if failure == nil || failure.Kind != operation.Internal || strings.Contains(failure.Text("x"), "secret_table") {
				t.Errorf("the caller is told %+v", failure)
			}
			if failure.Cause == nil || !strings.Contains(failure.Cause.Error(), "secret_table") {
				t.Errorf("the log is told %v", failure.Cause)
			}
		})
	}
}

func TestLogIsSilentOnCallersWhoLeave(t *testing.T) {
	for name, leaves := range map[string]bool{"who waits": false, "who leaves": true} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			r := &recorder{found: []knowledge.Dataset{{ID: "d1", Name: "Sales"}}}
			g := newGuard(r)
			g.Log = slog.New(slog.NewTextHandler(&log, nil))
			ctx, leave := context.WithCancel(policies.NewContext(t.Context(), viewer()))
			defer leave()
			def := newDef(r, func(input) (answer, error) {
				if leaves {
					leave()
				}
				return answer{}, errors.New("reading rows")
			})
			if _, failure := g.Call(ctx, def, json.RawMessage(`{"dataset":"Sales"}`)); failure == nil {
				t.Fatal("it went well")
			}
			if silent := log.Len() == 0; silent != leaves {
				t.Errorf("logged %q", log.String())
			}
		})
	}
}

// adminActions are those that the shipped policy declares.
func adminActions(t *testing.T) []policies.Action {
	t.Helper()
	raw, err := defaults.Files.ReadFile("admin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		ResourcePolicy struct {
			Rules []struct {
				Actions []policies.Action `yaml:"actions"`
			} `yaml:"rules"`
		} `yaml:"resourcePolicy"`
	}
	if err := yaml.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	var all []policies.Action
	for _, r := range policy.ResourcePolicy.Rules {
		all = append(all, r.Actions...)
	}
	return all
}

// SVC-15, SVC-16, SVC-18, AUTHZ-15: what a service account never does, where policies
// allow everything. They are not even asked.
func TestServiceAccountNeverAdministers(t *testing.T) {
	def := func(name string, ask operation.Question[struct{}]) *operation.Def {
		return operation.Operation[struct{}, answer]{
			Name: name, Title: "Do", Doc: "Does it.", Route: "POST /do", Command: "do", Surfaces: operation.API, Effect: operation.Replaces, Ask: ask,
			Handle: func(context.Context, *operation.Call, struct{}) (answer, error) { return answer{"done"}, nil },
		}.Def()
	}
	type try struct {
		def     *operation.Def
		allowed bool
	}
	tries := map[string]try{
		// Whatever is declared later is refused by default.
		"a new admin action":      {def("do", operation.OnAdmin[struct{}]("become_owner")), false},
		"editing the conventions": {def("do", operation.OnBook[struct{}](policies.EditConventions)), false},
		"approving":               {def("do", operation.OnBook[struct{}](policies.Approve)), false},
		"reading the book":        {def("do", operation.OnBook[struct{}](policies.Read)), true},
		"verifying":               {def("do", operation.OnBook[struct{}](policies.Verify)), true},
		"whoami":                  {def("whoami", operation.OwnAccount[struct{}]()), true},
		"its grants":              {def("list_my_grants", operation.OwnAccount[struct{}]()), false},
		"ending a grant":          {def("end_my_grant", operation.OwnAccount[struct{}]()), false},
		"its connection":          {def("disconnect_power_bi", operation.OwnAccount[struct{}]()), false},
	}
	actions := adminActions(t)
	if len(actions) < 12 {
		t.Fatalf("only the actions %q were found", actions)
	}
	for _, a := range actions {
		tries["admin action "+string(a)] = try{def("do", operation.OnAdmin[struct{}](a)), a == policies.ReadStatus}
	}
	account := viewer()
	account.Kind, account.Via = policies.ServiceAccount, policies.ViaServiceAccount
	account.Roles = []string{policies.RoleAdmin, policies.RoleCurator, policies.RoleViewer}
	for name, c := range tries {
		r := &recorder{}
		_, failure := newGuard(r).Call(policies.NewContext(t.Context(), account), c.def, nil)
		if c.allowed && failure != nil || !c.allowed && (failure == nil || failure.Kind != operation.Forbidden || len(r.steps) > 0) {
			t.Errorf("%s: %+v after %q, want it allowed: %t", name, failure, r.steps, c.allowed)
		}
	}
}

// MCP-10: the connector reaches nothing that is not its own.
func TestConnectorReachesItsOwnAlone(t *testing.T) {
	r := &recorder{}
	def := operation.Operation[struct{}, answer]{
		Name: "rule", Title: "Rule", Doc: "Rules.", Route: "POST /rule", Command: "rule", Surfaces: operation.API, Effect: operation.Replaces,
		Ask:    operation.OnAdmin[struct{}](policies.ManagePII),
		Handle: func(context.Context, *operation.Call, struct{}) (answer, error) { return answer{"done"}, nil },
	}.Def()
	p := viewer()
	p.Roles = []string{policies.RoleAdmin}
	_, failure := newGuard(r).Call(policies.NewContext(t.Context(), p), def, nil)
	if failure == nil || failure.Kind != operation.NotFound || len(r.steps) > 0 {
		t.Errorf("failure %+v after %q", failure, r.steps)
	}
}

// TOOLS-03: a declaration that contradicts itself does not register.
func TestDefRefusesContradictions(t *testing.T) {
	sound := operation.Operation[input, answer]{
		Name: "say", Title: "Say", Doc: "Says it.", Route: "GET /say", Command: "say", Surfaces: operation.API, Effect: operation.Reads,
		Ask:    operation.OnBook[input](policies.Read),
		Handle: func(context.Context, *operation.Call, input) (answer, error) { return answer{}, nil },
	}
	tests := map[string]func(*operation.Operation[input, answer]){
		"no question": func(o *operation.Operation[input, answer]) { o.Ask = operation.Question[input]{} },
		"asks nothing without being listed": func(o *operation.Operation[input, answer]) {
			o.Ask = operation.OwnAccount[input]()
		},
		"no effect":                 func(o *operation.Operation[input, answer]) { o.Effect = 0 },
		"no surface":                func(o *operation.Operation[input, answer]) { o.Surfaces = 0 },
		"a GET that writes":         func(o *operation.Operation[input, answer]) { o.Effect = operation.Adds },
		"a path without its field":  func(o *operation.Operation[input, answer]) { o.Route = "GET /say/{nothing}" },
		"no description":            func(o *operation.Operation[input, answer]) { o.Doc = "" },
		"a name clients cannot use": func(o *operation.Operation[input, answer]) { o.Name = "Say it" },
	}
	sound.Def()
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it registered")
				}
			}()
			o := sound
			change(&o)
			o.Def()
		})
	}
}

// TOOLS-05
func TestEveryKindHasItsStatus(t *testing.T) {
	want := []int{400, 401, 403, 404, 409, 403, 409, 409, 429, 429, 413, 502, 504, 503, 500}
	for i, k := range operation.ErrorKinds() {
		if k.Status() != want[i] {
			t.Errorf("%s is %d, want %d", k, k.Status(), want[i])
		}
	}
}
