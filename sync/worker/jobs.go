package worker

import (
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/pbmb/pbmb/sync/scan"
)

// A Queue is one container's queue: only that container takes jobs from it.
type Queue string

const (
	QueueAPI    Queue = "api"
	QueueWorker Queue = "worker"
)

// SyncArgs are those of a job that reads the tenant into the mirror.
type SyncArgs struct {
	Full bool `json:"full" river:"unique"` // everything, or what changed
}

// Kind is the job's name.
func (SyncArgs) Kind() string { return "sync" }

// InsertOpts has the job wait in the worker's queue, once.
func (SyncArgs) InsertOpts() river.InsertOpts { return once(QueueWorker, 5) }

// CleanUpArgs are those of a job that deletes what nothing counts any more.
type CleanUpArgs struct{}

// Kind is the job's name.
func (CleanUpArgs) Kind() string { return "clean_up" }

// InsertOpts has the job wait in the worker's queue, once.
func (CleanUpArgs) InsertOpts() river.InsertOpts { return once(QueueWorker, 5) }

// ReadModelArgs are those of a job that reads one model under somebody's token.
type ReadModelArgs struct {
	DatasetID string `json:"dataset_id" river:"unique"`
}

// Kind is the job's name.
func (ReadModelArgs) Kind() string { return "read_model" }

// InsertOpts has the job wait in the api's queue, once for each dataset.
func (ReadModelArgs) InsertOpts() river.InsertOpts { return once(QueueAPI, 5) }

// ReadModelsArgs are those of a job that queues a read for each model in use.
type ReadModelsArgs struct{}

// Kind is the job's name.
func (ReadModelsArgs) Kind() string { return "read_models" }

// InsertOpts has the job wait in the api's queue, once.
func (ReadModelsArgs) InsertOpts() river.InsertOpts { return once(QueueAPI, 5) }

// RekeyTokensArgs are those of a job that seals people's tokens for the api's newest
// identity.
type RekeyTokensArgs struct{}

// Kind is the job's name.
func (RekeyTokensArgs) Kind() string { return "rekey_tokens" }

// InsertOpts has the job wait in the api's queue, once.
func (RekeyTokensArgs) InsertOpts() river.InsertOpts { return once(QueueAPI, 5) }

// CheckArgs are those of a job that checks whether the deployment can do what it is
// for. Each container has a handler of its own, for its own checks.
type CheckArgs struct{}

// Kind is the job's name.
func (CheckArgs) Kind() string { return "check" }

// InsertOpts has the job wait in the api's queue, once. The worker's is queued by
// the api's.
func (CheckArgs) InsertOpts() river.InsertOpts { return once(QueueAPI, 1) }

// RefreshIdleArgs are those of a job that renews people's connections that nobody
// used for a while, so that they do not lapse.
type RefreshIdleArgs struct{}

// Kind is the job's name.
func (RefreshIdleArgs) Kind() string { return "refresh_idle_connections" }

// InsertOpts has the job wait in the api's queue, once.
func (RefreshIdleArgs) InsertOpts() river.InsertOpts { return once(QueueAPI, 5) }

// once lets a job be queued only while no equal one has yet to end.
func once(q Queue, attempts int) river.InsertOpts {
	return river.InsertOpts{
		Queue:       string(q),
		MaxAttempts: attempts,
		UniqueOpts: river.UniqueOpts{
			ByArgs:  true,
			ByQueue: true,
			ByState: []rivertype.JobState{
				rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
				rivertype.JobStateRetryable, rivertype.JobStateScheduled,
			},
		},
	}
}

// schedule has what is queued by itself.
func schedule() []*river.PeriodicJob {
	every := func(d time.Duration, args river.JobArgs) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(d), func() (river.JobArgs, *river.InsertOpts) { return args, nil }, nil)
	}
	return []*river.PeriodicJob{
		every(scan.FullEvery, SyncArgs{Full: true}),
		every(scan.IncrementalEvery, SyncArgs{}),
		every(24*time.Hour, ReadModelsArgs{}),
		every(time.Hour, CleanUpArgs{}),
		every(time.Hour, CheckArgs{}),
		every(6*time.Hour, RefreshIdleArgs{}),
	}
}
