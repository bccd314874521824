package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// ROLES-25, ROLES-37, AUTHZ-09: the last admin who has ever come stays, however
// many addresses of others have the role, and each change is audited.
func TestTheLastAdminStays(t *testing.T) {
	db := postgrestest.New(t)
	s := store.New(db.API(), setting.Base{})
	ctx, now := t.Context(), time.Now()
	by := &policies.Principal{Kind: policies.Person, ID: "11111111-1111-4111-8111-111111111111", Email: "admin@sample.example", Via: policies.ViaBrowser}

	first, err := s.Assign(ctx, by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToPerson, Subject: "admin@sample.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	db.Exec(`insert into person (id, email) values ($1, 'admin@sample.example')`, by.ID)
	db.Exec(`update role_assignment set person_id = $1 where id = $2`, by.ID, first.ID)
	ghost, err := s.Assign(ctx, by, store.Assignment{Role: policies.RoleAdmin, Kind: store.ToPerson, Subject: "ghost@nowhere.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revoke(ctx, by, first.ID); !errors.Is(err, store.ErrLastAdmin) {
		t.Errorf("revoking the last admin who has come: %v", err)
	}
	if _, err := s.Revoke(ctx, by, ghost.ID); err != nil {
		t.Errorf("revoking one whom nobody has claimed: %v", err)
	}
	if _, err := s.Revoke(ctx, by, ghost.ID); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("revoking it again: %v", err)
	}
	var audited int
	db.QueryRow(`select count(*) from audit_event where action in ('assign_role', 'revoke_role') and outcome = 'allow' and principal_name = 'admin@sample.example'`, nil, &audited)
	if audited != 3 {
		t.Errorf("%d changes are audited, want 3", audited)
	}
	all, err := s.Assignments(ctx)
	if err != nil || len(all) != 1 || !all[0].Claimed {
		t.Errorf("left are %+v, %v", all, err)
	}
}
