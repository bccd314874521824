package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// A Chunk is what one scan of Power BI's reads of a run.
type Chunk struct {
	Number     int
	Workspaces []string
	ScanID     string // of a scan that was started for it before; empty where none was
}

// A Tally counts what a run could not take as it came.
type Tally struct {
	Unusable int // entries of access lists without a right or a holder that is known
	Skipped  int // things that could not be read or told apart
}

// List keeps which workspaces the run is about, in chunks, and from when on
// changes were asked for; zero means everything.
func (r *Run) List(ctx context.Context, since time.Time, chunks [][]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.tx(ctx, func(q *db.Queries) error {
		listed := db.SetListedParams{ID: r.id}
		if !since.IsZero() {
			listed.Since = &since
		}
		for i, ids := range chunks {
			listed.Workspaces += int32(len(ids))
			if err := q.InsertChunk(ctx, db.InsertChunkParams{RunID: r.id, Number: int32(i + 1), Workspaces: ids}); err != nil {
				return err
			}
		}
		return q.SetListed(ctx, listed)
	})
	if err != nil {
		return fmt.Errorf("keeping the list of workspaces: %w", err)
	}
	r.since, r.listed = since, true
	return nil
}

// ToDo returns the chunks that are not written yet.
func (r *Run) ToDo(ctx context.Context) (chunks []Chunk, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.tx(ctx, func(q *db.Queries) error {
		rows, err := q.ChunksToDo(ctx, r.id)
		for _, row := range rows {
			chunks = append(chunks, Chunk{int(row.Number), row.Workspaces, row.ScanID})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading what is left of a sync: %w", err)
	}
	return chunks, nil
}

// SetScan keeps which scan reads a chunk; empty means none any more.
func (r *Run) SetScan(ctx context.Context, chunk int, scanID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.tx(ctx, func(q *db.Queries) error {
		return q.SetScan(ctx, db.SetScanParams{RunID: r.id, Number: int32(chunk), ScanID: scanID})
	})
	if err != nil {
		return fmt.Errorf("keeping the id of a scan: %w", err)
	}
	return nil
}

// FinishChunk has a chunk count as written, which it then stays whatever happens
// to the process. What is known of the workspaces leftOut, which did not come, and
// partly, of which something could not be read, counts as seen.
func (r *Run) FinishChunk(ctx context.Context, c Chunk, t Tally, leftOut, partly []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := append(append([]string{}, leftOut...), partly...)
	err := r.tx(ctx, func(q *db.Queries) error {
		n, err := q.FinishChunk(ctx, db.FinishChunkParams{RunID: r.id, Number: int32(c.Number), Kept: kept})
		if err != nil || n == 0 {
			return err
		}
		return q.AddTally(ctx, db.AddTallyParams{
			ID: r.id, Done: int32(len(c.Workspaces)), LeftOut: int32(len(leftOut)), Skipped: int32(t.Skipped), Unusable: int32(t.Unusable),
		})
	})
	if err != nil {
		return fmt.Errorf("finishing a part of a sync: %w", err)
	}
	return nil
}

// Waiting keeps that the run waits until a time, and what for; a zero time means
// that it goes on.
func (r *Run) Waiting(ctx context.Context, until time.Time, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := db.SetWaitingParams{ID: r.id, What: what}
	if !until.IsZero() {
		p.Until = &until
	}
	err := r.tx(ctx, func(q *db.Queries) error { return q.SetWaiting(ctx, p) })
	if err != nil {
		return fmt.Errorf("keeping what a sync waits for: %w", err)
	}
	return nil
}

// AppsRead returns the ids of the apps that the run has written.
func (r *Run) AppsRead(ctx context.Context) (ids map[string]bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids = map[string]bool{}
	err = r.tx(ctx, func(q *db.Queries) error {
		rows, err := q.AppsSeenAt(ctx, r.at)
		for _, id := range rows {
			ids[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which apps are read: %w", err)
	}
	return ids, nil
}

// keepWorkspaces has what is known of workspaces that did not come, or not in
// full, count as seen, unless it was seen elsewhere: Power BI listed them without
// saying what is in them.
func (r *Run) keepWorkspaces(ctx context.Context, q *db.Queries) error {
	ids, err := q.KeptWorkspaces(ctx, r.id)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := q.KeepWorkspaces(ctx, db.KeepWorkspacesParams{SeenAt: r.at, Ids: ids}); err != nil {
		return err
	}
	if err := q.KeepDatasets(ctx, db.KeepDatasetsParams{SeenAt: r.at, WorkspaceIds: ids}); err != nil {
		return err
	}
	return q.KeepReports(ctx, db.KeepReportsParams{SeenAt: r.at, WorkspaceIds: ids})
}

// callLock is the key of the advisory lock under which calls are counted.
const callLock = 0x70626d62_0014

// TakeCall counts a call to the admin API where fewer than limit of its kind were
// made within the last hour, by this process or one before it. Otherwise it counts
// nothing and returns after how long the next may be.
func (w *Writer) TakeCall(ctx context.Context, kind string, limit int) (wait time.Duration, err error) {
	err = postgres.Tx(ctx, w.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockCalls(ctx, callLock); err != nil {
			return err
		}
		if err := q.ForgetCalls(ctx); err != nil {
			return err
		}
		row, err := q.CountCalls(ctx, kind)
		if err != nil {
			return err
		}
		if int(row.Calls) >= limit {
			wait = time.Duration(max(row.Seconds, 0)*float64(time.Second)) + time.Second
			return nil
		}
		return q.InsertCall(ctx, kind)
	})
	if err != nil {
		return 0, fmt.Errorf("counting a call to power bi: %w", err)
	}
	return wait, nil
}
