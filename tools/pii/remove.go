package pii

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Remove takes a rule away.
func Remove(s Store) *operation.Def {
	return operation.Operation[RefInput, ChangeOutput]{
		Name:     "remove_pii_rule",
		Title:    "Remove a rule on personal data",
		Doc:      "Takes the decision on a name away. A column without a decision of its own follows its table's.",
		Route:    "POST /admin/pii/remove",
		Command:  "admin pii remove <reference>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RefInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in RefInput) (ChangeOutput, error) {
			ref, err := in.parse()
			if err != nil {
				return ChangeOutput{}, err
			}
			done, err := s.RemoveRule(ctx, c.Principal, ref)
			if err != nil {
				return ChangeOutput{}, explainChange(ref, err)
			}
			return newChange(done), nil
		},
	}.Def()
}
