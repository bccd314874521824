package dataset

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// ListAll lists every dataset of the tenant, whatever the asking admin's reach, by
// name and counts alone.
func ListAll(s Store) *operation.Def {
	return operation.Operation[ListAllInput, operation.Page[SwitchItem]]{
		Name:  "list_all_datasets",
		Title: "List every dataset, to switch it off or on",
		Doc: "Lists every dataset of the tenant by its name and counts, those too that you cannot see otherwise, and says which " +
			"are off here. It opens nothing of them.",
		Route:    "GET /admin/datasets",
		Command:  "admin datasets list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListAllInput](policies.ManageDatasets),
		Handle: func(ctx context.Context, _ *operation.Call, in ListAllInput) (operation.Page[SwitchItem], error) {
			offset, err := in.Offset()
			if err != nil {
				return operation.Page[SwitchItem]{}, err
			}
			found, total, err := s.ListAllDatasets(ctx, in.Words, in.Off, knowledge.Range{Offset: offset, Limit: in.Limit})
			if err != nil {
				return operation.Page[SwitchItem]{}, err
			}
			items := make([]SwitchItem, len(found))
			for i, d := range found {
				items[i] = newSwitchItem(d)
			}
			return operation.NewPage(items, offset, total, 0), nil
		},
	}.Def()
}

// ListAllInput is the input of [ListAll].
type ListAllInput struct {
	Words string `json:"words,omitempty" doc:"Words of the name" maxLength:"200" example:"sales"`
	Off   bool   `json:"off,omitempty" doc:"Only those that are off"`
	operation.PageInput
}

// A SwitchItem is a dataset as admins see it who may not see it otherwise. What is
// here, everybody with manage_datasets learns of every dataset: it stays this short
// (VIS-24).
type SwitchItem struct {
	ID        string     `json:"id" doc:"Id, Power BI's own" format:"uuid"`
	Name      string     `json:"name" doc:"Name"`
	Tables    int        `json:"tables" doc:"How many tables it has"`
	Columns   int        `json:"columns" doc:"How many columns"`
	Measures  int        `json:"measures" doc:"How many measures"`
	Off       bool       `json:"off" doc:"Off here: absent for everybody"`
	Version   int64      `json:"version,omitempty" doc:"How many times it was switched"`
	ChangedAt *time.Time `json:"changed_at,omitempty" doc:"When it was switched last"`
	ChangedBy string     `json:"changed_by,omitempty" doc:"Who switched it last"`
	Via       string     `json:"via,omitempty" doc:"Through what: browser or cli"`
}

func newSwitchItem(d knowledge.SwitchedDataset) SwitchItem {
	i := SwitchItem{
		ID: d.ID, Name: d.Name, Tables: d.Tables, Columns: d.Columns, Measures: d.Measures,
		Off: d.Off, Version: d.Version, ChangedBy: d.ChangedBy, Via: d.Via,
	}
	if !d.ChangedAt.IsZero() {
		at := d.ChangedAt.UTC()
		i.ChangedAt = &at
	}
	return i
}
