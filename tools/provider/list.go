package provider

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the ways to sign in.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:     "list_sign_in_providers",
		Title:    "List the sign-in providers",
		Doc:      "Lists the providers that people can sign in through, in the order of the sign-in page.",
		Route:    "GET /admin/sign-in/providers",
		Command:  "admin sign-in list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManageSettings),
		Handle: func(ctx context.Context, _ *operation.Call, in ListInput) (operation.Page[Item], error) {
			var none operation.Page[Item]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			all, err := s.List(ctx)
			if err != nil {
				return none, err
			}
			items := []Item{}
			for _, p := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newItem(p))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct{ operation.PageInput }
