package pii

import (
	"context"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Clear says that a name was reviewed and is not personal data.
func Clear(s Store, v Views) *operation.Def {
	return operation.Operation[DecideInput, DecideOutput]{
		Name:  "clear_pii",
		Title: "Clear a name of personal data",
		Doc: "Records that a column, table or measure was reviewed and is not personal data. A cleared column stays visible " +
			"although its table is marked.",
		Route:    "POST /admin/pii/clear",
		Command:  "admin pii clear <reference>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[DecideInput](policies.ManagePII),
		Handle: func(ctx context.Context, c *operation.Call, in DecideInput) (DecideOutput, error) {
			return decide(ctx, s, v, c, in, pii.IsCleared)
		},
	}.Def()
}
