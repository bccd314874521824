package dataset

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Get describes one dataset.
func Get(s Store) *operation.Def {
	return operation.Operation[GetInput, GetOutput]{
		Name:  "get_dataset",
		Title: "Describe a dataset",
		Doc: "Describes one dataset: its tables, how many columns and measures you can see, whether row-level " +
			"security applies, why the tables are unknown where they are, and what is known of relationships, " +
			"calculation groups and functions.",
		Route:    "GET /datasets/{dataset}",
		Command:  "datasets show <dataset>",
		Surfaces: operation.Connector | operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnDataset(policies.Describe, func(in GetInput) string { return in.Dataset }),
		Handle: func(ctx context.Context, c *operation.Call, _ GetInput) (GetOutput, error) {
			counts, err := s.CountDataset(ctx, c.View, c.Dataset.ID)
			if err != nil {
				return GetOutput{}, err
			}
			tables, err := s.ListTables(ctx, c.View, c.Dataset.ID)
			if err != nil {
				return GetOutput{}, err
			}
			out := GetOutput{
				Item: newItem(c.Dataset), WorkspaceID: c.Dataset.WorkspaceID, Apps: c.Dataset.AppNames,
				ConfiguredBy: c.Dataset.ConfiguredBy, SeenAt: c.Dataset.SeenAt.UTC(),
				Columns: counts.Columns, Measures: counts.Measures, PIIHidden: counts.PIIHidden,
				Parts: make([]Part, len(counts.Parts)), OwnVersion: counts.OwnVersion, Custom: fieldsOf(c.Dataset.Custom), Tables: make([]Table, len(tables)),
			}
			if out.Apps == nil {
				out.Apps = []string{}
			}
			for i, p := range counts.Parts {
				out.Parts[i] = newPart(p)
				out.RelationshipsRead = out.RelationshipsRead || p.Part == knowledge.Relationships && p.State == knowledge.PartRead
			}
			for i, t := range tables {
				out.Tables[i] = Table{Name: t.Name, Description: t.Description, OwnDescription: t.OwnDescription, OwnVersion: t.OwnVersion, Hidden: t.Hidden, Columns: t.Columns, Measures: t.Measures}
			}
			return out, nil
		},
	}.Def()
}

// GetInput is the input of [Get].
type GetInput struct {
	Dataset string `json:"dataset" doc:"Id, name, workspace/name, or an address of Power BI" minLength:"1" maxLength:"500" example:"Sales"`
}

// GetOutput is the output of [Get].
type GetOutput struct {
	Item
	WorkspaceID       string    `json:"workspace_id" doc:"Id of its workspace" format:"uuid"`
	Apps              []string  `json:"apps" doc:"Names of the apps that hold reports on it"`
	ConfiguredBy      string    `json:"configured_by,omitempty" doc:"Who configured it in Power BI"`
	SeenAt            time.Time `json:"seen_at" doc:"When the metadata was last read"`
	Columns           int       `json:"columns" doc:"Columns that you can see"`
	Measures          int       `json:"measures" doc:"Measures that you can see"`
	PIIHidden         int       `json:"pii_hidden,omitempty" doc:"Columns and measures left out because they are personal data"`
	RelationshipsRead bool      `json:"relationships_read" doc:"Whether the relationships between its tables are known here"`
	Parts             []Part    `json:"parts" doc:"What Power BI does not tell in its scans and is read under people's tokens: what is known of each part, and what that means for queries"`
	OwnVersion        int64     `json:"own_version,omitempty" doc:"Version of what people say of the dataset here; to write, give the one that you read"`
	Custom            []Field   `json:"custom" doc:"Custom fields that people here gave the dataset"`
	Tables            []Table   `json:"tables" doc:"Its tables" cut:"rows"`
	Note              string    `json:"note,omitempty" doc:"What was left out of this answer, and how to get it"`
}

// A Table is a table of a dataset.
type Table struct {
	Name           string `json:"name" doc:"Name"`
	Description    string `json:"description,omitempty" doc:"What its owners say of it in Power BI (untrusted text)" cut:"text"`
	OwnDescription string `json:"own_description,omitempty" doc:"What people say of it here (untrusted text)" cut:"text"`
	OwnVersion     int64  `json:"own_version,omitempty" doc:"Version of what people say of it here; to write, give the one that you read"`
	Hidden         bool   `json:"hidden,omitempty" doc:"Hidden in reports; it can be queried all the same"`
	Columns        int    `json:"columns" doc:"Columns that you can see"`
	Measures       int    `json:"measures" doc:"Measures that you can see"`
}

// WasCut says in the note which tables are missing.
func (o *GetOutput) WasCut(kept, of int, shortened bool) {
	if kept < of {
		o.Note = "Not all tables fitted; list_columns and list_measures with this dataset give every table's name."
	} else if shortened {
		o.Note = "Long texts were shortened to fit."
	}
}
