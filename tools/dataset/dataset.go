// Package dataset has the operations on datasets, which Power BI calls semantic
// models.
package dataset

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store reads datasets as far as a view shows them.
type Store interface {
	// ListDatasets returns one range of the datasets that match and how many match in all.
	ListDatasets(context.Context, *visibility.View, knowledge.DatasetFilter, knowledge.Range) ([]knowledge.Dataset, int, error)

	// CountDataset counts what view shows of a dataset.
	CountDataset(ctx context.Context, view *visibility.View, id string) (knowledge.DatasetCounts, error)

	// ListTables returns the tables of a dataset that have anything that view shows.
	ListTables(ctx context.Context, view *visibility.View, id string) ([]knowledge.ListedTable, error)

	// WriteOwn writes the book's own description of what ref names and changes the
	// custom fields that own has, on behalf of view's caller. It returns the reference
	// as the mirror has it and what is written now; [knowledge.ErrNotFound] for what
	// view does not show, a [*knowledge.VersionError] for a write that comes too late.
	WriteOwn(ctx context.Context, view *visibility.View, ref knowledge.ElementRef, own knowledge.OwnText) (knowledge.ElementRef, knowledge.OwnText, error)

	// ListAllDatasets returns one range of the datasets of the tenant, whoever reaches
	// them, and how many match.
	ListAllDatasets(ctx context.Context, words string, onlyOff bool, r knowledge.Range) ([]knowledge.SwitchedDataset, int, error)

	// SwitchDataset switches a dataset, named by id or name, off or on, for by;
	// [knowledge.ErrNotFound] or [knowledge.ErrNotOne] where the name means none or several.
	SwitchDataset(ctx context.Context, by *policies.Principal, name string, off bool) (knowledge.SwitchedDataset, error)
}

// Operations returns every operation on datasets.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{List(s), Get(s), Write(s), ListAll(s), SwitchOff(s), SwitchOn(s)}
}
