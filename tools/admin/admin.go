// Package admin has the operations that run the deployment: its audit and the
// roles of its people.
package admin

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Audit reads the audit.
type Audit interface {
	ListAudit(context.Context, knowledge.AuditFilter, knowledge.Range) ([]knowledge.AuditRow, int, error)
}

// An Assignment is a role given to somebody.
type Assignment struct {
	ID        string
	Role      string
	Kind      string // person, domain, group or tenant
	Subject   string // email, domain or group id; empty for the tenant
	Provider  string // of a group
	Claimed   bool   // of a person: somebody has signed in and taken it
	CreatedAt time.Time
	CreatedBy string
}

// Roles keeps who has which role. Every write audits in its own transaction.
type Roles interface {
	ListAssignments(context.Context) ([]Assignment, error)
	// Assign gives a role, or returns the standing assignment where there is one already.
	Assign(ctx context.Context, by *policies.Principal, a Assignment) (Assignment, error)
	// Revoke takes an assignment away, or returns [knowledge.ErrNotFound], or
	// [knowledge.ErrConflict] for the last admin.
	Revoke(ctx context.Context, by *policies.Principal, id string) (Assignment, error)
}

// Operations returns every operation of this package.
func Operations(a Audit, r Roles) []*operation.Def {
	return []*operation.Def{ListAudit(a), ListRoles(r), AssignRole(r), RevokeRole(r)}
}
