package dataset

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// SwitchOff takes a dataset out of everybody's sight.
func SwitchOff(s Store) *operation.Def {
	return operation.Operation[SwitchInput, SwitchItem]{
		Name:  "switch_dataset_off",
		Title: "Switch a dataset off",
		Doc: "Makes a dataset absent here for everybody, admins included and whatever a policy says, from the next request on: in " +
			"lists, searches and queries. Power BI itself is not changed.",
		Route:    "POST /admin/datasets/{dataset}/off",
		Command:  "admin datasets off <dataset>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[SwitchInput](policies.ManageDatasets),
		Handle:   turn(s, true),
	}.Def()
}

// SwitchOn brings a dataset back that was switched off.
func SwitchOn(s Store) *operation.Def {
	return operation.Operation[SwitchInput, SwitchItem]{
		Name:     "switch_dataset_on",
		Title:    "Switch a dataset on again",
		Doc:      "Brings a dataset that is off back, for those who could see it before.",
		Route:    "POST /admin/datasets/{dataset}/on",
		Command:  "admin datasets on <dataset>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[SwitchInput](policies.ManageDatasets),
		Handle:   turn(s, false),
	}.Def()
}

// SwitchInput is the input of [SwitchOff] and [SwitchOn].
type SwitchInput struct {
	Dataset string `json:"dataset" doc:"Id, or a name that no other dataset of the tenant has" minLength:"1" maxLength:"500" example:"Sales"`
}

func turn(s Store, off bool) func(context.Context, *operation.Call, SwitchInput) (SwitchItem, error) {
	return func(ctx context.Context, c *operation.Call, in SwitchInput) (SwitchItem, error) {
		d, err := s.SwitchDataset(ctx, c.Principal, in.Dataset, off)
		switch {
		case errors.Is(err, knowledge.ErrNotFound):
			return SwitchItem{}, &operation.Error{Kind: operation.NotFound, Sentence: "There is no such dataset.", Next: "The admin list of datasets has their names and ids."}
		case errors.Is(err, knowledge.ErrNotOne):
			return SwitchItem{}, operation.Invalidf("Give its id, which the admin list of datasets has.", "More than one dataset is named %q.", in.Dataset)
		case err != nil:
			return SwitchItem{}, err
		}
		return newSwitchItem(d), nil
	}
}
