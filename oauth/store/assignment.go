package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/policies"
)

// ErrLastAdmin is returned when revoking would leave no person who has signed in
// and is an admin by an assignment of their own (ROLES-25).
var ErrLastAdmin = errors.New("this is the last admin")

// A StandingAssignment is an assignment as the list of roles shows it.
type StandingAssignment struct {
	ID        string    `db:"id"`
	Role      string    `db:"role"`
	Kind      string    `db:"kind"`
	Subject   string    `db:"subject"`
	Provider  string    `db:"provider"`
	Claimed   bool      `db:"claimed"`
	CreatedAt time.Time `db:"created_at"`
	CreatedBy string    `db:"created_by"`
}

const assignmentColumns = `id, role, kind, subject, provider, person_id is not null as claimed, created_at, created_by`

// Assignments returns every assignment by kind, subject and role.
func (s *Store) Assignments(ctx context.Context) (all []StandingAssignment, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, `select `+assignmentColumns+` from role_assignment order by kind, subject, role`)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(found, pgx.RowToStructByName[StandingAssignment])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing roles: %w", err)
	}
	return all, nil
}

// Assign gives a role on behalf of by and audits it, in one transaction. Giving
// it again returns the standing assignment.
func (s *Store) Assign(ctx context.Context, by *policies.Principal, a Assignment, at time.Time) (standing StandingAssignment, err error) {
	a.By = by.Label()
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		id, err := assignRole(ctx, s.q.WithTx(tx), a, at)
		if err != nil {
			return err
		}
		found, err := tx.Query(ctx, `select `+assignmentColumns+` from role_assignment where id = $1`, id)
		if err != nil {
			return err
		}
		if standing, err = pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[StandingAssignment]); err != nil {
			return err
		}
		return auditAssignment(ctx, tx, by, "assign_role", standing)
	})
	if err != nil {
		return StandingAssignment{}, fmt.Errorf("assigning %s: %w", a.Role, err)
	}
	return standing, nil
}

// Revoke takes an assignment away on behalf of by and audits it, in one
// transaction. It returns [postgres.ErrNotFound] where there is none, and
// [ErrLastAdmin].
func (s *Store) Revoke(ctx context.Context, by *policies.Principal, id string) (gone StandingAssignment, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		// Two revocations at once must not each find the other's admin standing.
		if err := s.q.WithTx(tx).LockFirstAdmin(ctx); err != nil {
			return err
		}
		found, err := tx.Query(ctx, `delete from role_assignment where id = $1 returning `+assignmentColumns, id)
		if err != nil {
			return err
		}
		if gone, err = pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[StandingAssignment]); err != nil {
			return err
		}
		if gone.Role == policies.RoleAdmin && gone.Kind == string(ToPerson) {
			if left, err := adminsWithout(ctx, tx, ""); err != nil {
				return err
			} else if left == 0 {
				return ErrLastAdmin
			}
		}
		return auditAssignment(ctx, tx, by, "revoke_role", gone)
	})
	if err != nil {
		return StandingAssignment{}, fmt.Errorf("revoking a role: %w", err)
	}
	return gone, nil
}

// adminsWithout counts the admins who can sign in by another provider than one that
// goes. An assignment that nobody has claimed may be for somebody who never comes,
// and whoever came through a provider that is gone cannot come again.
func adminsWithout(ctx context.Context, tx pgx.Tx, provider string) (n int, err error) {
	err = tx.QueryRow(ctx, `
		select count(distinct r.person_id) from role_assignment r
		where r.role = 'admin' and r.kind = 'person' and r.person_id is not null and not exists (
			select from account a
			where a.person_id = r.person_id and a.provider not in ('microsoft', 'dev') and (a.provider = $1 or not exists (
				select from setting s cross join jsonb_array_elements(s.value) p where s.key = 'auth.providers' and p ->> 'id' = a.provider)))`,
		provider).Scan(&n)
	return n, err
}

func auditAssignment(ctx context.Context, tx pgx.Tx, by *policies.Principal, action string, a StandingAssignment) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: action, Outcome: audit.Allow, Element: a.ID,
		Detail: map[string]any{"role": a.Role, "kind": a.Kind, "subject": a.Subject, "provider": a.Provider},
	})
}
