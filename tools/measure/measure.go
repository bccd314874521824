// Package measure has the operations on the measures of datasets.
package measure

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store reads measures as far as a view shows them.
type Store interface {
	// ListMeasures returns one range of the measures that match, how many match in
	// all, and how many more were left out as personal data; [knowledge.ErrNotOne]
	// where the filter's dataset is named and is not one that view shows.
	ListMeasures(context.Context, *visibility.View, knowledge.ElementFilter, knowledge.Range) (measures []knowledge.ListedMeasure, total, piiHidden int, err error)

	// NearestTables returns up to five names of tables that view shows anything of
	// and that are like name, best first, in the filter's dataset.
	NearestTables(ctx context.Context, view *visibility.View, f knowledge.ElementFilter, name string) ([]string, error)
}

// Operations returns every operation on measures.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{List(s)}
}
