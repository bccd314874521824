package pii

import (
	"context"
	"errors"
	"fmt"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Suggest lists what may be personal data. It marks nothing.
func Suggest(s Store, v Views) *operation.Def {
	return operation.Operation[SuggestInput, operation.Page[SuggestionItem]]{
		Name:  "suggest_pii",
		Title: "List what may be personal data",
		Doc: "Lists names that nobody has decided on and that may be personal data, the likeliest first, each with why: what it " +
			"is called, a role that compares it with who asks, or DAX that shows what is marked. It looks at the datasets that " +
			"Power BI lets you reach, and marks nothing.",
		Route:    "GET /admin/pii/suggestions",
		Command:  "admin pii suggest",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Rate:     operation.Rate{PerMinute: 30},
		Ask:      operation.OnAdmin[SuggestInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in SuggestInput) (operation.Page[SuggestionItem], error) {
			var none operation.Page[SuggestionItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			view, err := v.For(ctx, c.Principal)
			if err != nil {
				return none, err
			}
			found, err := s.Suggest(ctx, view, in.Dataset)
			switch {
			case errors.Is(err, knowledge.ErrNotFound):
				return none, operation.Missing("dataset", in.Dataset, nil)
			case errors.Is(err, knowledge.ErrSeveral):
				return none, operation.Invalidf("Name it with its workspace before it, or by its id.", "More than one dataset is named %q.", in.Dataset)
			case err != nil:
				return none, err
			}
			total := len(found.Suggestions)
			var items []SuggestionItem
			for i := min(offset, total); i < min(offset+in.Limit, total); i++ {
				one := found.Suggestions[i]
				items = append(items, SuggestionItem{
					Reference: one.String(), Kind: string(one.Kind), Reason: string(one.Reason), Why: one.Why,
					Confidence: one.Confidence.String(), Datasets: found.Datasets[i],
				})
			}
			page := operation.NewPage(items, offset, total, 0)
			if found.NotRead > 0 {
				page.Note = fmt.Sprintf("The DAX of %d more datasets was not read: name a dataset to have it looked at.", found.NotRead)
			}
			return page, nil
		},
	}.Def()
}

// SuggestInput is the input of [Suggest].
type SuggestInput struct {
	Dataset string `json:"dataset,omitempty" doc:"Only this dataset, by id, name or workspace/name" maxLength:"500" example:"Sales"`
	operation.PageInput
}

// A SuggestionItem is a suggestion as callers see it.
type SuggestionItem struct {
	Reference  string `json:"reference" doc:"Table[Column] or Table[Measure]; mark or clear takes it"`
	Kind       string `json:"kind" doc:"column or measure; for a measure, mark and clear need the measure option"`
	Confidence string `json:"confidence" doc:"high, medium or low"`
	Why        string `json:"why" doc:"Why it may be personal data"`
	Reason     string `json:"reason" doc:"name, identity, derived or value_measure"`
	Datasets   int    `json:"datasets,omitempty" doc:"In how many of the datasets it is, where that was counted"`
}
