package store

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A ServiceAccount is a program that calls the API with keys of its own.
type ServiceAccount struct {
	ID            string
	Name          string
	Roles         []string
	WorkspaceIDs  []string       // what it may reach: the datasets of these workspaces
	AppIDs        []string       // and of these apps
	Sources       []netip.Prefix // where it may call from; empty for anywhere
	MaxKeyAgeDays int
	Disabled      bool
	CreatedAt     time.Time
	CreatedBy     string
	ChangedAt     time.Time
	ChangedBy     string
}

func newServiceAccount(r db.ServiceAccount) ServiceAccount {
	return ServiceAccount{
		ID: r.ID, Name: r.Name, Roles: r.Roles, WorkspaceIDs: r.WorkspaceIds, AppIDs: r.AppIds, Sources: r.SourceCidrs,
		MaxKeyAgeDays: int(r.MaxKeyAgeDays), Disabled: r.Disabled,
		CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, ChangedAt: r.ChangedAt, ChangedBy: r.ChangedBy,
	}
}

// ServiceAccounts returns every account by name.
func (s *Store) ServiceAccounts(ctx context.Context) ([]ServiceAccount, error) {
	rows, err := s.q.ServiceAccounts(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing service accounts: %w", postgres.Translate(err))
	}
	all := make([]ServiceAccount, len(rows))
	for i, r := range rows {
		all[i] = newServiceAccount(r)
	}
	return all, nil
}

// ServiceAccount returns [postgres.ErrNotFound] where there is none of this id.
func (s *Store) ServiceAccount(ctx context.Context, id string) (ServiceAccount, error) {
	r, err := s.q.ServiceAccount(ctx, id)
	if err != nil {
		return ServiceAccount{}, fmt.Errorf("reading a service account: %w", postgres.Translate(err))
	}
	return newServiceAccount(r), nil
}

// CreateServiceAccount makes an account on behalf of by and audits it, in one
// transaction. The error is [postgres.ErrDuplicate] where the name is taken.
func (s *Store) CreateServiceAccount(ctx context.Context, by *policies.Principal, a ServiceAccount) (made ServiceAccount, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		r, err := s.q.WithTx(tx).CreateServiceAccount(ctx, db.CreateServiceAccountParams{
			Name: a.Name, Roles: sortedSet(a.Roles), WorkspaceIds: sortedSet(a.WorkspaceIDs), AppIds: sortedSet(a.AppIDs),
			SourceCidrs: prefixes(a.Sources), MaxKeyAgeDays: int32(a.MaxKeyAgeDays), By: by.Label(),
		})
		if err != nil {
			return err
		}
		made = newServiceAccount(r)
		return auditServiceAccount(ctx, tx, by, "create_service_account", made)
	})
	if err != nil {
		return ServiceAccount{}, fmt.Errorf("creating a service account: %w", err)
	}
	return made, nil
}

// ChangeServiceAccount lets change edit an account on behalf of by, and audits it
// under the name of the action, in one transaction that nobody else's change gets
// in between. An error of change's own leaves the account as it was. It returns
// [postgres.ErrNotFound] where there is none, and [postgres.ErrDuplicate] where
// another has the name.
func (s *Store) ChangeServiceAccount(ctx context.Context, by *policies.Principal, action, id string, change func(*ServiceAccount) error) (changed ServiceAccount, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		r, err := q.LockServiceAccount(ctx, id)
		if err != nil {
			return err
		}
		a := newServiceAccount(r)
		if err := change(&a); err != nil {
			return err
		}
		r, err = q.ChangeServiceAccount(ctx, db.ChangeServiceAccountParams{
			ID: id, Name: a.Name, Roles: sortedSet(a.Roles), WorkspaceIds: sortedSet(a.WorkspaceIDs), AppIds: sortedSet(a.AppIDs),
			SourceCidrs: prefixes(a.Sources), MaxKeyAgeDays: int32(a.MaxKeyAgeDays), Disabled: a.Disabled, By: by.Label(),
		})
		if err != nil {
			return err
		}
		changed = newServiceAccount(r)
		return auditServiceAccount(ctx, tx, by, action, changed)
	})
	if err != nil {
		return ServiceAccount{}, fmt.Errorf("changing a service account: %w", err)
	}
	return changed, nil
}

// DeleteServiceAccount deletes an account with its keys on behalf of by and audits
// it, in one transaction, or returns [postgres.ErrNotFound].
func (s *Store) DeleteServiceAccount(ctx context.Context, by *policies.Principal, id string) (gone ServiceAccount, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		r, err := s.q.WithTx(tx).DeleteServiceAccount(ctx, id)
		if err != nil {
			return err
		}
		gone = newServiceAccount(r)
		return auditServiceAccount(ctx, tx, by, "delete_service_account", gone)
	})
	if err != nil {
		return ServiceAccount{}, fmt.Errorf("deleting a service account: %w", err)
	}
	return gone, nil
}

// prefixes is never nil: the column takes no null.
func prefixes(p []netip.Prefix) []netip.Prefix {
	if p == nil {
		return []netip.Prefix{}
	}
	return p
}

func auditServiceAccount(ctx context.Context, tx pgx.Tx, by *policies.Principal, action string, a ServiceAccount) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: action, Outcome: audit.Allow, Element: a.ID,
		Detail: map[string]any{
			"name": a.Name, "roles": a.Roles, "workspace_ids": a.WorkspaceIDs, "app_ids": a.AppIDs,
			"source_cidrs": a.Sources, "max_key_age_days": a.MaxKeyAgeDays, "disabled": a.Disabled,
		},
	})
}
