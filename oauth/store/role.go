package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// An AssignmentKind says whom a role is given to.
type AssignmentKind string

const (
	ToPerson AssignmentKind = "person" // by email, until somebody claims it
	ToDomain AssignmentKind = "domain" // everybody whose email domain was vouched for
	ToGroup  AssignmentKind = "group"  // everybody in a group of a provider
	ToTenant AssignmentKind = "tenant" // every member of the tenant
)

// An Assignment gives a role.
type Assignment struct {
	Role     string
	Kind     AssignmentKind
	Subject  string // email, domain or group id; empty for the tenant
	Provider string // of a group
	By       string // who assigned it
}

// AssignRole gives a role and returns the assignment's id; giving it again is
// no error. A role for an email that somebody has signed in with is theirs at
// once and for good (SIGNIN-14).
func (s *Store) AssignRole(ctx context.Context, a Assignment, at time.Time) (id string, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		id, err = assignRole(ctx, s.q.WithTx(tx), a, at)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("assigning %s: %w", a.Role, err)
	}
	return id, nil
}

func assignRole(ctx context.Context, q *db.Queries, a Assignment, at time.Time) (string, error) {
	subject := foldedSubject(a)
	var holder *string
	if a.Kind == ToPerson {
		id, err := q.HolderOfEmail(ctx, subject)
		switch {
		case err == nil:
			holder = &id
		case !isNotFound(err):
			return "", err
		}
	}
	return q.AssignRole(ctx, db.AssignRoleParams{
		Role: a.Role, Kind: string(a.Kind), Subject: subject, Provider: a.Provider,
		PersonID: holder, CreatedBy: a.By, At: at,
	})
}

// foldedSubject is an assignment's subject as it is kept.
func foldedSubject(a Assignment) string {
	if a.Kind == ToGroup && a.Provider != Microsoft {
		return a.Subject // other providers' groups may differ by case alone
	}
	return strings.ToLower(a.Subject)
}

// ErrHasAdmin is returned when there is an admin already.
var ErrHasAdmin = errors.New("there is an admin already")

// ErrDevSignInOpen is returned by [Store.BindFirstAdmin] where both locks of the dev
// sign-in are open and the tenant is a real one: anybody could come as anybody.
var ErrDevSignInOpen = errors.New("the dev sign-in must be shut before a real tenant is bound")

// A FirstAdmin is what binds a new database.
type FirstAdmin struct {
	Email    string
	TenantID string // the Microsoft tenant that the database belongs to from now on
	Mock     bool   // whether the tenant is the sample tenant

	DevSignIn bool // whether both locks of the dev sign-in are open
}

// BindFirstAdmin makes the first admin and binds the database to its tenant, all or
// nothing (TENANT-05). From then on the default role reaches the tenant's members.
func (s *Store) BindFirstAdmin(ctx context.Context, first FirstAdmin, at time.Time) error {
	if first.DevSignIn && !first.Mock {
		return ErrDevSignInOpen
	}
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if err := q.LockFirstAdmin(ctx); err != nil {
			return err
		}
		has, err := q.HasAdmin(ctx)
		if err != nil {
			return err
		}
		if has {
			return ErrHasAdmin
		}
		if err := q.BindTenant(ctx, db.BindTenantParams{TenantID: first.TenantID, Mock: first.Mock, At: at}); err != nil {
			return err
		}
		a := Assignment{Role: policies.RoleAdmin, Kind: ToPerson, Subject: first.Email, By: "setup"}
		id, err := assignRole(ctx, q, a, at)
		if err != nil {
			return err
		}
		setup := &policies.Principal{Kind: policies.Setup, ID: "setup", Via: policies.ViaBrowser}
		return auditAssignment(ctx, tx, setup, "assign_role", StandingAssignment{ID: id, Role: a.Role, Kind: string(a.Kind), Subject: a.Subject})
	})
	if err != nil {
		return fmt.Errorf("making the first admin: %w", err)
	}
	return nil
}

// A Binding is the tenant that the database belongs to.
type Binding struct {
	TenantID string
	Mock     bool
}

// Binding returns [postgres.ErrNotFound] for a database that is not bound.
func (s *Store) Binding(ctx context.Context) (*Binding, error) {
	r, err := s.q.BoundTenant(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the tenant's binding: %w", postgres.Translate(err))
	}
	return &Binding{TenantID: r.TenantID, Mock: r.Mock}, nil
}

// HasAdmin says whether anybody was ever made an admin.
func (s *Store) HasAdmin(ctx context.Context) (bool, error) {
	has, err := s.q.HasAdmin(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for an admin: %w", postgres.Translate(err))
	}
	return has, nil
}
