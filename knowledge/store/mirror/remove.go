package mirror

import (
	"context"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// removeUnseen marks as removed what a run that read everything did not see.
func (r *Run) removeUnseen(ctx context.Context, q *db.Queries) error {
	if r.kind == Full {
		for _, remove := range []func() error{
			func() error { return q.RemoveWorkspaces(ctx, r.at) },
			func() error { return q.RemoveDatasets(ctx, r.at) },
			func() error { return q.RemoveReports(ctx, r.at) },
			func() error { return q.RemoveApps(ctx, r.at) },
			func() error { return q.RemoveAccessOfRemoved(ctx) },
			func() error { return q.RemoveAppDatasets(ctx) },
		} {
			if err := remove(); err != nil {
				return err
			}
		}
	}
	if err := q.AddAppDatasets(ctx); err != nil {
		return err
	}
	if err := q.RemoveMeasures(ctx, r.at); err != nil {
		return err
	}
	if err := q.RemoveRoles(ctx, r.at); err != nil {
		return err
	}
	return r.removeColumns(ctx, q)
}

// An end is a column that a relationship may join.
type end struct{ dataset, table, column string }

// removeColumns marks columns and tables as removed. A full run takes away the
// relationships that joined one, too: it alone confirms that they are gone. Those
// of a dataset that is gone altogether stay for the day it comes back.
func (r *Run) removeColumns(ctx context.Context, q *db.Queries) error {
	if err := q.RemoveColumns(ctx, r.at); err != nil {
		return err
	}
	if err := q.RemoveTables(ctx, r.at); err != nil {
		return err
	}
	if r.kind != Full {
		return nil
	}
	columns, err := q.ColumnsRemovedSinceFull(ctx)
	if err != nil || len(columns) == 0 {
		return err
	}
	gone := map[end]bool{}
	datasets := map[string]bool{}
	for _, c := range columns {
		gone[end{c.DatasetID, c.TableFolded, c.Folded}] = true
		datasets[c.DatasetID] = true
	}
	ids := make([]string, 0, len(datasets))
	for id := range datasets {
		ids = append(ids, id)
	}
	joined, err := q.RelationshipEnds(ctx, ids)
	if err != nil {
		return err
	}
	for _, j := range joined {
		from := end{j.DatasetID, knowledge.Fold(j.FromTable), knowledge.Fold(j.FromColumn)}
		to := end{j.DatasetID, knowledge.Fold(j.ToTable), knowledge.Fold(j.ToColumn)}
		if !gone[from] && !gone[to] {
			continue
		}
		if err := q.DeleteRelationship(ctx, db.DeleteRelationshipParams(j)); err != nil {
			return err
		}
	}
	return nil
}
