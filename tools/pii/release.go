package pii

import (
	"context"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Release says that relationships carry no personal data over to a name.
func Release(s Store, v Views) *operation.Def {
	return operation.Operation[DecideInput, DecideOutput]{
		Name:  "release_pii",
		Title: "Release what is joined to personal data",
		Doc: "Records that a column or table is usable although a relationship joins it to personal data, such as a shared " +
			"calendar that one birth date is joined to. What is marked stays refused; the release stops it from spreading there.",
		Route:    "POST /admin/pii/release",
		Command:  "admin pii release <reference>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[DecideInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in DecideInput) (DecideOutput, error) {
			if in.Measure {
				return DecideOutput{}, operation.Invalidf("Clear it instead.", "A measure is joined to nothing.")
			}
			return decide(ctx, s, v, c, in, pii.IsReleased)
		},
	}.Def()
}
