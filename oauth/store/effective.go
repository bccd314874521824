package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// An Effective is what a person's roles come from, at this moment.
type Effective struct {
	PersonID string
	Email    string
	Given    []StandingAssignment // by role, kind and subject
	Default  string               // the default role, where it applies; empty elsewhere
}

// Roles are the person's roles, sorted, as their requests have them.
func (e Effective) Roles() []string {
	roles := []string{}
	for _, a := range e.Given {
		roles = append(roles, a.Role)
	}
	if e.Default != "" {
		roles = append(roles, e.Default)
	}
	return sortedSet(roles)
}

func (e Effective) has(assignment string) bool {
	return slices.ContainsFunc(e.Given, func(a StandingAssignment) bool { return a.ID == assignment })
}

// Effective returns where the roles of everybody come from who is known by an
// email, whom its assignments belong to first, and the assignments for it that
// nobody has claimed yet.
func (s *Store) Effective(ctx context.Context, email string) (people []Effective, waiting []StandingAssignment, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		w := s.Within(tx)
		ids, err := w.q.PeopleOfEmail(ctx, email)
		if err != nil {
			return err
		}
		found, err := w.effective(ctx, tx, append([]string{}, ids...))
		if err != nil {
			return err
		}
		for _, id := range ids {
			i := slices.IndexFunc(found, func(e Effective) bool { return e.PersonID == id })
			people = append(people, found[i])
		}
		all, err := assignments(ctx, tx)
		for _, a := range all {
			if a.Kind == string(ToPerson) && a.Subject == strings.ToLower(email) && !a.Claimed {
				waiting = append(waiting, a)
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("looking for where roles come from: %w", err)
	}
	return people, waiting, nil
}

// effective is of these people, or of everybody where ids is nil, in an order
// that an assignment does not change.
func (s *Store) effective(ctx context.Context, tx pgx.Tx, ids []string) ([]Effective, error) {
	if ids != nil && len(ids) == 0 {
		return nil, nil
	}
	all, err := assignments(ctx, tx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]StandingAssignment, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	byDefault, err := s.defaultRole(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.q.GivenRoles(ctx, db.GivenRolesParams{Everybody: ids == nil, PersonIds: append([]string{}, ids...)})
	if err != nil {
		return nil, err
	}
	people := make([]Effective, len(rows))
	for i, r := range rows {
		e := Effective{PersonID: r.ID, Email: r.Email}
		var roles []string
		for _, id := range r.AssignmentIds {
			e.Given = append(e.Given, byID[id])
			roles = append(roles, byID[id].Role)
		}
		slices.SortFunc(e.Given, func(a, b StandingAssignment) int {
			return strings.Compare(a.Role+" "+a.Kind+" "+a.Subject, b.Role+" "+b.Kind+" "+b.Subject)
		})
		e.Default = string(defaultFor(roles, byDefault, r.HasDefault))
		people[i] = e
	}
	return people, nil
}

// defaultRole is the setting as it is now.
func (s *Store) defaultRole(ctx context.Context) (setting.DefaultRole, error) {
	raw, err := s.q.AccessSettings(ctx)
	if err != nil {
		return "", err
	}
	saved := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &saved); err != nil {
		return "", err
	}
	values, err := s.settings.With(saved)
	return values.Access.DefaultRole, err
}
