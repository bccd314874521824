package cerbostest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/policies"
)

// Conformance is the suite that every decider over the shipped policies passes.
func Conformance(t *testing.T, d policies.Decider) {
	t.Helper()
	t.Run("what each role may", func(t *testing.T) { rolesMay(t, d) })
	t.Run("what is one's own", func(t *testing.T) { ownThings(t, d) })
	t.Run("plans agree with single decisions", func(t *testing.T) { plansAgree(t, d) })
	t.Run("a principal without roles", func(t *testing.T) { roleless(t, d) })
}

// rolesMay has the whole of what is allowed by role alone: everything else in the
// product of roles, kinds and actions is refused.
// ROLES-03 ROLES-05 ROLES-06 ROLES-07 ROLES-08 ROLES-09 ROLES-10 ROLES-11 ROLES-12
// ROLES-13 ROLES-14 ROLES-15 ROLES-65 ROLES-66 ROLES-67 ROLES-69
func rolesMay(t *testing.T, d policies.Decider) {
	reading := "book:read thread:create thread:reply thread:upvote query_log:read"
	curating := reading + " book:curate book:verify book:approve thread:accept thread:archive"
	administering := curating + " book:edit_conventions"
	for _, a := range AdminActions() {
		administering += " admin:" + string(a)
	}
	may := map[string]string{
		policies.RoleViewer:    reading,
		policies.RoleCurator:   curating,
		policies.RoleAdmin:     administering,
		policies.RolePIIReader: "",
		"metric_steward":       "",
	}
	resources := []policies.Resource{
		policies.Book, policies.Admin,
		{Kind: policies.KindThread, ID: "t", Attr: map[string]any{"author_id": "person:other", "kind": "question", "status": "open"}},
		{Kind: policies.KindQueryLog, ID: "q", Attr: map[string]any{"principal_id": "person:other"}},
		{Kind: policies.KindResult, ID: "r", Attr: map[string]any{"owner_id": "person:other"}},
	}
	actions := append(AdminActions(), policies.Describe, policies.Query, policies.Read, policies.Curate, policies.Verify, policies.Approve,
		policies.EditConventions, policies.Create, policies.Reply, policies.Upvote, policies.Accept, policies.Archive, "become_owner")
	for role, allowed := range may {
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{role}}
		for _, r := range resources {
			for _, a := range actions {
				want := slices.Contains(strings.Fields(allowed), string(r.Kind)+":"+string(a))
				if got := decide(t, d, p, a, r); got != want {
					t.Errorf("%s, %s on %s: %t, want %t", role, a, r.Kind, got, want)
				}
			}
		}
	}
}

