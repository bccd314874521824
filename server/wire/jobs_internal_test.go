package wire

import (
	"context"
	"log/slog"
	"testing"

	"github.com/riverqueue/river"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/sync/worker"
)

// A process that is told to end before its jobs have begun ends without an error,
// and one whose jobs cannot begin says so.
func TestJobsEndBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	newRunner := func(db *postgrestest.Database, first ...river.JobArgs) *worker.Runner {
		r, err := worker.NewRunner(worker.Options{
			Queue: worker.QueueWorker, Pool: db.Worker(), Registry: worker.NewRegistry(), First: first, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := runJobs(ended, newRunner(postgrestest.New(t), worker.CleanUpArgs{})); err != nil {
		t.Errorf("told to end at once: %v", err)
	}
	broken := postgrestest.New(t)
	broken.Exec("drop table river_job cascade")
	if err := runJobs(t.Context(), newRunner(broken, worker.CleanUpArgs{})); err == nil {
		t.Error("without its tables it ends without an error")
	}
}
