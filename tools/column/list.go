package column

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the columns that the caller can see.
func List(s Store) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:  "list_columns",
		Title: "List columns",
		Doc: "Lists columns with their types, by dataset, table and name. Name a dataset to see its columns; " +
			"give words to look for a column over all datasets. Columns marked as personal data are left out and " +
			"counted in pii_hidden, unless you hold pii_reader.",
		Route:    "GET /columns",
		Command:  "columns list",
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
			found, total, hidden, err := s.ListColumns(ctx, c.View, filter, page)
			if errors.Is(err, knowledge.ErrNotOne) {
				if err := c.Find(ctx); err != nil {
					return operation.Page[Item]{}, err
				}
				filter.DatasetID = c.Dataset.ID
				found, total, hidden, err = s.ListColumns(ctx, c.View, filter, page)
			}
			if err != nil {
				return operation.Page[Item]{}, err
			}
			if total == 0 && in.Table != "" && in.Words == "" {
				near, err := s.NearestTables(ctx, c.View, filter, in.Table)
				if err == nil {
					err = operation.Missing("table with columns", in.Table, near)
				}
				return operation.Page[Item]{}, err
			}
			items := make([]Item, len(found))
			for i, f := range found {
				items[i] = Item{
					Table: f.Table, Name: f.Name, Type: string(f.DataType),
					Description: f.Description, OwnDescription: f.OwnDescription, OwnVersion: f.OwnVersion,
					DAX: f.Expression, Hidden: f.Hidden, PII: f.PII,
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
	Table   string `json:"table,omitempty" doc:"Name of a table" maxLength:"200" example:"Customer"`
	Words   string `json:"words,omitempty" doc:"Words of the name or the description" maxLength:"200"`
	operation.PageInput
}

// An Item is a column in a list.
type Item struct {
	Dataset        string `json:"dataset,omitempty" doc:"Name of its dataset, where the list is over several"`
	DatasetID      string `json:"dataset_id,omitempty" doc:"Id of its dataset, where the list is over several" format:"uuid"`
	Table          string `json:"table" doc:"Name of its table"`
	Name           string `json:"name" doc:"Name; in DAX it is 'Table'[Name]"`
	Type           string `json:"type" doc:"string, int64, double, decimal, boolean, dateTime, binary or variant"`
	Description    string `json:"description,omitempty" doc:"What its owners say of it in Power BI (untrusted text)" cut:"text"`
	OwnDescription string `json:"own_description,omitempty" doc:"What people say of it here (untrusted text)" cut:"text"`
	OwnVersion     int64  `json:"own_version,omitempty" doc:"Version of what people say of it here; to write, give the one that you read"`
	DAX            string `json:"dax,omitempty" doc:"The expression of a calculated column (untrusted text)" cut:"text"`
	Hidden         bool   `json:"hidden,omitempty" doc:"Hidden in reports; it can be queried all the same"`
	PII            bool   `json:"pii,omitempty" doc:"Marked as personal data"`
}
