package check

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// Admin is Power BI's read-only admin API, as [powerbi.Client] has it.
type Admin interface {
	ModifiedWorkspaces(ctx context.Context, token string, since time.Time) ([]string, error)
	StartScan(ctx context.Context, token string, workspaceIDs []string) (powerbi.Scan, error)
	ScanStatus(ctx context.Context, token, scanID string) (powerbi.Scan, error)
	ScanResult(ctx context.Context, token, scanID string, each func(*powerbi.Workspace) error) error
}

var _ Admin = (*powerbi.Client)(nil)

// Scanner asks whether the scanner may call the admin API and has no permission
// beside (SYNC-01).
func Scanner(app App, admin Admin) check.Ask {
	return func(ctx context.Context) error {
		token, err := tokenWithoutRoles(ctx, app, powerbi.AppScope)
		if err != nil {
			return err
		}
		if _, err := admin.ModifiedWorkspaces(ctx, token, time.Time{}); err != nil {
			return refused(err)
		}
		return nil
	}
}

// sampled is how many workspaces are scanned to see what a scan gives.
const sampled = 20

// WhatToSync asks whether the scanner sees workspaces, and of some of them whether
// it gets tables and expressions. wait waits between two looks at a scan.
func WhatToSync(app App, admin Admin, wait func(context.Context, time.Duration) error) check.Ask {
	return func(ctx context.Context) error {
		token, err := app.NewAppToken(ctx, powerbi.AppScope)
		if err != nil {
			return refused(err)
		}
		ids, err := admin.ModifiedWorkspaces(ctx, token, time.Time{})
		if err != nil {
			return refused(err)
		}
		if len(ids) == 0 {
			return &check.Error{Code: check.NoWorkspace}
		}
		scan, err := admin.StartScan(ctx, token, ids[:min(sampled, len(ids))])
		for err == nil && scan.Going() {
			if wait(ctx, time.Second) != nil {
				return &check.Error{Code: check.Unfinished}
			}
			scan, err = admin.ScanStatus(ctx, token, scan.ID)
		}
		switch {
		case err != nil:
			return refused(err)
		case !scan.Done():
			return &check.Error{Code: check.Unfinished}
		}
		var seen struct{ datasets, tables, measures, expressions int }
		err = admin.ScanResult(ctx, token, scan.ID, func(w *powerbi.Workspace) error {
			seen.datasets += len(w.Datasets)
			for _, d := range w.Datasets {
				seen.tables += len(d.Tables)
				for _, t := range d.Tables {
					seen.measures += len(t.Measures)
					for _, m := range t.Measures {
						if m.Expression != "" {
							seen.expressions++
						}
					}
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return refused(err)
		case seen.datasets > 0 && seen.tables == 0:
			return &check.Error{Code: check.NoMetadata}
		case seen.measures > 0 && seen.expressions == 0:
			return &check.Error{Code: check.NoExpression}
		}
		return nil
	}
}
