package cerbos_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	effectv1 "github.com/cerbos/cerbos/api/genpb/cerbos/effect/v1"
	enginev1 "github.com/cerbos/cerbos/api/genpb/cerbos/engine/v1"
	requestv1 "github.com/cerbos/cerbos/api/genpb/cerbos/request/v1"
	responsev1 "github.com/cerbos/cerbos/api/genpb/cerbos/response/v1"
	svcv1 "github.com/cerbos/cerbos/api/genpb/cerbos/svc/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
)

// A recorder stands in for Cerbos where a test looks at what it is sent, or makes
// it answer what the real one does not.
type recorder struct {
	svcv1.UnimplementedCerbosServiceServer
	target string

	mu     sync.Mutex
	checks []*requestv1.CheckResourcesRequest
	plans  []*requestv1.PlanResourcesRequest
	err    error
	plan   *enginev1.PlanResourcesFilter
	silent atomic.Bool // answers nothing at all
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	dir, err := os.MkdirTemp("", "cerbos")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &recorder{target: filepath.Join(dir, "s"), plan: &enginev1.PlanResourcesFilter{Kind: enginev1.PlanResourcesFilter_KIND_ALWAYS_ALLOWED}}
	l, err := net.Listen("unix", r.target)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	svcv1.RegisterCerbosServiceServer(s, r)
	go func() { _ = s.Serve(l) }() // ends with Stop
	t.Cleanup(s.Stop)
	return r
}

func (r *recorder) wait(ctx context.Context) error {
	if r.silent.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (r *recorder) ServerInfo(ctx context.Context, _ *requestv1.ServerInfoRequest) (*responsev1.ServerInfoResponse, error) {
	return &responsev1.ServerInfoResponse{}, r.wait(ctx)
}

func (r *recorder) CheckResources(ctx context.Context, q *requestv1.CheckResourcesRequest) (*responsev1.CheckResourcesResponse, error) {
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, q)
	return &responsev1.CheckResourcesResponse{Results: []*responsev1.CheckResourcesResponse_ResultEntry{{
		Actions: map[string]effectv1.Effect{q.Resources[0].Actions[0]: effectv1.Effect_EFFECT_ALLOW},
	}}}, r.err
}

func (r *recorder) PlanResources(ctx context.Context, q *requestv1.PlanResourcesRequest) (*responsev1.PlanResourcesResponse, error) {
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans = append(r.plans, q)
	return &responsev1.PlanResourcesResponse{Filter: r.plan}, r.err
}

func (r *recorder) counts() (checks, plans int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.checks), len(r.plans)
}

