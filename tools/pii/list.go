package pii

import (
	"context"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists every rule, whatever the asking admin's reach; only the counts are
// those of what they reach.
func List(s Store, v Views) *operation.Def {
	return operation.Operation[ListInput, operation.Page[ListedRule]]{
		Name:     "list_pii_rules",
		Title:    "List the rules on personal data",
		Doc:      "Lists what is marked as personal data and what was reviewed and cleared, with what each matches in the datasets that you reach.",
		Route:    "GET /admin/pii/rules",
		Command:  "admin pii list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in ListInput) (operation.Page[ListedRule], error) {
			var none operation.Page[ListedRule]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			var only *bool
			if in.PII != in.Cleared {
				only = &in.PII
			}
			stored, err := s.ListRules(ctx, only)
			if err != nil {
				return none, err
			}
			view, err := v.For(ctx, c.Principal)
			if err != nil {
				return none, err
			}
			shown := stored[min(offset, len(stored)):min(offset+in.Limit, len(stored))]
			refs := make([]pii.Ref, len(shown))
			for i, r := range shown {
				refs[i] = r.Ref
			}
			matches, err := s.CountMatches(ctx, view, refs)
			if err != nil {
				return none, err
			}
			rules := make([]ListedRule, len(shown))
			for i, r := range shown {
				rules[i] = ListedRule{newRule(r), newMatch(matches[i])}
			}
			return operation.NewPage(rules, offset, len(stored), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct {
	PII     bool `json:"pii,omitempty" doc:"Only the marked ones"`
	Cleared bool `json:"cleared,omitempty" doc:"Only the cleared ones"`
	operation.PageInput
}

// A ListedRule is a rule with what it matches.
type ListedRule struct {
	Rule
	Match
}
