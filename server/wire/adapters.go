package wire

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/admin"
	"github.com/pbmb/pbmb/tools/operation"
)

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func isHTTPS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https"
}

// ready asks for any decision: what it is does not matter.
func ready(ctx context.Context, d policies.Decider) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := d.Allowed(ctx, &policies.Principal{Kind: policies.System, ID: "readyz", Roles: []string{policies.RoleViewer}}, policies.Read, policies.Book)
	return err
}

// auditor keeps the guard's refusals.
type auditor struct{ writer *audit.Writer }

func (a auditor) Refused(ctx context.Context, p *policies.Principal, r operation.Refusal) error {
	return a.writer.Write(ctx, p, audit.Event{
		Action: r.Operation, Outcome: audit.Deny, Element: r.Element, Reason: string(r.Kind), Detail: r.Detail,
	})
}

// roles gives and takes roles for the operations on them.
type roles struct {
	people *oauthstore.Store
	now    func() time.Time
}

func (r roles) ListAssignments(ctx context.Context) ([]admin.Assignment, error) {
	all, err := r.people.Assignments(ctx)
	list := make([]admin.Assignment, len(all))
	for i, a := range all {
		list[i] = assignment(a)
	}
	return list, err
}

func (r roles) Assign(ctx context.Context, by *policies.Principal, a admin.Assignment) (admin.Assignment, error) {
	standing, err := r.people.Assign(ctx, by, oauthstore.Assignment{
		Role: a.Role, Kind: oauthstore.AssignmentKind(a.Kind), Subject: a.Subject, Provider: a.Provider,
	}, r.now())
	return assignment(standing), err
}

func (r roles) Revoke(ctx context.Context, by *policies.Principal, id string) (admin.Assignment, error) {
	gone, err := r.people.Revoke(ctx, by, id)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		err = knowledge.ErrNotFound
	case errors.Is(err, oauthstore.ErrLastAdmin):
		err = knowledge.ErrConflict
	}
	return assignment(gone), err
}

func assignment(a oauthstore.StandingAssignment) admin.Assignment {
	return admin.Assignment{
		ID: a.ID, Role: a.Role, Kind: a.Kind, Subject: a.Subject, Provider: a.Provider, Claimed: a.Claimed,
		CreatedAt: a.CreatedAt, CreatedBy: a.CreatedBy,
	}
}
