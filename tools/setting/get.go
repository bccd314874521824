package setting

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Get reads one setting.
func Get(s Store) *operation.Def {
	return operation.Operation[GetInput, Item]{
		Name:     "get_setting",
		Title:    "Read a setting",
		Doc:      "Gives one setting with its value, where that is from, what it is for and which values it takes.",
		Route:    "GET /admin/settings/{key}",
		Command:  "admin settings get <key>",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[GetInput](policies.ManageSettings),
		Handle: func(ctx context.Context, _ *operation.Call, in GetInput) (Item, error) {
			state, err := s.Get(ctx, in.Key)
			if err != nil {
				return Item{}, explain(err)
			}
			return newItem(state), nil
		},
	}.Def()
}

// GetInput is the input of [Get].
type GetInput struct {
	Key string `json:"key" doc:"Name of the setting" minLength:"1" maxLength:"100" example:"query.timeout_seconds"`
}
