package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// ErrLastAdmin is returned when a change would leave no person who has signed in
// and is an admin by an assignment of their own (ROLES-25, ROLES-37).
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

// A Change is what an assignment or its end did.
type Change struct {
	Assignment StandingAssignment

	// People are those whom the assignment reaches or reached: for one person
	// whoever holds it, changed or not.
	People []ChangedPerson

	// Waiting are the other roles that are assigned to the email of somebody who
	// has never signed in with it.
	Waiting []string

	Default string // the role of members to whom no shipped role was given; "none"
	Admins  Admins // who administers now
}

// A ChangedPerson is somebody's roles before and after a change.
type ChangedPerson struct {
	Before, After Effective
}

// Admins are those by whom a deployment is administered.
type Admins struct {
	People int // by an assignment of their own, who can sign in
	Groups int // that hold the role, whoever is in them
}

// Assignments returns every assignment by kind, subject and role.
func (s *Store) Assignments(ctx context.Context) (all []StandingAssignment, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		all, err = assignments(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing roles: %w", err)
	}
	return all, nil
}

func assignments(ctx context.Context, tx pgx.Tx) ([]StandingAssignment, error) {
	found, err := tx.Query(ctx, `select `+assignmentColumns+` from role_assignment order by kind, subject, role`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[StandingAssignment])
}

// Assign gives a role on behalf of by and audits it, in one transaction. Giving
// it again leaves the standing assignment.
func (s *Store) Assign(ctx context.Context, by *policies.Principal, a Assignment, at time.Time) (c Change, err error) {
	a.By = by.Label()
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		w := s.Within(tx)
		reach, err := w.reachOf(ctx, tx, a.Kind, foldedSubject(a))
		if err != nil {
			return err
		}
		id, err := assignRole(ctx, w.q, a, at)
		if err != nil {
			return err
		}
		found, err := tx.Query(ctx, `select `+assignmentColumns+` from role_assignment where id = $1`, id)
		if err != nil {
			return err
		}
		if c.Assignment, err = pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[StandingAssignment]); err != nil {
			return err
		}
		if err := w.finish(ctx, tx, reach, &c); err != nil {
			return err
		}
		return auditAssignment(ctx, tx, by, "assign_role", c.Assignment)
	})
	if err != nil {
		return Change{}, fmt.Errorf("assigning %s: %w", a.Role, err)
	}
	return c, nil
}

// Revoke takes an assignment away on behalf of by and audits it, in one
// transaction. It returns [postgres.ErrNotFound] where there is none, and
// [ErrLastAdmin].
func (s *Store) Revoke(ctx context.Context, by *policies.Principal, id string) (c Change, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		w := s.Within(tx)
		// Two revocations at once must not each find the other's admin standing.
		if err := w.q.LockFirstAdmin(ctx); err != nil {
			return err
		}
		found, err := tx.Query(ctx, `select `+assignmentColumns+` from role_assignment where id = $1`, id)
		if err != nil {
			return err
		}
		if c.Assignment, err = pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[StandingAssignment]); err != nil {
			return err
		}
		reach, err := w.reachOf(ctx, tx, AssignmentKind(c.Assignment.Kind), c.Assignment.Subject)
		if err != nil {
			return err
		}
		if gone, err := tx.Exec(ctx, `delete from role_assignment where id = $1`, id); err != nil {
			return err
		} else if gone.RowsAffected() != 1 {
			return postgres.ErrNotFound // somebody else was faster
		}
		if err := w.finish(ctx, tx, reach, &c); err != nil {
			return err
		}
		if c.Assignment.Role == policies.RoleAdmin && c.Admins.People == 0 {
			return ErrLastAdmin
		}
		return auditAssignment(ctx, tx, by, "revoke_role", c.Assignment)
	})
	if err != nil {
		return Change{}, fmt.Errorf("revoking a role: %w", err)
	}
	return c, nil
}

// A reach is whom an assignment may touch, as they are before it changes.
type reach struct {
	kind   AssignmentKind
	people []string // ids; nil for everybody
	before []Effective
}

func (s *Store) reachOf(ctx context.Context, tx pgx.Tx, kind AssignmentKind, subject string) (r reach, err error) {
	r.kind = kind
	if kind == ToPerson {
		r.people = []string{}
		holder, err := s.q.HolderOfEmail(ctx, subject)
		switch {
		case err == nil:
			r.people = append(r.people, holder)
		case !isNotFound(err):
			return r, err
		}
		// Whoever claimed it may have another email by now.
		claimed, err := tx.Query(ctx, `select distinct person_id::text from role_assignment where kind = 'person' and subject = $1 and person_id is not null`, subject)
		if err != nil {
			return r, err
		}
		ids, err := pgx.CollectRows(claimed, pgx.RowTo[string])
		if err != nil {
			return r, err
		}
		for _, id := range ids {
			if !slices.Contains(r.people, id) {
				r.people = append(r.people, id)
			}
		}
	}
	r.before, err = s.effective(ctx, tx, r.people)
	return r, err
}

// finish says what became of those whom a change may touch.
func (s *Store) finish(ctx context.Context, tx pgx.Tx, r reach, c *Change) error {
	after, err := s.effective(ctx, tx, r.people)
	if err != nil {
		return err
	}
	now := make(map[string]Effective, len(after)) // somebody may have come meanwhile
	for _, e := range after {
		now[e.PersonID] = e
	}
	for _, before := range r.before {
		changed := ChangedPerson{before, now[before.PersonID]}
		if changed.Before.has(c.Assignment.ID) || changed.After.has(c.Assignment.ID) || r.kind == ToPerson && len(r.before) == 1 {
			c.People = append(c.People, changed)
		}
	}
	if r.kind == ToPerson && len(c.People) == 0 {
		waiting, err := tx.Query(ctx, `select role from role_assignment where kind = 'person' and subject = $1 and person_id is null and id <> $2 order by role`,
			c.Assignment.Subject, c.Assignment.ID)
		if err != nil {
			return err
		}
		if c.Waiting, err = pgx.CollectRows(waiting, pgx.RowTo[string]); err != nil {
			return err
		}
	}
	byDefault, err := s.defaultRole(ctx)
	if err != nil {
		return err
	}
	c.Default = string(byDefault)
	c.Admins, err = admins(ctx, tx, s.q)
	return err
}

// Admins counts those by whom the deployment is administered.
func (s *Store) Admins(ctx context.Context) (a Admins, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		a, err = admins(ctx, tx, s.q.WithTx(tx))
		return err
	})
	if err != nil {
		return Admins{}, fmt.Errorf("counting admins: %w", err)
	}
	return a, nil
}

func admins(ctx context.Context, tx pgx.Tx, q *db.Queries) (a Admins, err error) {
	people, err := q.AdminsWithout(ctx, "")
	if err != nil {
		return a, err
	}
	a.People = int(people)
	err = tx.QueryRow(ctx, `select count(*) from role_assignment where role = 'admin' and kind = 'group'`).Scan(&a.Groups)
	return a, err
}

func auditAssignment(ctx context.Context, tx pgx.Tx, by *policies.Principal, action string, a StandingAssignment) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: action, Outcome: audit.Allow, Element: a.ID,
		Detail: map[string]any{"role": a.Role, "kind": a.Kind, "subject": a.Subject, "provider": a.Provider},
	})
}
