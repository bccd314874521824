// Package mirror writes the mirror of the tenant's metadata, which the worker
// alone may do, and keeps the record of each sync. Reading it back is package
// store's part.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// ErrRunning is returned when a sync begins while another one is going.
var ErrRunning = errors.New("a sync is running already")

// syncLock is the key of the advisory lock that a run holds. Its value means nothing.
const syncLock = 0x70626d62_0003

// A Kind says how much of the tenant a run reads.
type Kind string

const (
	Full        Kind = "full"        // everything: only after it is something gone
	Incremental Kind = "incremental" // the workspaces that changed
)

// A State says where a run stands.
type State string

const (
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
)

// A Record is the record of one run.
type Record struct {
	ID        int64
	Kind      Kind
	State     State
	StartedAt time.Time
	EndedAt   *time.Time
	Error     string // what a failed run ended with, without any value
	Counts    Counts
}

// Counts has what the mirror held at the end of a run, and how many entries
// of access lists it could not use.
type Counts struct {
	Datasets, Measures, Columns, UnusableEntries int
}

// A Workspace is a workspace with all that was read of it.
type Workspace struct {
	ID, Name, Description, Type string
	Datasets                    []Dataset
	Reports                     []Report
	Access                      []Entry
}

// A Dataset is a dataset with its tables, or with the reason why there
// are none: then what is known of it from before stays.
type Dataset struct {
	ID, Name, Description, ConfiguredBy        string
	Endorsement, SensitivityLabel, StorageMode string
	HasRowSecurity                             bool
	SchemaError                                string
	Tables                                     []knowledge.Table
	Roles                                      []knowledge.Role
	Access                                     []Entry
}

// A Report is a report. An app's copy has the app's id and its original's.
type Report struct {
	ID, Name, DatasetID, AppID, OriginalID string
}

// An App is an app with its audience.
type App struct {
	ID, Name, Description, WorkspaceID string
	Access                             []Entry
}

// An Entry gives a person or a group, by Entra object id, a right.
type Entry struct {
	ObjectID string // uuid
	Right    string // neither empty nor None
}

// A Writer writes the mirror of the tenant, as the worker.
type Writer struct {
	pool *pgxpool.Pool
}

// New returns a Writer over a pool of the role worker_rw.
func New(pool *pgxpool.Pool) *Writer { return &Writer{pool} }

// Last returns the newest run of a kind that is in a state; ok is false where
// there is none.
func (w *Writer) Last(ctx context.Context, kinds []Kind, states []State) (run Record, ok bool, err error) {
	return Last(ctx, w.pool, kinds, states)
}

// Last is [Writer.Last] for whoever may read sync_run.
func Last(ctx context.Context, conn db.DBTX, kinds []Kind, states []State) (run Record, ok bool, err error) {
	row, err := db.New(conn).LastSyncRun(ctx, db.LastSyncRunParams{Kinds: texts(kinds), States: texts(states)})
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("reading the last sync: %w", postgres.Translate(err))
	}
	return record(row), true, nil
}

// Await returns the newest full run that ended, well or not, at or after a time. It
// waits for one until the context ends.
func Await(ctx context.Context, conn db.DBTX, since time.Time) (Record, error) {
	const look = 100 * time.Millisecond
	for {
		row, err := db.New(conn).LastFullEnd(ctx)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return Record{}, fmt.Errorf("reading the last sync: %w", postgres.Translate(err))
		}
		if err == nil && !row.EndedAt.Before(since) {
			return record(db.LastSyncRunRow(row)), nil
		}
		select {
		case <-ctx.Done():
			return Record{}, fmt.Errorf("waiting for a sync: %w", context.Cause(ctx))
		case <-time.After(look):
		}
	}
}

func record(row db.LastSyncRunRow) Record {
	return Record{
		ID: row.ID, Kind: Kind(row.Kind), State: State(row.State),
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, Error: row.Error,
		Counts: Counts{int(row.Datasets), int(row.Measures), int(row.Columns), int(row.UnusableEntries)},
	}
}

func texts[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// A Run writes what one sync finds. Everything it writes carries the time at
// which it first began, so that after a complete run what carries an older one is
// gone. Its methods may be called by several goroutines at once.
type Run struct {
	id     int64
	kind   Kind
	at     time.Time
	since  time.Time
	listed bool

	mu    sync.Mutex // guards what follows: a connection serves one at a time
	conn  *pgxpool.Conn
	ended bool
}

// Kind says how much the run reads, which is more than was asked for where it
// goes on with a full one.
func (r *Run) Kind() Kind { return r.kind }

// Since is from when on an incremental run that was taken up asked for changes.
func (r *Run) Since() time.Time { return r.since }

// IsListed reports whether the workspaces are listed already, because the run
// goes on where it was left.
func (r *Run) IsListed() bool { return r.listed }

// mostAttempts is how often a run is taken up before another is begun in its place.
const mostAttempts = 10

// Begin starts a run, or goes on with the newest one where that did not end well
// and still can: an incremental run gives way to a full one that is unfinished. It
// returns [ErrRunning] while another process runs one. The caller ends it with
// [Run.Complete] or [Run.Fail].
func (w *Writer) Begin(ctx context.Context, kind Kind) (*Run, error) {
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("beginning a sync: %w", postgres.Translate(err))
	}
	r, err := begin(ctx, conn, kind)
	if err != nil {
		release(conn)
		return nil, fmt.Errorf("beginning a sync: %w", postgres.Translate(err))
	}
	return r, nil
}

