package setting

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the settings with their values.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:     "list_settings",
		Title:    "List the settings",
		Doc:      "Lists every setting with its value, where that is from, what it is for and which values it takes.",
		Route:    "GET /admin/settings",
		Command:  "admin settings list",
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
			for _, state := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newItem(state))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct{ operation.PageInput }
