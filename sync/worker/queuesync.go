package worker

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/pbmb/pbmb/internal/postgres"
)

// QueueSync queues a sync as a part of tx. Where an equal one has yet to end it
// queues none: isRunning says whether that one runs, and one that waits to be tried
// again is tried now.
func QueueSync(ctx context.Context, tx pgx.Tx, full bool) (isNew, isRunning bool, err error) {
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{})
	if err != nil {
		return false, false, fmt.Errorf("queuing a sync: %w", err)
	}
	res, err := client.InsertTx(ctx, tx, SyncArgs{Full: full}, nil)
	if err != nil {
		return false, false, fmt.Errorf("queuing a sync: %w", postgres.Translate(err))
	}
	if !res.UniqueSkippedAsDuplicate {
		return true, false, nil
	}
	switch res.Job.State {
	case rivertype.JobStateRunning:
		return false, true, nil
	case rivertype.JobStateRetryable, rivertype.JobStateScheduled:
		if _, err := client.JobRetryTx(ctx, tx, res.Job.ID); err != nil {
			return false, false, fmt.Errorf("queuing a sync: %w", postgres.Translate(err))
		}
		return true, false, nil
	}
	return false, false, nil
}
