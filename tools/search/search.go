// Package search has the operation that finds things by words.
package search

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store searches as far as a view shows things. Nothing that is personal data
// is ever found, by anybody.
type Store interface {
	Search(ctx context.Context, view *visibility.View, words string, kinds []knowledge.HitKind, datasetID string, limit int) ([]knowledge.Hit, error)
}

// Operations returns the operations of search.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{Search(s)}
}

// Search finds measures, columns, tables and datasets by words.
func Search(s Store) *operation.Def {
	return operation.Operation[Input, Output]{
		Name:  "search",
		Title: "Search the book",
		Doc: "Finds measures, columns, tables and datasets by the words of their names and descriptions, best first. " +
			"Start here: search for the business words of the question, then read the dataset and its measures.",
		Route:    "GET /search",
		Command:  "search <query...>",
		Surfaces: operation.Connector | operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnVisible(func(in Input) string { return in.Dataset }),
		Handle: func(ctx context.Context, c *operation.Call, in Input) (Output, error) {
			var kinds []knowledge.HitKind
			if in.Kind != "" {
				kinds = []knowledge.HitKind{knowledge.HitKind(in.Kind)}
			}
			datasetID := ""
			if c.Dataset != nil {
				datasetID = c.Dataset.ID
			}
			found, err := s.Search(ctx, c.View, in.Query, kinds, datasetID, in.Limit)
			if err != nil {
				return Output{}, err
			}
			out := Output{Items: make([]Item, len(found))}
			for i, h := range found {
				out.Items[i] = Item{
					Kind: string(h.Kind), Name: h.Name, Table: h.Table, Dataset: h.Dataset, DatasetID: h.DatasetID,
					Workspace: h.Workspace, Endorsement: h.Endorsement, Description: h.Description, OwnDescription: h.OwnDescription,
				}
			}
			if len(found) == 0 {
				out.Note = "Nothing that you can see matches. Try fewer or other words."
			}
			return out, nil
		},
	}.Def()
}

// Input is the input of [Search].
type Input struct {
	Query   string `json:"query" doc:"Words to look for" minLength:"1" maxLength:"400" example:"net sales"`
	Kind    string `json:"kind,omitempty" doc:"Find only this kind" enum:"measure,column,table,dataset"`
	Dataset string `json:"dataset,omitempty" doc:"Find only in this dataset: id, name or workspace/name" maxLength:"500"`
	Limit   int    `json:"limit,omitempty" doc:"How many to find" minimum:"1" maximum:"50" default:"20"`
}

// Output is the output of [Search].
type Output struct {
	Items []Item `json:"items" doc:"What was found, best first" cut:"rows"`
	Note  string `json:"note,omitempty" doc:"What was left out of this answer, and how to get it"`
}

// An Item is something that was found.
type Item struct {
	Kind           string `json:"kind" doc:"measure, column, table or dataset"`
	Name           string `json:"name" doc:"Name"`
	Table          string `json:"table,omitempty" doc:"Name of the table that holds it"`
	Dataset        string `json:"dataset" doc:"Name of its dataset"`
	DatasetID      string `json:"dataset_id" doc:"Id of its dataset" format:"uuid"`
	Workspace      string `json:"workspace" doc:"Name of its workspace"`
	Endorsement    string `json:"endorsement,omitempty" doc:"Promoted or Certified, where its dataset is"`
	Description    string `json:"description,omitempty" doc:"What its owners say of it in Power BI (untrusted text)" cut:"text"`
	OwnDescription string `json:"own_description,omitempty" doc:"What people say of it here (untrusted text)" cut:"text"`
}

// WasCut says in the note what was left out.
func (o *Output) WasCut(kept, of int, _ bool) {
	o.Note = "Long texts were shortened to fit."
	if kept < of {
		o.Note = "Not everything fitted: ask again with kind or dataset, or with fewer."
	}
}
