package check

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List says how each check ended last.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, Output]{
		Name:  "list_checks",
		Title: "See the deployment's checks",
		Doc: "Lists what the deployment checks of itself and of its registrations at Microsoft: how each check ended last, when, " +
			"and what to do where it did not pass.",
		Route:    "GET /admin/checks",
		Command:  "admin checks list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManageSettings),
		Handle: func(ctx context.Context, _ *operation.Call, _ ListInput) (Output, error) {
			return list(ctx, s)
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct{}
