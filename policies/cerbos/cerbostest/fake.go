package cerbostest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/pbmb/pbmb/policies"
)

// A Fake decides as the shipped policies do, without Cerbos. Its zero value is
// ready. The fields may be set before it is used.
type Fake struct {
	Err error // answered instead of every decision, as a missing one

	// Over answers in place of the shipped policies where its second result is
	// true, as a deployment's own policy would. Plans do not follow it.
	Over func(*policies.Principal, policies.Action, policies.Resource) (allowed, decided bool)

	mu    sync.Mutex
	asked []Asked
}

// Asked is a question that a [Fake] was asked; the resource of a plan has its
// kind alone.
type Asked struct {
	Principal *policies.Principal
	Action    policies.Action
	Resource  policies.Resource
	Plan      bool
}

var _ policies.Decider = (*Fake)(nil)

// Asked returns every question so far.
func (f *Fake) Asked() []Asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// Allowed implements [policies.Decider].
func (f *Fake) Allowed(_ context.Context, p *policies.Principal, a policies.Action, r policies.Resource) (bool, error) {
	if err := f.note(Asked{Principal: p, Action: a, Resource: r}); err != nil {
		return false, err
	}
	if f.Over != nil {
		if allowed, decided := f.Over(p, a, r); decided {
			return allowed, nil
		}
	}
	if slices.ContainsFunc(p.Roles, func(role string) bool { return slices.Contains(byRole(r.Kind, a), role) }) {
		return r.Kind != policies.KindDataset || seesDataset(p, r), nil
	}
	return byOwnership(p, a, r), nil
}

// Plan implements [policies.Decider].
func (f *Fake) Plan(_ context.Context, p *policies.Principal, a policies.Action, kind policies.Kind) (policies.Plan, error) {
	if err := f.note(Asked{Principal: p, Action: a, Resource: policies.Resource{Kind: kind}, Plan: true}); err != nil {
		return policies.Plan{}, err
	}
	if !slices.ContainsFunc(p.Roles, func(role string) bool { return slices.Contains(byRole(kind, a), role) }) {
		return policies.Plan{}, nil
	}
	if kind != policies.KindDataset {
		return policies.Plan{Kind: policies.Always}, nil
	}
	switch p.MetadataVisibility {
	case "", policies.VisibleByPowerBI:
		return policies.Plan{Kind: policies.Conditional, Cond: &policies.Expr{Op: "or", Args: []*policies.Expr{
			{Op: "in", Args: []*policies.Expr{{Var: "request.resource.id"}, list(p.DatasetIDs)}},
			{Op: "in", Args: []*policies.Expr{{Var: "request.resource.attr.workspace_id"}, list(p.WorkspaceIDs)}},
			{Op: "hasIntersection", Args: []*policies.Expr{{Var: "request.resource.attr.app_ids"}, list(p.AppIDs)}},
		}}}, nil
	case policies.VisibleToEveryone:
		if p.Kind == policies.Person {
			return policies.Plan{Kind: policies.Always}, nil
		}
	}
	return policies.Plan{}, nil
}

func (f *Fake) note(q Asked) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	if f.Err != nil {
		return fmt.Errorf("%w: %w", policies.ErrUnavailable, f.Err)
	}
	return nil
}

func list(ids []string) *policies.Expr {
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	return &policies.Expr{Value: values}
}

var (
	readers  = []string{policies.RoleViewer, policies.RoleCurator, policies.RoleAdmin}
	curators = []string{policies.RoleCurator, policies.RoleAdmin}
	admins   = []string{policies.RoleAdmin}
)

func byRole(k policies.Kind, a policies.Action) []string {
	switch {
	case k == policies.KindDataset && (a == policies.Describe || a == policies.Query),
		k == policies.KindBook && a == policies.Read,
		k == policies.KindThread && (a == policies.Create || a == policies.Reply || a == policies.Upvote),
		k == policies.KindQueryLog && a == policies.Read:
		return readers
	case k == policies.KindBook && (a == policies.Curate || a == policies.Verify || a == policies.Approve),
		k == policies.KindThread && (a == policies.Accept || a == policies.Archive):
		return curators
	case k == policies.KindBook && a == policies.EditConventions,
		k == policies.KindAdmin && slices.Contains(AdminActions(), a):
		return admins
	}
	return nil
}

func seesDataset(p *policies.Principal, r policies.Resource) bool {
	switch p.MetadataVisibility {
	case "", policies.VisibleByPowerBI:
		workspace, _ := r.Attr["workspace_id"].(string)
		apps, _ := r.Attr["app_ids"].([]string)
		return slices.Contains(p.DatasetIDs, r.ID) || slices.Contains(p.WorkspaceIDs, workspace) ||
			slices.ContainsFunc(apps, func(app string) bool { return slices.Contains(p.AppIDs, app) })
	case policies.VisibleToEveryone:
		return p.Kind == policies.Person
	}
	return false
}

func byOwnership(p *policies.Principal, a policies.Action, r policies.Resource) bool {
	reads := slices.ContainsFunc(p.Roles, func(role string) bool { return slices.Contains(readers, role) })
	switch {
	case r.Kind == policies.KindThread && reads && r.Attr["author_id"] == p.Subject():
		return a == policies.Archive || a == policies.Accept && r.Attr["kind"] == "question" && p.Kind == policies.Person
	case r.Kind == policies.KindResult && a == policies.Read:
		return reads && r.Attr["owner_id"] == p.Subject() ||
			p.Kind == policies.CSVLink && p.Has("csv_link") && p.ID == r.ID
	}
	return false
}

// AdminActions are all actions on admin.
func AdminActions() []policies.Action {
	return []policies.Action{
		policies.ManageSettings, policies.ManageSecrets, policies.ManagePeople, policies.ManageServiceAccounts,
		policies.ManagePII, policies.ManageDatasets, policies.ImportBook, policies.RunSync, policies.ReadAudit,
		policies.RevokeConnection, policies.ReadSyncEvents, policies.ReadStatus,
	}
}
