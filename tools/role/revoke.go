package role

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Revoke takes a role away.
func Revoke(s Assignments) *operation.Def {
	return operation.Operation[RevokeInput, Outcome]{
		Name:     "revoke_role",
		Title:    "Take a role away",
		Doc:      "Takes one assignment away, by its id from the list. It counts from the next request on. The answer says what became of the roles of those it reached.",
		Route:    "DELETE /admin/roles/{assignment}",
		Command:  "admin roles revoke <assignment>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RevokeInput](policies.ManagePeople),
		Handle: func(ctx context.Context, c *operation.Call, in RevokeInput) (Outcome, error) {
			change, err := s.Revoke(ctx, c.Principal, in.Assignment)
			switch {
			case errors.Is(err, knowledge.ErrNotFound):
				return Outcome{}, &operation.Error{Kind: operation.NotFound, Sentence: "There is no such assignment.", Next: "The list of roles has their ids."}
			case errors.Is(err, knowledge.ErrConflict):
				return Outcome{}, &operation.Error{
					Kind: operation.Conflict, Sentence: "This is the last admin.",
					Next: "Make another person an admin by email first, and let them sign in once.",
				}
			case err != nil:
				return Outcome{}, err
			}
			return revoked(change), nil
		},
	}.Def()
}

// RevokeInput is the input of [Revoke].
type RevokeInput struct {
	Assignment string `json:"assignment" doc:"Id of the assignment" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
}
