package check

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Run has every check made again.
func Run(s Store) *operation.Def {
	return operation.Operation[RunInput, Output]{
		Name:  "run_checks",
		Title: "Make the deployment's checks again",
		Doc: "Has every check made again, and answers at once: those under way are pending, and the list of checks says how they " +
			"end. They are made every hour without this.",
		Route:    "POST /admin/checks",
		Command:  "admin checks run",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Rate:     operation.Rate{PerMinute: 6},
		Ask:      operation.OnAdmin[RunInput](policies.ManageSettings),
		Handle: func(ctx context.Context, c *operation.Call, _ RunInput) (Output, error) {
			if err := s.Start(ctx, c.Principal); err != nil {
				return Output{}, err
			}
			return list(ctx, s)
		},
	}.Def()
}

// RunInput is the input of [Run].
type RunInput struct{}
