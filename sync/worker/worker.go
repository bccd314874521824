package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/pbmb/pbmb/internal/ratelimit"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/scan"
)

// NewWorker returns the runner of the worker process, which starts with a full
// sync and a clean-up. scanner's Mirror is over pool, of the role worker_rw.
func NewWorker(pool *pgxpool.Pool, scanner *scan.Scanner, checks Checks, check func(context.Context) error, log *slog.Logger) (*Runner, error) {
	reg := NewRegistry()
	var r *Runner
	err := errors.Join(
		Register(reg, QueueWorker, func(ctx context.Context, args SyncArgs) error {
			read := scanner.Incremental
			if args.Full {
				read = scanner.Full
			}
			done, err := read(ctx)
			if errors.Is(err, mirror.ErrRunning) {
				return river.JobSnooze(time.Minute) // one that was not queued, such as an operator's
			}
			if err != nil {
				return err
			}
			log.InfoContext(ctx, "synced the tenant", "full", args.Full,
				"datasets", done.Counts.Datasets, "measures", done.Counts.Measures, "columns", done.Counts.Columns,
				"unusable_entries", done.Counts.UnusableEntries, "changed", len(done.Changed))
			// What the scanner does not give is read by the api, under people's tokens.
			jobs := make([]river.JobArgs, len(done.Changed))
			for i, id := range done.Changed {
				jobs[i] = ReadModelArgs{DatasetID: id}
			}
			return r.Queue(ctx, jobs...)
		}),
		Register(reg, QueueWorker, func(ctx context.Context, _ CheckArgs) error { return checks.Run(ctx) }),
		Register(reg, QueueWorker, func(ctx context.Context, _ CleanUpArgs) error {
			n, err := ratelimit.DeleteOld(ctx, pool, time.Now())
			if err == nil {
				log.InfoContext(ctx, "cleaned up", "rate_counts", n)
			}
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	r, err = NewRunner(Options{
		Queue: QueueWorker, Pool: pool, Registry: reg, Log: log, Check: check,
		First: []river.JobArgs{SyncArgs{Full: true}, CleanUpArgs{}},
	})
	return r, err
}

// A Models reads models under people's tokens.
type Models interface {
	// ReadAsAnybody reads one dataset as whoever may.
	ReadAsAnybody(ctx context.Context, datasetID string) error
}

// InUse lists the datasets that somebody queried since a time and that nobody has
// read since another.
type InUse interface {
	InUse(ctx context.Context, queriedSince, notReadSince time.Time) ([]string, error)
}

// ErrStaleIdentity is returned by a [Rekeyer] whose process has not restarted since
// its identity was rotated.
var ErrStaleIdentity = errors.New("this process has not restarted since its identity was rotated")

// A Rekeyer seals people's tokens anew.
type Rekeyer interface {
	// RekeyTokens seals every token for the identity that this process holds in
	// memory, which must be the one that is published, or returns [ErrStaleIdentity].
	RekeyTokens(context.Context) error
}

// A Renewer keeps people's connections from lapsing.
type Renewer interface {
	// RefreshIdle renews the connections that nobody used for a while.
	RefreshIdle(context.Context) (renewed int, err error)
}

// APIJobs is what the jobs of the api do.
type APIJobs struct {
	Models      Models
	Used        InUse
	Rekeyer     Rekeyer
	Connections Renewer
	Checks      Checks
}

// staleWait is after how long a process that is newer may take up what one that has
// not restarted refused.
const staleWait = 10 * time.Second

// NewAPI returns the runner of the api process. pool is of the role api_rw.
func NewAPI(pool *pgxpool.Pool, do APIJobs, check func(context.Context) error, log *slog.Logger) (*Runner, error) {
	reg := NewRegistry()
	var r *Runner
	err := errors.Join(
		Register(reg, QueueAPI, func(ctx context.Context, args ReadModelArgs) error {
			return do.Models.ReadAsAnybody(ctx, args.DatasetID)
		}),
		Register(reg, QueueAPI, func(ctx context.Context, _ ReadModelsArgs) error {
			const day = 24 * time.Hour
			now := time.Now()
			ids, err := do.Used.InUse(ctx, now.Add(-30*day), now.Add(-day/2))
			if err != nil {
				return err
			}
			jobs := make([]river.JobArgs, len(ids))
			for i, id := range ids {
				jobs[i] = ReadModelArgs{DatasetID: id}
			}
			return r.Queue(ctx, jobs...)
		}),
		Register(reg, QueueAPI, func(ctx context.Context, _ RekeyTokensArgs) error {
			err := do.Rekeyer.RekeyTokens(ctx)
			if errors.Is(err, ErrStaleIdentity) {
				log.WarnContext(ctx, "the api's identity was rotated: restart the api")
				return river.JobSnooze(staleWait)
			}
			return err
		}),
		Register(reg, QueueAPI, func(ctx context.Context, _ CheckArgs) error { return checkAll(ctx, pool, do.Checks, log) }),
		Register(reg, QueueAPI, func(ctx context.Context, _ RefreshIdleArgs) error {
			n, err := do.Connections.RefreshIdle(ctx)
			if n > 0 {
				log.InfoContext(ctx, "renewed idle connections", "connections", n)
			}
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	r, err = NewRunner(Options{
		Queue: QueueAPI, Pool: pool, Registry: reg, Log: log, Check: check,
		First: []river.JobArgs{RekeyTokensArgs{}},
	})
	return r, err
}
