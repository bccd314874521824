package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
	"github.com/pbmb/pbmb/policies/deployment"
)

// A Matrix says what each role by itself may do, under the deployment's policies
// over the shipped ones and under the shipped ones alone.
type Matrix struct {
	Roles []string // the shipped ones, then those of the deployment
	Rows  []MatrixRow
}

// A MatrixRow is one action on one kind of resource.
type MatrixRow struct {
	Resource string // the kind, and which of it where that matters
	Action   policies.Action
	Allowed  []bool // by the position of the role
	Shipped  []bool // the same without the deployment's policies
}

// A Difference is a decision that the deployment's policies change.
type Difference struct {
	Role, Resource string
	Action         policies.Action
	Allowed        bool // as it is with them
}

// Differences are in the order of rows, then of roles.
func (m *Matrix) Differences() []Difference {
	var out []Difference
	for _, r := range m.Rows {
		for i, role := range m.Roles {
			if r.Allowed[i] != r.Shipped[i] {
				out = append(out, Difference{role, r.Resource, r.Action, r.Allowed[i]})
			}
		}
	}
	return out
}

// The caller of the matrix, and what Power BI lists for it.
const (
	matrixCaller    = "00000000-0000-4000-8000-000000000001"
	matrixWorkspace = "00000000-0000-4000-8000-000000000002"
	matrixElsewhere = "00000000-0000-4000-8000-000000000003"
)

// matrixResources has an example of every kind, and of both sides where a kind's
// attributes decide.
func matrixResources() (names []string, resources []policies.Resource) {
	own := string(policies.Person) + ":" + matrixCaller
	other := string(policies.Person) + ":" + matrixElsewhere
	thread := func(author string) policies.Resource {
		return policies.Resource{Kind: policies.KindThread, ID: "thread", Attr: map[string]any{"author_id": author, "kind": "question", "status": "open"}}
	}
	result := func(owner string) policies.Resource {
		return policies.Resource{Kind: policies.KindResult, ID: "result", Attr: map[string]any{"owner_id": owner}}
	}
	for _, r := range []struct {
		name string
		policies.Resource
	}{
		{"dataset within reach", (&knowledge.Dataset{ID: matrixCaller, WorkspaceID: matrixWorkspace}).Resource()},
		{"dataset beyond reach", (&knowledge.Dataset{ID: matrixElsewhere, WorkspaceID: matrixElsewhere}).Resource()},
		{"book", policies.Book},
		{"one's own thread", thread(own)},
		{"another's thread", thread(other)},
		{"query_log", policies.Resource{Kind: policies.KindQueryLog, ID: "entry", Attr: map[string]any{"principal_id": other}}},
		{"one's own result", result(own)},
		{"another's result", result(other)},
		{"admin", policies.Admin},
	} {
		names, resources = append(names, r.name), append(resources, r.Resource)
	}
	return names, resources
}

// Matrix asks the engine about every role, resource and action.
func (c *Checker) Matrix(ctx context.Context) (*Matrix, error) {
	set, err := c.policies()
	if err != nil {
		return nil, err
	}
	engine, err := c.pinned(ctx)
	if err != nil {
		return nil, err
	}
	m := &Matrix{Roles: []string{policies.RoleViewer, policies.RoleCurator, policies.RoleAdmin, policies.RolePIIReader}}
	for _, role := range set.RoleNames() {
		if !slices.Contains(m.Roles, role) {
			m.Roles = append(m.Roles, role)
		}
	}
	dir, err := os.MkdirTemp("", "pbmb-matrix-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := cerbos.LayPolicies(filepath.Join(dir, "shipped"), defaults.Files); err != nil {
		return nil, err
	}
	if err := cerbos.LayPolicies(filepath.Join(dir, "laid"), defaults.Files, os.DirFS(c.path(deployment.PolicyFolder))); err != nil {
		return nil, inFolder(err)
	}
	for _, layer := range []struct {
		dir    string
		decide func(*MatrixRow, bool)
	}{
		{"shipped", func(r *MatrixRow, allowed bool) { r.Shipped = append(r.Shipped, allowed) }},
		{"laid", func(r *MatrixRow, allowed bool) { r.Allowed = append(r.Allowed, allowed) }},
	} {
		if err := m.ask(ctx, engine, filepath.Join(dir, layer.dir), layer.decide); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Matrix) ask(ctx context.Context, engine *cerbos.Engine, dir string, decide func(*MatrixRow, bool)) error {
	target, stop, err := engine.Serve(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	decider, err := cerbos.New(target)
	if err != nil {
		return err
	}
	defer decider.Close()
	names, resources := matrixResources()
	row := 0
	for i, r := range resources {
		for _, a := range r.Kind.Actions() {
			if row == len(m.Rows) {
				m.Rows = append(m.Rows, MatrixRow{Resource: names[i], Action: a})
			}
			for _, role := range m.Roles {
				p := &policies.Principal{Kind: policies.Person, ID: matrixCaller, Roles: []string{role}, WorkspaceIDs: []string{matrixWorkspace}}
				allowed, err := decider.Allowed(ctx, p, a, r)
				if err != nil {
					return fmt.Errorf("asking for %s: %w", role, err)
				}
				decide(&m.Rows[row], allowed)
			}
			row++
		}
	}
	return nil
}
