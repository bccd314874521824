package setting

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Set changes a setting.
func Set(s Store) *operation.Def {
	return operation.Operation[SetInput, Item]{
		Name:  "set_setting",
		Title: "Change a setting",
		Doc: "Saves a setting. It counts from the next request on, in every process. Say which version you looked at, and " +
			"the change is refused where somebody else was faster.",
		Route:    "PUT /admin/settings/{key}",
		Command:  "admin settings set <key> <value>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[SetInput](policies.ManageSettings),
		Handle: func(ctx context.Context, c *operation.Call, in SetInput) (Item, error) {
			state, err := s.Set(ctx, c.Principal, in.Key, in.Value, in.Version)
			if err != nil {
				return Item{}, explain(err)
			}
			return newItem(state), nil
		},
	}.Def()
}

// SetInput is the input of [Set].
type SetInput struct {
	Key     string `json:"key" doc:"Name of the setting" minLength:"1" maxLength:"100" example:"query.timeout_seconds"`
	Value   string `json:"value" doc:"The new value, written as the list shows it" maxLength:"2000" example:"90"`
	Version *int64 `json:"version,omitempty" nullable:"false" doc:"The version that the change is based on; 0 where nothing was saved" minimum:"0"`
}
