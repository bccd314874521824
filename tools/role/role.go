// Package role has the operations on who has which role: assigning, revoking, and
// where somebody's roles come from. What a role may do is policies' to say.
package role

import (
	"context"
	"slices"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Kind says whom a role is given to.
type Kind string

const (
	ToPerson  Kind = "person" // by email
	ToDomain  Kind = "domain" // of vouched emails
	ToGroup   Kind = "group"  // of a provider
	ToTenant  Kind = "tenant" // every member of it
	ByDefault Kind = "default"
)

// An Assignment is a role given to somebody.
type Assignment struct {
	ID        string
	Role      string
	Kind      Kind
	Subject   string // email, domain or group id; empty for the tenant
	Provider  string // of a group
	Claimed   bool   // of a person: somebody has signed in and taken it
	CreatedAt time.Time
	CreatedBy string
}

// A Person is where somebody's roles come from, at this moment.
type Person struct {
	ID      string
	Email   string
	Given   []Assignment
	Default string // the default role, where it applies
}

// Roles are the person's roles, sorted.
func (p Person) Roles() []string {
	roles := []string{}
	for _, a := range p.Given {
		roles = append(roles, a.Role)
	}
	if p.Default != "" {
		roles = append(roles, p.Default)
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// A Change is what an assignment or its end did.
type Change struct {
	Assignment Assignment
	People     []Changed // whom it reaches, or reached: for one person whoever holds it
	Waiting    []string  // other roles for an email that nobody has signed in with
	Default    string    // the default role as it is set, or none

	// By whom the deployment is administered now.
	AdminPeople, AdminGroups int
}

// A Changed is somebody before and after a change.
type Changed struct{ Before, After Person }

// Assignments keeps who has which role. Every write audits in its own transaction.
type Assignments interface {
	ListAssignments(context.Context) ([]Assignment, error)
	// Effective returns where the roles of everybody come from who is known by an
	// email, whom its assignments belong to first, and the assignments that wait
	// for somebody with that email.
	Effective(ctx context.Context, email string) ([]Person, []Assignment, error)
	// Assign gives a role; giving it again leaves the standing assignment.
	Assign(ctx context.Context, by *policies.Principal, a Assignment) (Change, error)
	// Revoke takes an assignment away, or returns [knowledge.ErrNotFound], or
	// [knowledge.ErrConflict] for the last admin.
	Revoke(ctx context.Context, by *policies.Principal, id string) (Change, error)
}

// Policies knows the roles that the deployment's own policies name.
type Policies interface {
	// KnownRoles lists them, or returns [ErrPoliciesUnknown] where the process was
	// not told where the deployment's policies are.
	KnownRoles(context.Context) ([]string, error)
}

// Operations returns every operation of this package.
func Operations(a Assignments, p Policies) []*operation.Def {
	return []*operation.Def{List(a), Assign(a, p), Revoke(a)}
}

// shipped are the roles that the product knows.
var shipped = []string{policies.RoleViewer, policies.RoleCurator, policies.RoleAdmin, policies.RolePIIReader}

// An Item is an assignment as callers see it.
type Item struct {
	ID        string    `json:"id,omitempty" doc:"Id of the assignment; the default role has none" format:"uuid"`
	Role      string    `json:"role" doc:"Name of the role"`
	Kind      string    `json:"kind" doc:"Whom it is given to: person, domain, group or tenant; default is the setting access.default_role"`
	Subject   string    `json:"subject,omitempty" doc:"Email, domain or group id"`
	Provider  string    `json:"provider,omitempty" doc:"Provider of the group"`
	Claimed   bool      `json:"claimed,omitempty" doc:"The person has signed in and holds it"`
	CreatedAt time.Time `json:"created_at,omitzero" doc:"When it was given"`
	CreatedBy string    `json:"created_by,omitempty" doc:"Who gave it"`
}

func newItem(a Assignment) Item {
	return Item{
		ID: a.ID, Role: a.Role, Kind: string(a.Kind), Subject: a.Subject, Provider: a.Provider, Claimed: a.Claimed,
		CreatedAt: a.CreatedAt.UTC(), CreatedBy: a.CreatedBy,
	}
}
