package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// Interrupted is the state of a run that nobody goes on with, though no process
// wrote that it ended. No row has it.
const Interrupted State = "interrupted"

// A Progress is a run with how far it is.
type Progress struct {
	Record
	Attempts       int // how often it was begun or taken up
	Workspaces     int // that Power BI listed
	WorkspacesDone int
	LeftOut        int // listed workspaces that a scan left out
	Skipped        int // things that could not be read or told apart

	WaitingUntil *time.Time
	WaitingFor   string
}

// Runs returns the newest runs, the newest first, for whoever may read sync_run.
func Runs(ctx context.Context, conn db.DBTX, most int) ([]Progress, error) {
	rows, err := db.New(conn).SyncRuns(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("reading the syncs: %w", postgres.Translate(err))
	}
	isHeld, err := isLocked(ctx, conn)
	if err != nil {
		return nil, err
	}
	runs := make([]Progress, len(rows))
	for i, row := range rows {
		runs[i] = Progress{
			Record: record(db.LastSyncRunRow{
				ID: row.ID, Kind: row.Kind, State: row.State, StartedAt: row.StartedAt, EndedAt: row.EndedAt, Error: row.Error,
				Datasets: row.Datasets, Measures: row.Measures, Columns: row.Columns, UnusableEntries: row.UnusableEntries,
			}),
			Attempts: int(row.Attempts), Workspaces: int(row.Workspaces), WorkspacesDone: int(row.WorkspacesDone),
			LeftOut: int(row.LeftOut), Skipped: int(row.Skipped), WaitingUntil: row.WaitingUntil, WaitingFor: row.WaitingFor,
		}
		if runs[i].State == Running && !isHeld {
			runs[i].State = Interrupted
		}
	}
	return runs, nil
}

// isLocked reports whether a process runs a sync.
func isLocked(ctx context.Context, conn db.DBTX) (held bool, err error) {
	err = conn.QueryRow(ctx, `
		select exists (
			select from pg_locks l join pg_database d on d.oid = l.database
			where l.locktype = 'advisory' and l.granted and d.datname = current_database() and l.objsubid = 1
				and l.classid::bigint = $1::bigint >> 32 and l.objid::bigint = $1::bigint & 4294967295)`, int64(syncLock)).Scan(&held)
	if err != nil {
		return false, fmt.Errorf("looking for a sync that runs: %w", postgres.Translate(err))
	}
	return held, nil
}

// LastSuccess returns as of when the mirror has what runs of some kinds read: when
// the newest of them that succeeded began. ok is false where none did.
func LastSuccess(ctx context.Context, conn db.DBTX, kinds ...Kind) (at time.Time, ok bool, err error) {
	at, err = db.New(conn).LastSuccess(ctx, texts(kinds))
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("reading the last sync: %w", postgres.Translate(err))
	}
	return at, true, nil
}

// Holes counts the datasets without a schema, by the reason that is stored.
func Holes(ctx context.Context, conn db.DBTX) (map[string]int, error) {
	rows, err := db.New(conn).HolesByReason(ctx)
	if err != nil {
		return nil, fmt.Errorf("counting datasets without a schema: %w", postgres.Translate(err))
	}
	holes := map[string]int{}
	for _, row := range rows {
		holes[row.SchemaError] = int(row.Datasets)
	}
	return holes, nil
}
