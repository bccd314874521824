package measure

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the measures that the caller can see.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:  "list_measures",
		Title: "List measures",
		Doc: "Lists measures with their DAX, by dataset, table and name. Name a dataset to see its measures; " +
			"give words to look for a measure over all datasets. In DAX, refer to one as [Name].",
		Route:    "GET /measures",
		Command:  "measures list",
		Surfaces: operation.Connector | operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnListed(func(in ListInput) string { return in.Dataset }),
		Handle: func(ctx context.Context, c *operation.Call, in ListInput) (operation.Page[Item], error) {
			offset, err := in.Offset()
			if err != nil {
				return operation.Page[Item]{}, err
			}
			filter := knowledge.ElementFilter{Dataset: in.Dataset, Table: in.Table, Words: in.Words}
			page := knowledge.Range{Offset: offset, Limit: in.Limit}
			found, total, hidden, err := s.ListMeasures(ctx, c.View, filter, page)
			if errors.Is(err, knowledge.ErrNotOne) {
				if err := c.Find(ctx); err != nil {
					return operation.Page[Item]{}, err
				}
				filter.DatasetID = c.Dataset.ID
				found, total, hidden, err = s.ListMeasures(ctx, c.View, filter, page)
			}
			if err != nil {
				return operation.Page[Item]{}, err
			}
			if total == 0 && in.Table != "" && in.Words == "" {
				near, err := s.NearestTables(ctx, c.View, filter, in.Table)
				if err == nil {
					err = operation.Missing("table with measures", in.Table, near)
				}
				return operation.Page[Item]{}, err
			}
			items := make([]Item, len(found))
			for i, f := range found {
				items[i] = Item{
					Table: f.Table, Name: f.Name, Description: f.Description, OwnDescription: f.OwnDescription, OwnVersion: f.OwnVersion,
					DAX: f.Expression, Format: f.Format, Hidden: f.Hidden, PII: f.PII,
				}
				if in.Dataset == "" {
					items[i].Dataset, items[i].DatasetID = f.Dataset, f.DatasetID
				}
			}
			return operation.NewPage(items, offset, total, hidden), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct {
	Dataset string `json:"dataset,omitempty" doc:"Id, name, workspace/name, or an address of Power BI" maxLength:"500" example:"Sales"`
	Table   string `json:"table,omitempty" doc:"Name of the table that holds them" maxLength:"200" example:"Sales"`
	Words   string `json:"words,omitempty" doc:"Words of the name or the description" maxLength:"200" example:"net sales"`
	operation.PageInput
}

// An Item is a measure in a list.
type Item struct {
	Dataset        string `json:"dataset,omitempty" doc:"Name of its dataset, where the list is over several"`
	DatasetID      string `json:"dataset_id,omitempty" doc:"Id of its dataset, where the list is over several" format:"uuid"`
	Table          string `json:"table" doc:"Name of the table that holds it"`
	Name           string `json:"name" doc:"Name; in DAX it is [Name]"`
	Description    string `json:"description,omitempty" doc:"What its owners say of it in Power BI (untrusted text)" cut:"text"`
	OwnDescription string `json:"own_description,omitempty" doc:"What people say of it here (untrusted text)" cut:"text"`
	OwnVersion     int64  `json:"own_version,omitempty" doc:"Version of what people say of it here; to write, give the one that you read"`
	DAX            string `json:"dax,omitempty" doc:"Its expression (untrusted text)" cut:"text"`
	Format         string `json:"format,omitempty" doc:"How Power BI shows its value"`
	Hidden         bool   `json:"hidden,omitempty" doc:"Hidden in reports; it can be queried all the same"`
	PII            bool   `json:"pii,omitempty" doc:"Marked as personal data"`
}