// ROLES-64 ROLES-70 ROLES-71 ROLES-75: what Cerbos is told, to the attribute.
func TestRequests(t *testing.T) {
	r := newRecorder(t)
	d := newDecider(t, r.target)
	dataset := &knowledge.Dataset{ID: "d1", Name: "Sales", WorkspaceID: "w1", Workspace: "Sales team", AppIDs: []string{"a1"}, AppNames: []string{"Sales app"}, Endorsement: "Certified"}
	for _, p := range []*policies.Principal{
		{Kind: policies.Person, ID: "p", Email: "p@sample.example", Name: "P", Roles: []string{"viewer"}, WorkspaceIDs: []string{"w1"}, AppIDs: []string{"a1"}, DatasetIDs: []string{"d2", "d3"}, ObjectIDs: []string{"o"}, MetadataVisibility: policies.VisibleToEveryone},
		{Kind: policies.ServiceAccount, ID: "s", Roles: []string{"viewer", "curator"}},
		{Kind: policies.CSVLink, ID: "r", Roles: []string{"csv_link"}},
	} {
		if _, err := d.Allowed(t.Context(), p, policies.Describe, dataset.Resource()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Plan(t.Context(), p, policies.Describe, policies.KindDataset); err != nil {
			t.Fatal(err)
		}
		check, plan := r.checks[len(r.checks)-1], r.plans[len(r.plans)-1]
		visibility := string(p.MetadataVisibility)
		if visibility == "" {
			visibility = "powerbi"
		}
		want := map[string]any{
			"kind": string(p.Kind), "metadata_visibility": visibility,
			"powerbi_workspace_ids": anys(p.WorkspaceIDs), "powerbi_app_ids": anys(p.AppIDs), "powerbi_dataset_ids": anys(p.DatasetIDs),
		}
		for from, asked := range map[string]*enginev1.Principal{"check": check.Principal, "plan": plan.Principal} {
			if diff := cmp.Diff(want, plain(asked.Attr)); diff != "" {
				t.Errorf("%s: the principal's attributes (-want +got):\n%s", from, diff)
			}
			if asked.Id != p.Subject() || !slices.Equal(asked.Roles, p.Roles) || asked.Scope != "deployment" {
				t.Errorf("%s: the principal is %s with %v at %q", from, asked.Id, asked.Roles, asked.Scope)
			}
		}
		asked := check.Resources[0]
		if asked.Resource.Scope != "deployment" || plan.Resource.Scope != "deployment" {
			t.Errorf("the scopes are %q and %q", asked.Resource.Scope, plan.Resource.Scope)
		}
		if asked.Resource.Kind != "dataset" || asked.Resource.Id != "d1" || !slices.Equal(asked.Actions, []string{"describe"}) || !slices.Equal(plan.Actions, []string{"describe"}) {
			t.Errorf("asked %v on %s %s, planned %v", asked.Actions, asked.Resource.Kind, asked.Resource.Id, plan.Actions)
		}
		if diff := cmp.Diff(map[string]any{
			"workspace_id": "w1", "workspace_name": "Sales team", "app_ids": []any{"a1"}, "app_names": []any{"Sales app"},
			"has_row_level_security": false, "endorsement": "Certified", "sensitivity_label": "", "custom": map[string]any{},
		}, plain(asked.Resource.Attr)); diff != "" {
			t.Errorf("the dataset's attributes (-want +got):\n%s", diff)
		}
		if len(plan.Resource.Attr) != 0 {
			t.Errorf("a plan is asked with the attributes %v", plan.Resource.Attr)
		}
	}
}

// ROLES-64 ROLES-65 ROLES-66 ROLES-67 ROLES-68 ROLES-69 ROLES-75: every action of
// every kind is asked with the attributes of the kind and no others, at the one
// scope, in checks and plans alike.
func TestRequestsOfEveryKind(t *testing.T) {
	r := newRecorder(t)
	d := newDecider(t, r.target)
	dataset := (&knowledge.Dataset{ID: "d1", Custom: map[string]any{"department": "Sales"}}).Resource()
	for _, c := range []struct {
		resource   policies.Resource
		attributes string
		actions    string
	}{
		{dataset, "app_ids app_names custom endorsement has_row_level_security sensitivity_label workspace_id workspace_name", "describe query"},
		{policies.Book, "", "read curate verify approve edit_conventions"},
		{policies.Resource{Kind: policies.KindThread, ID: "t", Attr: map[string]any{"author_id": "person:p", "kind": "question", "status": "open"}}, "author_id kind status", "create reply upvote accept archive"},
		{policies.Resource{Kind: policies.KindQueryLog, ID: "q", Attr: map[string]any{"principal_id": "person:p"}}, "principal_id", "read"},
		{policies.Resource{Kind: policies.KindResult, ID: "r", Attr: map[string]any{"owner_id": "person:p"}}, "owner_id", "read"},
		{policies.Admin, "", "manage_settings manage_secrets manage_people manage_service_accounts manage_pii manage_datasets import_book run_sync read_audit revoke_connection read_sync_events read_status"},
	} {
		kind := c.resource.Kind
		var actions []string
		for _, a := range kind.Actions() {
			actions = append(actions, string(a))
			if _, err := d.Allowed(t.Context(), viewer, a, c.resource); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Plan(t.Context(), viewer, a, kind); err != nil {
				t.Fatal(err)
			}
			check, plan := r.checks[len(r.checks)-1], r.plans[len(r.plans)-1]
			asked := check.Resources[0]
			if got := strings.Join(slices.Sorted(maps.Keys(asked.Resource.Attr)), " "); got != c.attributes {
				t.Errorf("%s has the attributes %q, want %q", kind, got, c.attributes)
			}
			if asked.Resource.Kind != string(kind) || plan.Resource.Kind != string(kind) || !slices.Equal(asked.Actions, []string{string(a)}) || !slices.Equal(plan.Actions, []string{string(a)}) {
				t.Errorf("for %s on %s it asks %v on %s and plans %v on %s", a, kind, asked.Actions, asked.Resource.Kind, plan.Actions, plan.Resource.Kind)
			}
			for _, scope := range []string{check.Principal.Scope, asked.Resource.Scope, plan.Principal.Scope, plan.Resource.Scope} {
				if scope != "deployment" {
					t.Errorf("%s on %s is asked at the scope %q", a, kind, scope)
				}
			}
		}
		if got := strings.Join(actions, " "); got != c.actions {
			t.Errorf("the actions on %s are %q, want %q", kind, got, c.actions)
		}
	}
	if got := len(policies.Kinds()); got != 6 {
		t.Errorf("there are %d kinds", got)
	}
}

// AUTHZ-01: only the whole question is remembered: when anything in it differs,
// Cerbos is asked.
func TestRememberedByTheWholeQuestion(t *testing.T) {
	base := policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}, WorkspaceIDs: []string{"w1", "w2"}, AppIDs: []string{"a1"}, DatasetIDs: []string{"d1"}}
	attr := func(change func(map[string]any)) policies.Resource {
		r := policies.Resource{Kind: policies.KindDataset, ID: "d1", Attr: map[string]any{
			"workspace_id": "w1", "app_ids": []string{"a1", "a2"}, "has_row_level_security": false, "custom": map[string]any{"n": 1.0, "list": []any{"x", true, nil}},
		}}
		change(r.Attr)
		return r
	}
	same := attr(func(map[string]any) {})
	for name, c := range map[string]struct {
		change func(*policies.Principal)
		action policies.Action
		r      policies.Resource
	}{
		"another kind":             {change: func(p *policies.Principal) { p.Kind = policies.ServiceAccount }},
		"another id":               {change: func(p *policies.Principal) { p.ID = "q" }},
		"another role":             {change: func(p *policies.Principal) { p.Roles = []string{"curator"} }},
		"one role more":            {change: func(p *policies.Principal) { p.Roles = []string{"curator", "viewer"} }},
		"one workspace fewer":      {change: func(p *policies.Principal) { p.WorkspaceIDs = []string{"w1"} }},
		"another workspace":        {change: func(p *policies.Principal) { p.WorkspaceIDs = []string{"w1", "w3"} }},
		"an app in a dataset's":    {change: func(p *policies.Principal) { p.AppIDs, p.DatasetIDs = p.DatasetIDs, p.AppIDs }},
		"no share":                 {change: func(p *policies.Principal) { p.DatasetIDs = nil }},
		"the setting":              {change: func(p *policies.Principal) { p.MetadataVisibility = policies.VisibleByPolicy }},
		"another action":           {action: policies.Query},
		"another dataset":          {r: policies.Resource{Kind: policies.KindDataset, ID: "d2", Attr: same.Attr}},
		"another kind of resource": {r: policies.Resource{Kind: policies.KindBook, ID: "d1", Attr: same.Attr}},
		"another workspace of it":  {r: attr(func(a map[string]any) { a["workspace_id"] = "w2" })},
		"ids joined":               {r: attr(func(a map[string]any) { a["app_ids"] = []string{"a1a2"} })},
		"a flag":                   {r: attr(func(a map[string]any) { a["has_row_level_security"] = true })},
		"a field deep in it":       {r: attr(func(a map[string]any) { a["custom"] = map[string]any{"n": 1.0, "list": []any{"x", false, nil}} })},
		"an attribute fewer":       {r: attr(func(a map[string]any) { delete(a, "custom") })},
		"text for a number":        {r: attr(func(a map[string]any) { a["custom"] = map[string]any{"n": "1", "list": []any{"x", true, nil}} })},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t)
			d := newDecider(t, r.target)
			ask := func(p policies.Principal, a policies.Action, res policies.Resource) {
				t.Helper()
				if ok, err := d.Allowed(t.Context(), &p, a, res); !ok || err != nil {
					t.Fatalf("%t, %v", ok, err)
				}
			}
			// Nothing is remembered until the connection is known to stand, which
			// takes a moment after the first answer.
			before := 0
			for start := time.Now(); ; {
				if time.Since(start) > 10*time.Second {
					t.Fatalf("one question was asked %d times and not remembered", before)
				}
				ask(*viewer, policies.Read, policies.Book)
				n, _ := r.counts()
				if n == before {
					break
				}
				before = n
			}
			ask(base, policies.Describe, same)
			ask(base, policies.Describe, attr(func(map[string]any) {}))
			if n, _ := r.counts(); n != before+1 {
				t.Fatalf("the same question was asked %d times", n-before)
			}
			p, a, res := base, policies.Describe, same
			if c.change != nil {
				c.change(&p)
			}
			if c.action != "" {
				a = c.action
			}
			if c.r.Kind != "" {
				res = c.r
			}
			ask(p, a, res)
			if n, _ := r.counts(); n != before+2 {
				t.Fatal("another question was answered from memory")
			}
			if _, err := d.Plan(t.Context(), &p, a, res.Kind); err != nil {
				t.Fatal(err)
			}
			if _, plans := r.counts(); plans != 1 {
				t.Fatal("a plan was answered with a decision")
			}
		})
	}
}

