package pii

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Restore takes the last change of a rule back.
func Restore(s Store) *operation.Def {
	return operation.Operation[RestoreInput, ChangeOutput]{
		Name:  "restore_pii_rule",
		Title: "Undo a change of a rule on personal data",
		Doc: "Makes what is decided on a name what it was before its last change, if that change is the one that you name: " +
			"nothing happens where somebody changed it again since.",
		Route:    "POST /admin/pii/restore",
		Command:  "admin pii restore <reference>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[RestoreInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in RestoreInput) (ChangeOutput, error) {
			ref, err := in.parse()
			if err != nil {
				return ChangeOutput{}, err
			}
			done, err := s.RestoreRule(ctx, c.Principal, ref, in.Version)
			if err != nil {
				return ChangeOutput{}, explainChange(ref, err)
			}
			return newChange(done), nil
		},
	}.Def()
}

// RestoreInput is the input of [Restore].
type RestoreInput struct {
	RefInput
	Version int64 `json:"version" doc:"Version of the change to undo, as the list or the change itself gave it" minimum:"1"`
}
