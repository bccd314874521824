package scan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// A Source is what a scan asks Power BI. [powerbi.Client] is one.
type Source interface {
	ModifiedWorkspaces(ctx context.Context, token string, since time.Time) ([]string, error)
	StartScan(ctx context.Context, token string, workspaceIDs []string) (powerbi.Scan, error)
	ScanStatus(ctx context.Context, token, scanID string) (powerbi.Scan, error)
	ScanResult(ctx context.Context, token, scanID string, each func(*powerbi.Workspace) error) error
	Apps(ctx context.Context, token string) ([]powerbi.App, error)
	AppUsers(ctx context.Context, token, appID string) ([]powerbi.Access, error)
}

// A Scanner reads a tenant into the mirror.
type Scanner struct {
	Source Source

	// Token gives the scanner's own access token. It is asked before each
	// request, since a large tenant takes longer than a token lives.
	Token func(ctx context.Context) (string, error)

	Mirror *mirror.Writer
	Log    *slog.Logger

	// Wait waits between two looks at a scan and before a request that was
	// throttled is sent again. It returns early with the context's error.
	Wait func(ctx context.Context, d time.Duration) error
}

const (
	// Power BI allows 16 scans at once for all who scan the tenant.
	atOnce = 4

	// The first look at a scan comes soon, for a small one is done in a second.
	firstLook = time.Second
	lastLook  = 30 * time.Second

	// How often a request is sent again that Power BI throttled or that failed
	// on its side.
	attempts = 5

	// Elements that are gathered before they are written in one transaction.
	batch = 20_000
)

// Sleep is the Wait of production.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Full reads everything.
func (s *Scanner) Full(ctx context.Context) (mirror.Outcome, error) {
	return s.run(ctx, mirror.Full, time.Time{})
}

// Incremental reads the workspaces that changed since the last run that
// succeeded, or everything where Power BI does not look back that far.
func (s *Scanner) Incremental(ctx context.Context) (mirror.Outcome, error) {
	last, ok, err := s.Mirror.Last(ctx, []mirror.Kind{mirror.Full, mirror.Incremental}, []mirror.State{mirror.Succeeded})
	if err != nil {
		return mirror.Outcome{}, err
	}
	// Power BI answers for 30 minutes to 30 days back; the overlap costs little.
	since := last.StartedAt.Add(-31 * time.Minute)
	if !ok || time.Since(since) > 29*24*time.Hour {
		return s.Full(ctx)
	}
	return s.run(ctx, mirror.Incremental, since)
}

func (s *Scanner) run(ctx context.Context, kind mirror.Kind, since time.Time) (mirror.Outcome, error) {
	run, err := s.Mirror.Begin(ctx, kind)
	if err != nil {
		return mirror.Outcome{}, err
	}
	err = s.read(ctx, run, since)
	var done mirror.Outcome
	if err == nil {
		done, err = run.Complete(ctx)
	}
	if err != nil {
		// The run ends as failed even where it ended because the process stops.
		if failed := run.Fail(context.WithoutCancel(ctx), err); failed != nil {
			err = errors.Join(err, failed)
		}
		return mirror.Outcome{}, fmt.Errorf("%s sync: %w", kind, err)
	}
	return done, nil
}

func (s *Scanner) read(ctx context.Context, run *mirror.Run, since time.Time) error {
	var ids []string
	err := s.ask(ctx, func(token string) (err error) {
		ids, err = s.Source.ModifiedWorkspaces(ctx, token, since)
		return err
	})
	if err != nil {
		return err
	}
	g, scanning := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for chunk := range slices.Chunk(ids, powerbi.MaxScan) {
		g.Go(func() error { return s.scanChunk(scanning, run, chunk) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if !since.IsZero() {
		return nil // audiences of apps are read by full runs
	}
	return s.readApps(ctx, run)
}

// scanChunk has Power BI scan some workspaces and writes them as they come.
func (s *Scanner) scanChunk(ctx context.Context, run *mirror.Run, ids []string) error {
	var scan powerbi.Scan
	err := s.ask(ctx, func(token string) (err error) {
		scan, err = s.Source.StartScan(ctx, token, ids)
		return err
	})
	if err != nil {
		return err
	}
	for look := firstLook; scan.Going(); look = min(2*look, lastLook) {
		if err := s.Wait(ctx, look); err != nil {
			return err
		}
		err := s.ask(ctx, func(token string) (err error) {
			scan, err = s.Source.ScanStatus(ctx, token, scan.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !scan.Done() {
		return &FailedError{Status: scan.Status, Code: scan.Error.Code}
	}

	w := writer{run: run, log: s.Log}
	err = s.ask(ctx, func(token string) error {
		w.reset()
		return s.Source.ScanResult(ctx, token, scan.ID, func(ws *powerbi.Workspace) error { return w.add(ctx, ws) })
	})
	if err != nil {
		return err
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	// What was asked for and did not come, or not in full, is not known to be gone.
	var missing []string
	for _, asked := range ids {
		if id, ok := parseID(asked); ok && !w.seen[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	s.Log.WarnContext(ctx, "power bi left workspaces out of a scan", "workspaces", missing)
	return run.KeepWorkspaces(ctx, missing)
}

// A FailedError is a scan that Power BI ended without a result.
type FailedError struct{ Status, Code string }

func (e *FailedError) Error() string {
	return fmt.Sprintf("power bi ended a scan as %q %s", e.Status, e.Code)
}

func (s *Scanner) readApps(ctx context.Context, run *mirror.Run) error {
	var apps []powerbi.App
	err := s.ask(ctx, func(token string) (err error) {
		apps, err = s.Source.Apps(ctx, token)
		return err
	})
	if err != nil {
		return err
	}
	scanned := make([]mirror.App, 0, len(apps))
	for _, app := range apps {
		id, ok := parseID(app.ID)
		workspace, okWorkspace := parseID(app.WorkspaceID)
		if !ok || !okWorkspace {
			s.Log.WarnContext(ctx, "skipped an app without usable ids")
			continue
		}
		var users []powerbi.Access
		err := s.ask(ctx, func(token string) (err error) {
			users, err = s.Source.AppUsers(ctx, token, id)
			return err
		})
		if err != nil {
			return err
		}
		entries, unusable := accessEntries(users)
		run.SkipEntries(unusable)
		scanned = append(scanned, mirror.App{
			ID: id, Name: app.Name, Description: app.Description, WorkspaceID: workspace, Access: entries,
		})
	}
	return run.WriteApps(ctx, scanned)
}

// ask sends a request, again where Power BI throttles or fails on its side.
func (s *Scanner) ask(ctx context.Context, request func(token string) error) error {
	wait := 2 * time.Second
	for n := 1; ; n++ {
		token, err := s.Token(ctx)
		if err != nil {
			return fmt.Errorf("scanner's token: %w", err)
		}
		err = request(token)
		refused, ok := errors.AsType[*powerbi.Error](err)
		if err == nil || n == attempts || !ok || !refused.Throttled() && refused.Status < 500 {
			return err
		}
		s.Log.InfoContext(ctx, "asking power bi again", "status", refused.Status, "attempt", n)
		if err := s.Wait(ctx, max(wait, refused.RetryAfter)); err != nil {
			return err
		}
		wait *= 2
	}
}
