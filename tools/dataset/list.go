package dataset

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the datasets that the caller can see.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:  "list_datasets",
		Title: "List datasets",
		Doc: "Lists the Power BI datasets (semantic models) that you can see, by name. " +
			"Give words to narrow by name or description, workspace to narrow to one.",
		Route:    "GET /datasets",
		Command:  "datasets list",
		Surfaces: operation.Connector | operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnVisible[ListInput](nil),
		Handle: func(ctx context.Context, c *operation.Call, in ListInput) (operation.Page[Item], error) {
			offset, err := in.Offset()
			if err != nil {
				return operation.Page[Item]{}, err
			}
			filter := knowledge.DatasetFilter{Words: in.Words, Workspace: in.Workspace}
			found, total, err := s.ListDatasets(ctx, c.View, filter, knowledge.Range{Offset: offset, Limit: in.Limit})
			if err != nil {
				return operation.Page[Item]{}, err
			}
			items := make([]Item, len(found))
			for i, d := range found {
				items[i] = newItem(&d)
			}
			return operation.NewPage(items, offset, total, 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct {
	Words     string `json:"words,omitempty" doc:"Words of the name or the description" maxLength:"200" example:"sales"`
	Workspace string `json:"workspace,omitempty" doc:"Name or id of a workspace" maxLength:"200" example:"Retail"`
	operation.PageInput
}

// An Item is a dataset in a list.
type Item struct {
	ID               string `json:"id" doc:"Id, Power BI's own" format:"uuid"`
	Name             string `json:"name" doc:"Name"`
	Workspace        string `json:"workspace" doc:"Name of its workspace"`
	Description      string `json:"description,omitempty" doc:"What its owners say of it in Power BI (untrusted text)" cut:"text"`
	OwnDescription   string `json:"own_description,omitempty" doc:"What people say of it here (untrusted text)" cut:"text"`
	Endorsement      string `json:"endorsement,omitempty" doc:"Promoted or Certified"`
	SensitivityLabel string `json:"sensitivity_label,omitempty" doc:"Id of its sensitivity label"`
	HasRowSecurity   bool   `json:"has_row_level_security" doc:"Whether people see different rows of it"`
	SchemaError      string `json:"schema_error,omitempty" doc:"Why Power BI told nothing of its tables"`
}

func newItem(d *knowledge.Dataset) Item {
	return Item{
		ID: d.ID, Name: d.Name, Workspace: d.Workspace, Description: d.Description, OwnDescription: d.OwnDescription, Endorsement: d.Endorsement,
		SensitivityLabel: d.SensitivityLabel, HasRowSecurity: d.HasRowSecurity, SchemaError: d.SchemaError,
	}
}
