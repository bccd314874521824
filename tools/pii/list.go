package pii

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists every rule, whatever the asking admin's reach.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Rule]]{
		Name:     "list_pii_rules",
		Title:    "List the rules on personal data",
		Doc:      "Lists what is marked as personal data and what was reviewed and cleared.",
		Route:    "GET /admin/pii/rules",
		Command:  "admin pii list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManagePII),
		Handle: func(ctx context.Context, _ *operation.Call, in ListInput) (operation.Page[Rule], error) {
			offset, err := in.Offset()
			if err != nil {
				return operation.Page[Rule]{}, err
			}
			var only *bool
			if in.Only != "" {
				marked := in.Only == "pii"
				only = &marked
			}
			stored, err := s.ListRules(ctx, only)
			if err != nil {
				return operation.Page[Rule]{}, err
			}
			var rules []Rule
			for _, r := range stored[min(offset, len(stored)):min(offset+in.Limit, len(stored))] {
				rules = append(rules, newRule(r))
			}
			return operation.NewPage(rules, offset, len(stored), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct {
	Only string `json:"only,omitempty" doc:"Only the marked, or only the cleared ones" enum:"pii,cleared"`
	operation.PageInput
}
