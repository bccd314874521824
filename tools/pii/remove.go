package pii

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Remove takes a rule away.
func Remove(s Store) *operation.Def {
	return operation.Operation[RefInput, RemoveOutput]{
		Name:     "remove_pii_rule",
		Title:    "Remove a rule on personal data",
		Doc:      "Takes the decision on a name away. A column without a decision of its own follows its table's.",
		Route:    "POST /admin/pii/remove",
		Command:  "admin pii remove <reference>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RefInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in RefInput) (RemoveOutput, error) {
			ref, err := in.parse()
			if err != nil {
				return RemoveOutput{}, err
			}
			err = s.RemoveRule(ctx, c.Principal, ref)
			if errors.Is(err, knowledge.ErrNotFound) {
				return RemoveOutput{}, &operation.Error{Kind: operation.NotFound, Sentence: "There is no rule on " + ref.String() + ".", Next: "The list of rules has them all."}
			}
			return RemoveOutput{Removed: ref.String()}, err
		},
	}.Def()
}

// RemoveOutput is the output of [Remove].
type RemoveOutput struct {
	Removed string `json:"removed" doc:"The reference whose rule is gone"`
}
