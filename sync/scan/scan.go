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

// How often each kind of run is due.
const (
	FullEvery        = 24 * time.Hour
	IncrementalEvery = time.Hour
)

const (
	// Power BI allows 16 scans at once for all who scan the tenant. One that a
	// process left behind goes on, and is taken up by the next.
	atOnce = 4

	// The first look at a scan comes soon, for a small one is done in a second.
	firstLook = time.Second
	lastLook  = 30 * time.Second

	// How often a request is sent again that Power BI throttled or that failed
	// on its side, and how often a scan is started anew that failed or expired.
	attempts = 5
	scans    = 3

	// Elements that are gathered before they are written in one transaction, and
	// apps, of which each takes a call of its own.
	batch     = 20_000
	appsAtOne = 50
)

// A call is a kind of call to the admin API, with how many of it Power BI allows
// in an hour. There is none for looking at a scan: of the 10,000 that are allowed
// the waits between two looks leave far less.
type call struct {
	kind  string
	limit int
}

var (
	modifiedCall = call{"workspaces/modified", 30}
	startCall    = call{"workspaces/getInfo", 500}
	statusCall   = call{}
	resultCall   = call{"workspaces/scanResult", 500}
	appsCall     = call{"apps", 200}
	usersCall    = call{"apps/users", 200}
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

// Full reads everything, or goes on with what a full run left unread.
func (s *Scanner) Full(ctx context.Context) (mirror.Outcome, error) {
	return s.run(ctx, mirror.Full, time.Time{})
}

// Incremental reads the workspaces that changed since the last run that
// succeeded, or everything where Power BI does not look back that far. A run that
// was left unfinished is gone on with instead, a full one too.
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
		if failed := run.Fail(context.WithoutCancel(ctx), explain(ctx, err)); failed != nil {
			err = errors.Join(err, failed)
		}
		return mirror.Outcome{}, fmt.Errorf("%s sync: %w", run.Kind(), err)
	}
	return done, nil
}

func (s *Scanner) read(ctx context.Context, run *mirror.Run, since time.Time) error {
	if run.IsListed() {
		s.Log.InfoContext(ctx, "going on with a sync that was left unfinished", "kind", run.Kind())
	} else if err := s.list(ctx, run, since); err != nil {
		return err
	}
	chunks, err := run.ToDo(ctx)
	if err != nil {
		return err
	}
	g, scanning := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	failures := make([]error, len(chunks))
	for i, chunk := range chunks {
		g.Go(func() error {
			err := s.readChunk(scanning, run, chunk)
			// What is wrong with some workspaces does not keep the others from being read.
			if _, failed := errors.AsType[*FailedError](err); failed || errors.Is(err, powerbi.ErrShape) {
				failures[i] = err
				return nil
			}
			return err
		})
	}
	if err := errors.Join(g.Wait(), errors.Join(failures...)); err != nil {
		return err
	}
	if run.Kind() == mirror.Incremental {
		return nil // audiences of apps are read by full runs
	}
	return s.readApps(ctx, run)
}

