package pii

import (
	"context"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Mark says that a column, a table or a measure is personal data.
func Mark(s Store, v Views) *operation.Def {
	return operation.Operation[DecideInput, DecideOutput]{
		Name:  "mark_pii",
		Title: "Mark personal data",
		Doc: "Marks a column, every column of a table, or a measure as personal data, by name and in every dataset. From the " +
			"next request on, nobody without pii_reader sees it, and queries that read it are refused.",
		Route:    "POST /admin/pii/mark",
		Command:  "admin pii mark <reference>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[DecideInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in DecideInput) (DecideOutput, error) {
			return decide(ctx, s, v, c, in, pii.IsMarked)
		},
	}.Def()
}