// ownThings: SVC-19 ROLES-68 RESULT-11 THREAD-03 THREAD-04
func ownThings(t *testing.T, d policies.Decider) {
	person := &policies.Principal{Kind: policies.Person, ID: "same", Roles: []string{"viewer"}}
	account := &policies.Principal{Kind: policies.ServiceAccount, ID: "same", Roles: []string{"viewer"}}
	link := &policies.Principal{Kind: policies.CSVLink, ID: "result-1", Roles: []string{"csv_link"}}
	result := func(id, owner string) policies.Resource {
		return policies.Resource{Kind: policies.KindResult, ID: id, Attr: map[string]any{"owner_id": owner}}
	}
	thread := func(kind, author string) policies.Resource {
		return policies.Resource{Kind: policies.KindThread, ID: "t", Attr: map[string]any{"author_id": author, "kind": kind, "status": "open"}}
	}
	for name, c := range map[string]struct {
		p    *policies.Principal
		a    policies.Action
		r    policies.Resource
		want bool
	}{
		"a person reads their result":                {person, policies.Read, result("result-1", "person:same"), true},
		"an account of the same id does not":         {account, policies.Read, result("result-1", "person:same"), false},
		"an account reads its result":                {account, policies.Read, result("result-1", "service_account:same"), true},
		"a person of the same id does not":           {person, policies.Read, result("result-1", "service_account:same"), false},
		"a link reads its result":                    {link, policies.Read, result("result-1", "person:same"), true},
		"a link reads no other":                      {link, policies.Read, result("result-2", "person:same"), false},
		"a link reads no book":                       {link, policies.Read, policies.Book, false},
		"an author accepts an answer to a question":  {person, policies.Accept, thread("question", "person:same"), true},
		"an author accepts nothing on a comment":     {person, policies.Accept, thread("comment", "person:same"), false},
		"an author archives":                         {person, policies.Archive, thread("comment", "person:same"), true},
		"an account archives nothing of a person's":  {account, policies.Archive, thread("comment", "person:same"), false},
		"an account never accepts, its own question": {account, policies.Accept, thread("question", "service_account:same"), false},
	} {
		if got := decide(t, d, c.p, c.a, c.r); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// plansAgree: VIS-02 VIS-03 VIS-04 ROLES-04 ROLES-71
func plansAgree(t *testing.T, d policies.Decider) {
	dataset := func(id, workspace string, apps ...string) policies.Resource {
		return policies.Resource{Kind: policies.KindDataset, ID: id, Attr: map[string]any{
			"workspace_id": workspace, "workspace_name": "", "app_ids": append([]string{}, apps...), "app_names": []string{},
			"has_row_level_security": false, "endorsement": "", "sensitivity_label": "", "custom": map[string]any{},
		}}
	}
	datasets := []policies.Resource{
		dataset("d1", "w1"), dataset("d2", "w2", "a1"), dataset("d3", "w3", "a1", "a2"), dataset("d4", "w4"),
	}
	reach := policies.Principal{ID: "p", WorkspaceIDs: []string{"w1"}, AppIDs: []string{"a2", "a9"}, DatasetIDs: []string{"d4"}}
	none := policies.Principal{ID: "p"}
	for name, c := range map[string]struct {
		p     policies.Principal
		kind  policies.PrincipalKind
		roles string
		see   policies.MetadataVisibility
		want  string
	}{
		"by each way":                             {reach, policies.Person, "viewer", "", "d1 d3 d4"},
		"by each way, said":                       {reach, policies.Person, "viewer", policies.VisibleByPowerBI, "d1 d3 d4"},
		"an admin sees no more":                   {reach, policies.Person, "admin viewer", "", "d1 d3 d4"},
		"one workspace":                           {policies.Principal{ID: "p", WorkspaceIDs: []string{"w2"}}, policies.Person, "curator", "", "d2"},
		"nothing":                                 {none, policies.Person, "viewer", "", ""},
		"an admin without reach":                  {none, policies.Person, "admin", "", ""},
		"pii_reader alone":                        {reach, policies.Person, "pii_reader", "", ""},
		"pii_reader beside viewer":                {reach, policies.Person, "pii_reader viewer", "", "d1 d3 d4"},
		"a service account":                       {reach, policies.ServiceAccount, "viewer", "", "d1 d3 d4"},
		"a link":                                  {reach, policies.CSVLink, "csv_link", "", ""},
		"everyone":                                {none, policies.Person, "viewer", policies.VisibleToEveryone, "d1 d2 d3 d4"},
		"everyone does not mean accounts":         {none, policies.ServiceAccount, "viewer", policies.VisibleToEveryone, ""},
		"everyone does not mean pii_reader alone": {none, policies.Person, "pii_reader", policies.VisibleToEveryone, ""},
		"policy":                                  {reach, policies.Person, "admin viewer", policies.VisibleByPolicy, ""},
		"a value that does not exist":             {reach, policies.Person, "viewer", "all", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.p
			p.Kind, p.Roles, p.MetadataVisibility = c.kind, strings.Fields(c.roles), c.see
			for _, a := range []policies.Action{policies.Describe, policies.Query} {
				plan, err := d.Plan(t.Context(), &p, a, policies.KindDataset)
				if err != nil {
					t.Fatalf("planning %s: %v", a, err)
				}
				for _, r := range datasets {
					want := slices.Contains(strings.Fields(c.want), r.ID)
					if got := decide(t, d, &p, a, r); got != want {
						t.Errorf("%s of %s: %t, want %t", a, r.ID, got, want)
					}
					if got := holds(t, plan, r); got != want {
						t.Errorf("the plan of %s holds for %s: %t, want %t", a, r.ID, got, want)
					}
				}
			}
		})
	}
}

func roleless(t *testing.T, d policies.Decider) {
	p := &policies.Principal{Kind: policies.Person, ID: "p", WorkspaceIDs: []string{"w1"}, MetadataVisibility: policies.VisibleToEveryone}
	if decide(t, d, p, policies.Read, policies.Book) {
		t.Error("somebody without a role reads the book")
	}
	plan, err := d.Plan(t.Context(), p, policies.Describe, policies.KindDataset)
	if err != nil || plan.Kind != policies.Never {
		t.Errorf("the plan of somebody without a role is %v, %v", plan.Kind, err)
	}
}

func decide(t *testing.T, d policies.Decider, p *policies.Principal, a policies.Action, r policies.Resource) bool {
	t.Helper()
	ok, err := d.Allowed(t.Context(), p, a, r)
	if err != nil {
		t.Fatalf("%s on %s for %v: %v", a, r.Kind, p.Roles, err)
	}
	return ok
}

func holds(t *testing.T, plan policies.Plan, r policies.Resource) bool {
	t.Helper()
	switch plan.Kind {
	case policies.Always:
		return true
	case policies.Never:
		return false
	}
	v, err := eval(plan.Cond, r)
	if err != nil {
		t.Fatal(err)
	}
	return v == true
}

// eval is the meaning of a plan's condition.
func eval(e *policies.Expr, r policies.Resource) (any, error) {
	switch {
	case e.Var == "request.resource.id":
		return r.ID, nil
	case e.Var != "":
		v, ok := r.Attr[strings.TrimPrefix(e.Var, "request.resource.attr.")]
		if !ok {
			return nil, fmt.Errorf("the plan asks for %s", e.Var)
		}
		if l, ok := v.([]string); ok {
			return list(l).Value, nil
		}
		return v, nil
	case e.Op == "":
		return e.Value, nil
	}
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = eval(a, r); err != nil {
			return nil, err
		}
	}
	switch e.Op {
	case "and":
		return !slices.Contains(args, any(false)), nil
	case "or":
		return slices.Contains(args, any(true)), nil
	case "not":
		return args[0] == false, nil
	case "eq":
		return args[0] == args[1], nil
	case "in":
		return slices.Contains(args[1].([]any), args[0]), nil
	case "hasIntersection":
		return slices.ContainsFunc(args[0].([]any), func(v any) bool { return slices.Contains(args[1].([]any), v) }), nil
	}
	return nil, fmt.Errorf("the plan uses the operator %q", e.Op)
}