// AUTHZ-03: an error of Cerbos refuses, and is not remembered.
func TestErrorsRefuse(t *testing.T) {
	r := newRecorder(t)
	d := newDecider(t, r.target)
	r.err = status.Error(codes.Internal, "broken")
	refuses(t, d)
	r.mu.Lock()
	r.err = nil
	r.mu.Unlock()
	recovers(t, d)
}

// AUTHZ-01 AUTHZ-03: a Cerbos that has fallen silent on a connection that still
// stands is found out, and what it said is forgotten.
func TestSilenceForgets(t *testing.T) {
	r := newRecorder(t)
	d := newDecider(t, r.target)
	if ok, err := d.Allowed(t.Context(), viewer, policies.Describe, sales); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	r.silent.Store(true)
	for start := time.Now(); ; {
		if _, err := d.Allowed(t.Context(), viewer, policies.Describe, sales); err != nil {
			if !errors.Is(err, policies.ErrUnavailable) {
				t.Errorf("silence is %v", err)
			}
			break
		}
		if time.Since(start) > 5*time.Second {
			t.Fatal("remembered answers are given after 5 s of silence")
		}
	}
	r.silent.Store(false)
	recovers(t, d)
}

// VIS-10: what a plan says in words that we do not know never allows.
func TestUnknownPlanRefuses(t *testing.T) {
	r := newRecorder(t)
	d := newDecider(t, r.target)
	type operand = enginev1.PlanResourcesFilter_Expression_Operand
	for name, plan := range map[string]*enginev1.PlanResourcesFilter{
		"no plan":              nil,
		"no kind":              {},
		"a kind of the future": {Kind: 9},
		"no condition":         {Kind: enginev1.PlanResourcesFilter_KIND_CONDITIONAL},
		"an empty operand": {Kind: enginev1.PlanResourcesFilter_KIND_CONDITIONAL, Condition: &operand{Node: &enginev1.PlanResourcesFilter_Expression_Operand_Expression{
			Expression: &enginev1.PlanResourcesFilter_Expression{Operator: "or", Operands: []*operand{{}}},
		}}},
	} {
		r.mu.Lock()
		r.plan = plan
		r.mu.Unlock()
		if got, err := d.Plan(t.Context(), viewer, policies.Describe, policies.KindDataset); err == nil || !errors.Is(err, policies.ErrUnavailable) || got.Kind != policies.Never {
			t.Errorf("%s: %v, %v", name, got.Kind, err)
		}
	}
}

func TestUnknownAttributeRefuses(t *testing.T) {
	d := newDecider(t, newRecorder(t).target)
	_, err := d.Allowed(t.Context(), viewer, policies.Describe, policies.Resource{Kind: policies.KindDataset, ID: "d", Attr: map[string]any{"n": 1}})
	if !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("an int as an attribute: %v", err)
	}
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func plain(attr map[string]*structpb.Value) map[string]any {
	out := map[string]any{}
	for name, v := range attr {
		out[name] = v.AsInterface()
	}
	return out
}
