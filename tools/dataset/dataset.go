// Package dataset has the operations on datasets, which Power BI calls semantic
// models.
package dataset

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
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
}

// Operations returns every operation on datasets.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{List(s), Get(s)}
}
