package admin

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A RoleItem is an assignment as callers see it.
type RoleItem struct {
	ID        string    `json:"id" doc:"Id of the assignment" format:"uuid"`
	Role      string    `json:"role" doc:"Name of the role"`
	Kind      string    `json:"kind" doc:"person, domain, group or tenant"`
	Subject   string    `json:"subject,omitempty" doc:"Email, domain or group id"`
	Provider  string    `json:"provider,omitempty" doc:"Provider of the group"`
	Claimed   bool      `json:"claimed,omitempty" doc:"The person has signed in and holds it"`
	CreatedAt time.Time `json:"created_at" doc:"When it was given"`
	CreatedBy string    `json:"created_by,omitempty" doc:"Who gave it"`
}

func newRoleItem(a Assignment) RoleItem {
	return RoleItem{
		ID: a.ID, Role: a.Role, Kind: a.Kind, Subject: a.Subject, Provider: a.Provider, Claimed: a.Claimed,
		CreatedAt: a.CreatedAt.UTC(), CreatedBy: a.CreatedBy,
	}
}

// ListRoles lists who has which role.
func ListRoles(r Roles) *operation.Def {
	return operation.Operation[ListRolesInput, operation.Page[RoleItem]]{
		Name:     "list_role_assignments",
		Title:    "List who has which role",
		Doc:      "Lists the roles given to people, email domains, groups and the whole tenant.",
		Route:    "GET /admin/roles",
		Command:  "admin roles list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListRolesInput](policies.ManagePeople),
		Handle: func(ctx context.Context, _ *operation.Call, in ListRolesInput) (operation.Page[RoleItem], error) {
			var none operation.Page[RoleItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			all, err := r.ListAssignments(ctx)
			if err != nil {
				return none, err
			}
			var items []RoleItem
			for _, a := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newRoleItem(a))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListRolesInput is the input of [ListRoles].
type ListRolesInput struct{ operation.PageInput }

// AssignRole gives a role to a person.
func AssignRole(r Roles) *operation.Def {
	return operation.Operation[AssignInput, RoleItem]{
		Name:     "assign_role",
		Title:    "Give a person a role",
		Doc:      "Gives a role to a person by their email. It counts from their next request on.",
		Route:    "POST /admin/roles",
		Command:  "admin roles assign <role>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[AssignInput](policies.ManagePeople),
		Handle: func(ctx context.Context, c *operation.Call, in AssignInput) (RoleItem, error) {
			if address, err := mail.ParseAddress(in.Person); err != nil || address.Address != in.Person {
				return RoleItem{}, operation.Invalidf("Write one address, such as ada@example.com.", "%q is not an email address.", in.Person)
			}
			a, err := r.Assign(ctx, c.Principal, Assignment{Role: in.Role, Kind: "person", Subject: strings.ToLower(in.Person)})
			return newRoleItem(a), err
		},
	}.Def()
}

// AssignInput is the input of [AssignRole].
type AssignInput struct {
	Role   string `json:"role" doc:"Name of the role" enum:"viewer,curator,admin,pii_reader" example:"pii_reader"`
	Person string `json:"person" doc:"Email of the person" minLength:"3" maxLength:"320" example:"ada@example.com"`
}

// RevokeRole takes a role away.
func RevokeRole(r Roles) *operation.Def {
	return operation.Operation[RevokeInput, RoleItem]{
		Name:     "revoke_role",
		Title:    "Take a role away",
		Doc:      "Takes one assignment away, by its id from the list. It counts from the next request on.",
		Route:    "DELETE /admin/roles/{assignment}",
		Command:  "admin roles revoke <assignment>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RevokeInput](policies.ManagePeople),
		Handle: func(ctx context.Context, c *operation.Call, in RevokeInput) (RoleItem, error) {
			a, err := r.Revoke(ctx, c.Principal, in.Assignment)
			switch {
			case errors.Is(err, knowledge.ErrNotFound):
				return RoleItem{}, &operation.Error{Kind: operation.NotFound, Sentence: "There is no such assignment.", Next: "The list of roles has their ids."}
			case errors.Is(err, knowledge.ErrConflict):
				return RoleItem{}, &operation.Error{Kind: operation.Conflict, Sentence: "This is the last admin.", Next: "Make somebody else an admin first."}
			}
			return newRoleItem(a), err
		},
	}.Def()
}

// RevokeInput is the input of [RevokeRole].
type RevokeInput struct {
	Assignment string `json:"assignment" doc:"Id of the assignment" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
}
