// Package visibility says what a caller may see, as a value: a [View] yields the
// SQL condition over datasets that Cerbos' plan amounts to, a check of a single
// dataset, and the conditions that leave out personal data. Every list, count
// and search puts them into its where clause, before a page or a count is cut.
//
// What is not understood is an error and never shows more.
package visibility

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
)

// A Service makes views.
type Service struct {
	decider policies.Decider
	log     *slog.Logger
}

// New returns a service that asks d.
func New(d policies.Decider, log *slog.Logger) *Service { return &Service{decider: d, log: log} }

// A View is what one principal may see during one request. The zero value, and a
// nil one, sees nothing.
type View struct {
	principal *policies.Principal
	decider   policies.Decider
	datasets  condition
}

// For returns what p may see. Errors wrap [policies.ErrUnavailable]; one is an
// [*UntranslatableError] where a rule on describe cannot become SQL.
func (s *Service) For(ctx context.Context, p *policies.Principal) (*View, error) {
	plan, err := s.decider.Plan(ctx, p, policies.Describe, policies.KindDataset)
	if err != nil {
		return nil, err
	}
	datasets, err := translator{p}.plan(plan)
	if err != nil {
		if e, ok := errors.AsType[*UntranslatableError](err); ok {
			s.log.ErrorContext(ctx, "a policy's rule on describe cannot become SQL", "name", e.Name)
		}
		return nil, fmt.Errorf("translating what %s may describe: %w", p.Subject(), err)
	}
	return &View{principal: p, decider: s.decider, datasets: datasets}, nil
}

// Principal is the caller whose view this is.
func (v *View) Principal() *policies.Principal { return v.principal }

// AsOf is what the database held as the caller was read.
func (v *View) AsOf() revision.Revisions {
	if v == nil || v.principal == nil {
		return revision.Revisions{}
	}
	return v.principal.AsOf
}

// Datasets returns the condition that holds for those rows of powerbi_dataset,
// under the given alias, that the principal may see: present in the tenant, not
// switched off in the book, and allowed by policy. Values go through arg, which
// returns the placeholder that it gives each.
func (v *View) Datasets(alias string, arg func(any) string) string {
	if v == nil || v.datasets == nil {
		return "false"
	}
	c := and{floor{}, v.datasets}
	if v.principal.Kind == policies.ServiceAccount {
		c = append(c, reach(v.principal))
	}
	return c.sql(&writer{alias: alias, arg: arg})
}

// Reach returns the condition that holds for those rows of powerbi_dataset, under
// the given alias, that Power BI lets the principal reach: whatever a policy says,
// and switched off in the book or not. It is for those who manage rules that hold
// everywhere; what people see, Datasets decides.
func (v *View) Reach(alias string, arg func(any) string) string {
	if v == nil || v.principal == nil {
		return "false"
	}
	return and{present{}, reach(v.principal)}.sql(&writer{alias: alias, arg: arg})
}

// Apps returns the condition that holds for those rows of powerbi_app, under the
// given alias, that the principal may see.
func (v *View) Apps(alias string, arg func(any) string) string {
	if v == nil || v.datasets == nil {
		return "false"
	}
	p := v.principal
	w := &writer{alias: alias, arg: arg}
	t := translator{p}
	own := or{
		t.oneOf(attribute{column: "id", kind: kindUUID}, p.AppIDs),
		t.oneOf(attribute{column: "workspace_id", kind: kindUUID}, p.WorkspaceIDs),
	}
	switch {
	case p.MetadataVisibility == policies.VisibleByPolicy:
		// Policies know no apps: one shows where a dataset behind it does.
		return and{present{}, raw("exists (select from powerbi_app_dataset of_app join powerbi_dataset in_app on in_app.id = of_app.dataset_id where of_app.app_id = " +
			alias + ".id and " + v.Datasets("in_app", arg) + ")")}.sql(w)
	case p.MetadataVisibility == policies.VisibleToEveryone && p.Kind == policies.Person:
		return present{}.sql(w)
	}
	return and{present{}, own}.sql(w)
}

// Allows reports whether the principal may see d, which the caller took from
// among the datasets that are present and not switched off.
func (v *View) Allows(ctx context.Context, d *knowledge.Dataset) (bool, error) {
	if v == nil || v.decider == nil {
		return false, nil
	}
	if v.principal.Kind == policies.ServiceAccount && !reaches(v.principal, d) {
		return false, nil
	}
	return v.decider.Allowed(ctx, v.principal, policies.Describe, d.Resource())
}

// reach is what Power BI's lists say of the principal. A service account never goes
// beyond it, whatever a policy allows (SVC-13): the workspaces and apps that it was
// granted.
func reach(p *policies.Principal) condition {
	t := translator{p}
	return or{
		t.oneOf(attributes[varID], p.DatasetIDs),
		t.oneOf(attributes[varWorkspace], p.WorkspaceIDs),
		inApps{t.ids(p.AppIDs)},
	}
}

func reaches(p *policies.Principal, d *knowledge.Dataset) bool {
	return slices.Contains(p.DatasetIDs, d.ID) || slices.Contains(p.WorkspaceIDs, d.WorkspaceID) ||
		slices.ContainsFunc(d.AppIDs, func(app string) bool { return slices.Contains(p.AppIDs, app) })
}

// AppIDs is an expression for the apps of a row of powerbi_dataset under alias,
// as text[]: what [knowledge.Dataset.AppIDs] must hold for a single check to agree
// with the condition of a list.
func AppIDs(alias string) string {
	return "array(select app_of.app_id::text " + appsOf(alias) + " order by 1)"
}

func appsOf(alias string) string {
	return "from powerbi_app_dataset app_of join powerbi_app app on app.id = app_of.app_id and app.removed_at is null where app_of.dataset_id = " + alias + ".id"
}

// Args collects the arguments of one statement.
type Args []any

// Add takes a value and returns its placeholder.
func (a *Args) Add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("$%d", len(*a))
}
