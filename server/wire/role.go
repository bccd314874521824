package wire

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	policyfiles "github.com/pbmb/pbmb/policies/deployment"
	"github.com/pbmb/pbmb/tools/role"
)

// roles gives and takes roles for the operations on them.
type roles struct {
	people *oauthstore.Store
	now    func() time.Time
}

func (r roles) ListAssignments(ctx context.Context) ([]role.Assignment, error) {
	all, err := r.people.Assignments(ctx)
	return assignments(all), err
}

func (r roles) Effective(ctx context.Context, email string) ([]role.Person, []role.Assignment, error) {
	found, waiting, err := r.people.Effective(ctx, email)
	people := make([]role.Person, len(found))
	for i, e := range found {
		people[i] = personOf(e)
	}
	return people, assignments(waiting), err
}

func (r roles) Assign(ctx context.Context, by *policies.Principal, a role.Assignment) (role.Change, error) {
	c, err := r.people.Assign(ctx, by, oauthstore.Assignment{
		Role: a.Role, Kind: oauthstore.AssignmentKind(a.Kind), Subject: a.Subject, Provider: a.Provider,
	}, r.now())
	return changeOf(c), err
}

func (r roles) Revoke(ctx context.Context, by *policies.Principal, id string) (role.Change, error) {
	c, err := r.people.Revoke(ctx, by, id)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		err = knowledge.ErrNotFound
	case errors.Is(err, oauthstore.ErrLastAdmin):
		err = knowledge.ErrConflict
	}
	return changeOf(c), err
}

func assignments(all []oauthstore.StandingAssignment) []role.Assignment {
	list := make([]role.Assignment, len(all))
	for i, a := range all {
		list[i] = assignment(a)
	}
	return list
}

func assignment(a oauthstore.StandingAssignment) role.Assignment {
	return role.Assignment{
		ID: a.ID, Role: a.Role, Kind: role.Kind(a.Kind), Subject: a.Subject, Provider: a.Provider, Claimed: a.Claimed,
		CreatedAt: a.CreatedAt, CreatedBy: a.CreatedBy,
	}
}

func personOf(e oauthstore.Effective) role.Person {
	return role.Person{ID: e.PersonID, Email: e.Email, Given: assignments(e.Given), Default: e.Default}
}

func changeOf(c oauthstore.Change) role.Change {
	change := role.Change{
		Assignment: assignment(c.Assignment), Waiting: c.Waiting, Default: c.Default,
		AdminPeople: c.Admins.People, AdminGroups: c.Admins.Groups,
	}
	for _, p := range c.People {
		change.People = append(change.People, role.Changed{Before: personOf(p.Before), After: personOf(p.After)})
	}
	return change
}

// policyFolder is where the deployment's policies are, if anywhere. They are read
// anew each time: that happens where somebody assigns a role of their own.
type policyFolder string

func (f policyFolder) KnownRoles(context.Context) ([]string, error) {
	if f == "" {
		return nil, role.ErrPoliciesUnknown
	}
	return policyfiles.Roles(os.DirFS(string(f)))
}
