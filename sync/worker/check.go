package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/waitingjob"
)

// Checks makes the checks of one container and keeps how each ended.
type Checks interface {
	Run(context.Context) error
}

// QueueCheckIn has a container make its checks after tx has committed. A run that
// is under way is not enough: what is to be checked may have changed since it began.
func QueueCheckIn(ctx context.Context, tx pgx.Tx, q Queue) error {
	return waitingjob.Queue(ctx, tx, waitingjob.Job{Kind: CheckArgs{}.Kind(), Queue: string(q), Args: "{}"})
}

// Checking returns, for each container that has checks before it, when the last of
// those was asked for: what was kept before then is to be checked again.
func Checking(ctx context.Context, pool *pgxpool.Pool) (map[Queue]time.Time, error) {
	rows, err := pool.Query(ctx, `
		select queue, max(created_at) from river_job
		where kind = $1 and state in ('available', 'pending', 'retryable', 'running', 'scheduled') group by queue`, CheckArgs{}.Kind())
	if err != nil {
		return nil, fmt.Errorf("looking for checks under way: %w", postgres.Translate(err))
	}
	asked := map[Queue]time.Time{}
	var queue Queue
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&queue, &at}, func() error { asked[queue] = at; return nil })
	if err != nil {
		return nil, fmt.Errorf("looking for checks under way: %w", postgres.Translate(err))
	}
	return asked, nil
}

// workerTime is how long the api waits for the worker's checks. Where the worker
// does not run, its checks stay to be done until it does.
const workerTime = time.Minute

// checkAll makes the api's checks, and has the worker make its own meanwhile, which
// take a secret that the api cannot open (JOBS-05).
func checkAll(ctx context.Context, pool *pgxpool.Pool, own Checks, log *slog.Logger) error {
	err := postgres.Tx(ctx, pool, func(tx pgx.Tx) error { return QueueCheckIn(ctx, tx, QueueWorker) })
	if err != nil {
		return err
	}
	if err := own.Run(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, workerTime, errWorker)
	defer cancel()
	for {
		asked, err := Checking(within, pool)
		switch {
		case errors.Is(context.Cause(within), errWorker):
			log.WarnContext(ctx, "the worker has not made its checks: does it run?")
			return nil
		case err != nil || asked[QueueWorker].IsZero():
			return err
		}
		select {
		case <-within.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

var errWorker = errors.New("the worker has not made its checks")
