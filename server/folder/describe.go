package folder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
	"github.com/pbmb/pbmb/policies/deployment"
)

// A describeUnit is what is translated by itself: a rule or one expression of it.
type describeUnit struct {
	resource policies.Kind // the kind under which the engine has it
	file     string
	line     int
	text     string
	rule     string // which rule it is or is part of
	whole    bool
}

// describeRules translates every rule on describe to SQL, as the api does for its
// lists, from the plan that the engine makes of that rule alone.
func (c *Checker) describeRules(ctx context.Context) Result {
	set, err := c.policies()
	if err != nil {
		return Result{Err: errors.New("the policies cannot be read: see policy scopes")}
	}
	rules := set.DescribeRules()
	if len(rules) == 0 {
		return Result{Note: "none"}
	}
	engine, err := c.pinned(ctx)
	if err != nil {
		return Result{Err: err}
	}
	dir, err := os.MkdirTemp("", "pbmb-describe-")
	if err != nil {
		return Result{Err: err}
	}
	defer os.RemoveAll(dir)
	units, err := c.layDescribeUnits(dir, set, rules)
	if err != nil {
		return Result{Err: err}
	}
	target, stop, err := engine.Serve(ctx, dir)
	if err != nil {
		return Result{Err: fmt.Errorf("the rules cannot be tried: %w", err)}
	}
	defer stop()
	decider, err := cerbos.New(target)
	if err != nil {
		return Result{Err: err}
	}
	defer decider.Close()

	roles := append(set.RoleNames(), policies.RoleViewer, policies.RoleCurator, policies.RoleAdmin, policies.RolePIIReader)
	slices.Sort(roles)
	var problems []error
	failed := map[string]bool{}
	for _, u := range units {
		if u.whole && failed[u.rule] {
			continue // which of its expressions it is has been said
		}
		if err := translates(ctx, decider, u.resource, slices.Compact(roles)); err != nil {
			failed[u.rule] = true
			problems = append(problems, fmt.Errorf("%s/%s:%d: %s: %w", deployment.PolicyFolder, u.file, u.line, u.text, err))
		}
	}
	if len(problems) > 0 {
		problems = append(problems, errors.New(
			"Such a rule may use the dataset's id and its attributes workspace_id, app_ids, endorsement, sensitivity_label and has_row_level_security, with and, or, not, ==, in and hasIntersection."))
		return Result{Err: errors.Join(problems...)}
	}
	if len(rules) == 1 {
		return Result{Note: "1 translates to SQL"}
	}
	return Result{Note: fmt.Sprintf("%d translate to SQL", len(rules))}
}

// layDescribeUnits writes each unit as a policy of its own into dir, beside what
// rules may draw on.
func (c *Checker) layDescribeUnits(dir string, set *deployment.Set, rules []deployment.DescribeRule) ([]describeUnit, error) {
	if err := os.CopyFS(filepath.Join(dir, "shipped"), defaults.Files); err != nil {
		return nil, err
	}
	for i, name := range set.Shared() {
		content, err := os.ReadFile(filepath.Join(c.path(deployment.PolicyFolder), filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("shared-%d%s", i, filepath.Ext(name))), content, 0o644); err != nil {
			return nil, err
		}
	}
	var units []describeUnit
	add := func(r deployment.DescribeRule, e *deployment.Expression) error {
		u := describeUnit{resource: policies.Kind(fmt.Sprintf("describe_%d", len(units))), file: r.File, line: r.Line, text: "the rule as a whole", whole: e == nil}
		u.rule = fmt.Sprintf("%s:%d", r.File, r.Line)
		if e != nil {
			u.line, u.text = e.Line, e.Text
		}
		policy, err := r.Alone(string(u.resource), e)
		if err != nil {
			return fmt.Errorf("%s/%s:%d: %w", deployment.PolicyFolder, u.file, u.line, err)
		}
		units = append(units, u)
		return os.WriteFile(filepath.Join(dir, string(u.resource)+".json"), policy, 0o644)
	}
	for _, r := range rules {
		for i := range r.Expressions {
			if err := add(r, &r.Expressions[i]); err != nil {
				return nil, err
			}
		}
		if err := add(r, nil); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// translates asks for the view of every kind of caller under every value of the
// setting, with lists that hold something, so that no condition is decided before
// it is seen.
func translates(ctx context.Context, d *cerbos.Decider, resource policies.Kind, roles []string) error {
	const id = "00000000-0000-4000-8000-000000000001"
	views := visibility.New(asDatasets{d, resource}, slog.New(slog.DiscardHandler))
	for _, kind := range []policies.PrincipalKind{policies.Person, policies.ServiceAccount} {
		for _, see := range []policies.MetadataVisibility{policies.VisibleByPowerBI, policies.VisibleToEveryone, policies.VisibleByPolicy} {
			_, err := views.For(ctx, &policies.Principal{
				Kind: kind, ID: id, Roles: roles, MetadataVisibility: see,
				WorkspaceIDs: []string{id}, AppIDs: []string{id}, DatasetIDs: []string{id},
			})
			if e, ok := errors.AsType[*visibility.UntranslatableError](err); ok {
				return e
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// asDatasets has plans for datasets made of the rules on another kind.
type asDatasets struct {
	*cerbos.Decider
	kind policies.Kind
}

func (d asDatasets) Plan(ctx context.Context, p *policies.Principal, a policies.Action, _ policies.Kind) (policies.Plan, error) {
	return d.Decider.Plan(ctx, p, a, d.kind)
}