func begin(ctx context.Context, conn *pgxpool.Conn, kind Kind) (*Run, error) {
	var locked bool
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", int64(syncLock)).Scan(&locked); err != nil {
		return nil, err
	}
	if !locked {
		return nil, ErrRunning
	}
	r := &Run{kind: kind, conn: conn}
	return r, r.tx(ctx, func(q *db.Queries) error {
		old, err := q.UnfinishedRun(ctx, db.UnfinishedRunParams{Kind: string(kind), Attempts: mostAttempts})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			if err := q.FailInterruptedRuns(ctx, 0); err != nil {
				return err
			}
			row, err := q.StartSyncRun(ctx, string(kind))
			if err != nil {
				return err
			}
			r.id, r.at = row.ID, row.StartedAt
			return q.DeleteChunks(ctx, r.id)
		case err != nil:
			return err
		}
		r.id, r.kind, r.at, r.listed = old.ID, Kind(old.Kind), old.StartedAt, true
		if old.Since != nil {
			r.since = *old.Since
		}
		if err := q.FailInterruptedRuns(ctx, r.id); err != nil {
			return err
		}
		return q.TakeUpRun(ctx, r.id)
	})
}

// release gives a connection back without the lock. A connection whose state is
// not known is closed, which frees its lock too.
func release(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "select pg_advisory_unlock_all()"); err != nil {
		conn.Conn().Close(ctx)
	}
	conn.Release()
}

// An Outcome is what a run that succeeded leaves.
type Outcome struct {
	Counts  Counts
	Changed []string // ids of the datasets whose schema is not what it was, or is new
}

// Complete ends a run that read all it set out to read: only now is what it did
// not see marked removed. After a full run that is everything, after an
// incremental one the elements of the datasets that it read.
func (r *Run) Complete(ctx context.Context) (Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var done Outcome
	err := r.tx(ctx, func(q *db.Queries) error {
		left, err := q.ChunksToDo(ctx, r.id)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("%d scans of the run are not read", len(left))
		}
		if err := r.keepWorkspaces(ctx, q); err != nil {
			return err
		}
		if err := r.removeUnseen(ctx, q); err != nil {
			return err
		}
		if done.Changed, err = q.ChangedDatasets(ctx, r.at); err != nil {
			return err
		}
		row, err := q.CountMirror(ctx)
		if err != nil {
			return err
		}
		unusable, err := q.UnusableEntries(ctx, r.id)
		if err != nil {
			return err
		}
		done.Counts = Counts{int(row.Datasets), int(row.Measures), int(row.Columns), int(unusable)}
		if err := q.DeleteChunks(ctx, 0); err != nil {
			return err
		}
		return r.end(ctx, q, Succeeded, nil, done.Counts)
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("completing a sync: %w", err)
	}
	r.close()
	return done, nil
}

// Fail ends a run that did not read everything: nothing is marked removed, and the
// next one may go on with it. It does nothing to a run that has ended.
func (r *Run) Fail(ctx context.Context, cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	defer r.close()
	// The parameters of a query are not in a translated error's text.
	text := postgres.Translate(cause).Error()
	err := r.tx(ctx, func(q *db.Queries) error { return r.end(ctx, q, Failed, &text, Counts{}) })
	if err != nil {
		return fmt.Errorf("recording a failed sync: %w", err)
	}
	return nil
}

func (r *Run) end(ctx context.Context, q *db.Queries, state State, text *string, c Counts) error {
	return q.EndSyncRun(ctx, db.EndSyncRunParams{
		ID: r.id, State: string(state), Error: text,
		Datasets: int32(c.Datasets), Measures: int32(c.Measures), Columns: int32(c.Columns),
	})
}

func (r *Run) close() {
	if !r.ended {
		r.ended = true
		release(r.conn)
	}
}

func (r *Run) tx(ctx context.Context, f func(*db.Queries) error) error {
	if r.ended {
		return errors.New("the run has ended")
	}
	return postgres.Tx(ctx, r.conn, func(tx pgx.Tx) error { return f(db.New(tx)) })
}
