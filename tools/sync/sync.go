// Package sync has the operations on how the tenant is mirrored: they show how far
// that is, and start it.
package sync

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store knows the syncs and queues them.
type Store interface {
	// SyncRuns returns the newest runs, the newest first.
	SyncRuns(ctx context.Context, most int) ([]Run, error)

	// SyncHoles counts the datasets without a schema, by reason.
	SyncHoles(context.Context) ([]Hole, error)

	// MaySeeErrors reports whether somebody may read why a run failed.
	MaySeeErrors(context.Context, *policies.Principal) (bool, error)

	// QueueSync has a sync run, and audits that in the same transaction.
	QueueSync(ctx context.Context, by *policies.Principal, full bool) (Queued, error)
}

// A Queued says what became of a sync that was asked for.
type Queued string

const (
	New     Queued = "queued"  // it runs as soon as the worker is free
	Waiting Queued = "waiting" // one like it is queued already
	Going   Queued = "running" // one like it runs already
)

// Operations returns every operation on syncs.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{Status(s), Start(s)}
}

// A Run is a sync as callers see it.
type Run struct {
	Kind            string    `json:"kind" doc:"full: everything; incremental: the workspaces that changed"`
	State           string    `json:"state" doc:"running, succeeded, failed, or interrupted where the worker died and has not gone on yet"`
	StartedAt       time.Time `json:"started_at" doc:"When it first began"`
	EndedAt         time.Time `json:"ended_at,omitzero" doc:"When it ended"`
	Workspaces      int       `json:"workspaces" doc:"How many workspaces Power BI listed"`
	WorkspacesDone  int       `json:"workspaces_done" doc:"How many of them are read"`
	WaitingUntil    time.Time `json:"waiting_until,omitzero" doc:"When Power BI takes the next call, where it waits for that"`
	WaitingFor      string    `json:"waiting_for,omitempty" doc:"Why it waits"`
	Attempts        int       `json:"attempts" doc:"How often it was begun or taken up where it was left"`
	Datasets        int       `json:"datasets,omitempty" doc:"Datasets that there were at its end"`
	Measures        int       `json:"measures,omitempty" doc:"Measures that there were at its end"`
	Columns         int       `json:"columns,omitempty" doc:"Columns that there were at its end"`
	LeftOut         int       `json:"left_out,omitempty" doc:"Workspaces that Power BI listed and gave nothing of: they stay as they were"`
	Skipped         int       `json:"skipped,omitempty" doc:"Things that could not be read, or whose names another has too"`
	UnusableEntries int       `json:"unusable_entries,omitempty" doc:"Entries of access lists without a right or a holder that is known: they give nobody anything"`
	Error           string    `json:"error,omitempty" doc:"Why it failed and what to do, for who may manage settings"`
}

// A Hole is a reason why Power BI gives no schema.
type Hole struct {
	Reason   string `json:"reason" doc:"Why Power BI gave no tables of them"`
	Datasets int    `json:"datasets" doc:"How many datasets"`
}
