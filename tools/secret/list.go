package secret

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists how each secret stands.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:  "list_secrets",
		Title: "List the secrets",
		Doc: "Lists every secret of the deployment, those that nobody has set included: who can open it, who set it, when it " +
			"ends. Nothing returns a value.",
		Route:    "GET /admin/secrets",
		Command:  "admin secrets list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManageSecrets),
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
			var items []Item
			for _, i := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newItem(i))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct{ operation.PageInput }