// list has Power BI list the workspaces, and keeps them in chunks.
func (s *Scanner) list(ctx context.Context, run *mirror.Run, since time.Time) error {
	var listed []string
	err := s.ask(ctx, run, modifiedCall, func(token string) (err error) {
		listed, err = s.Source.ModifiedWorkspaces(ctx, token, since)
		return err
	})
	if err != nil {
		return err
	}
	var ids []string
	seen := map[string]bool{}
	for _, text := range listed {
		id, ok := parseID(text)
		if !ok {
			// Without it nobody could say what is missing from a list.
			return fmt.Errorf("listing workspaces: one has no usable id: %w", powerbi.ErrShape)
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return run.List(ctx, since, slices.Collect(slices.Chunk(ids, powerbi.MaxScan)))
}

// readChunk reads some workspaces, by a scan that was started before where there
// is one. A scan that failed, expired or cannot be read is started anew.
func (s *Scanner) readChunk(ctx context.Context, run *mirror.Run, c mirror.Chunk) error {
	for n := 1; ; n++ {
		err := s.scanChunk(ctx, run, c)
		_, failed := errors.AsType[*FailedError](err)
		again := failed || powerbi.Expired(err) || errors.Is(err, powerbi.ErrShape)
		if !again {
			return err
		}
		c.ScanID = ""
		if kept := run.SetScan(ctx, c.Number, ""); kept != nil {
			return errors.Join(err, kept)
		}
		if n == scans {
			return err
		}
		s.Log.WarnContext(ctx, "starting a scan again", "chunk", c.Number, "error", err)
	}
}

// scanChunk has Power BI scan some workspaces and writes them as they come.
func (s *Scanner) scanChunk(ctx context.Context, run *mirror.Run, c mirror.Chunk) error {
	scan := powerbi.Scan{ID: c.ScanID, Status: "Running"}
	look := time.Duration(0) // one that was started earlier may be done
	if c.ScanID == "" {
		err := s.ask(ctx, run, startCall, func(token string) (err error) {
			scan, err = s.Source.StartScan(ctx, token, c.Workspaces)
			return err
		})
		if err != nil {
			return err
		}
		if err := run.SetScan(ctx, c.Number, scan.ID); err != nil {
			return err
		}
		look = firstLook
	}
	for ; scan.Going(); look = max(firstLook, min(2*look, lastLook)) {
		if look > 0 {
			if err := s.Wait(ctx, look); err != nil {
				return err
			}
		}
		err := s.ask(ctx, run, statusCall, func(token string) (err error) {
			scan, err = s.Source.ScanStatus(ctx, token, scan.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !scan.Done() {
		return &FailedError{Status: scan.Status, Code: scan.Error.Code, Workspaces: len(c.Workspaces)}
	}

	w := writer{run: run, log: s.Log}
	err := s.ask(ctx, run, resultCall, func(token string) error {
		w.reset()
		return s.Source.ScanResult(ctx, token, scan.ID, func(ws *powerbi.Workspace) error { return w.add(ctx, ws) })
	})
	if errors.Is(err, powerbi.ErrUnreachable) {
		// Whoever goes on has another scan, for this one's result may itself be cut off.
		err = errors.Join(err, run.SetScan(ctx, c.Number, ""))
	}
	if err != nil {
		return err
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	// What was asked for and did not come, or not in full, is not known to be gone.
	var leftOut []string
	for _, id := range c.Workspaces {
		if !w.seen[id] {
			leftOut = append(leftOut, id)
		}
	}
	if len(leftOut) > 0 {
		s.Log.WarnContext(ctx, "power bi left workspaces out of a scan", "workspaces", leftOut)
	}
	return run.FinishChunk(ctx, c, w.tally, leftOut, w.partly)
}

func (s *Scanner) readApps(ctx context.Context, run *mirror.Run) error {
	var apps []powerbi.App
	err := s.ask(ctx, run, appsCall, func(token string) (err error) {
		apps, err = s.Source.Apps(ctx, token)
		return err
	})
	if err != nil {
		return err
	}
	read, err := run.AppsRead(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(apps, appsAtOne) {
		if err := s.readSomeApps(ctx, run, some, read); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scanner) readSomeApps(ctx context.Context, run *mirror.Run, apps []powerbi.App, read map[string]bool) error {
	var scanned []mirror.App
	var tally mirror.Tally
	for _, app := range apps {
		id, ok := parseID(app.ID)
		workspace, okWorkspace := parseID(app.WorkspaceID)
		if !ok || !okWorkspace {
			s.Log.WarnContext(ctx, "skipped an app without usable ids")
			tally.Skipped++
			continue
		}
		if read[id] {
			continue
		}
		var users []powerbi.Access
		err := s.ask(ctx, run, usersCall, func(token string) (err error) {
			users, err = s.Source.AppUsers(ctx, token, id)
			return err
		})
		if powerbi.Expired(err) {
			continue // gone since it was listed: not seen
		}
		if err != nil {
			return err
		}
		entries, unusable := accessEntries(users, artifactRight)
		tally.Unusable += unusable
		scanned = append(scanned, mirror.App{
			ID: id, Name: app.Name, Description: app.Description, WorkspaceID: workspace, Access: entries,
		})
	}
	return run.WriteApps(ctx, scanned, tally)
}
