package wire

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/sync/scan"
	"github.com/pbmb/pbmb/sync/worker"
	synctool "github.com/pbmb/pbmb/tools/sync"
)

// syncs shows and queues syncs for the operations on them.
type syncs struct {
	pool    *pgxpool.Pool
	decider policies.Decider
}

func (s syncs) SyncRuns(ctx context.Context, most int) ([]synctool.Run, error) {
	runs, err := mirror.Runs(ctx, s.pool, most)
	list := make([]synctool.Run, len(runs))
	for i, r := range runs {
		list[i] = synctool.Run{
			Kind: string(r.Kind), State: string(r.State), StartedAt: r.StartedAt.UTC(), Attempts: r.Attempts,
			EndedAt: moment(r.EndedAt), Workspaces: r.Workspaces, WorkspacesDone: r.WorkspacesDone,
			Datasets: r.Counts.Datasets, Measures: r.Counts.Measures, Columns: r.Counts.Columns, UnusableEntries: r.Counts.UnusableEntries,
			LeftOut: r.LeftOut, Skipped: r.Skipped, WaitingUntil: moment(r.WaitingUntil), WaitingFor: r.WaitingFor, Error: r.Error,
		}
		if r.State == mirror.Interrupted {
			list[i].WaitingUntil, list[i].WaitingFor = time.Time{}, ""
		}
	}
	return list, err
}

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// SyncHoles tells reasons by kind: Power BI's own sentences may name a dataset.
func (s syncs) SyncHoles(ctx context.Context) ([]synctool.Hole, error) {
	holes, err := mirror.Holes(ctx, s.pool)
	byReason := map[string]int{}
	for reason, n := range holes {
		byReason[scan.KindOfHole(reason)] += n
	}
	var list []synctool.Hole
	for reason, n := range byReason {
		list = append(list, synctool.Hole{Reason: reason, Datasets: n})
	}
	slices.SortFunc(list, func(a, b synctool.Hole) int {
		return cmp.Or(b.Datasets-a.Datasets, strings.Compare(a.Reason, b.Reason))
	})
	return list, err
}

func (s syncs) MaySeeErrors(ctx context.Context, p *policies.Principal) (bool, error) {
	return s.decider.Allowed(ctx, p, policies.ManageSettings, policies.Admin)
}

func (s syncs) QueueSync(ctx context.Context, by *policies.Principal, full bool) (synctool.Queued, error) {
	queued := synctool.Waiting
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		isNew, isRunning, err := worker.QueueSync(ctx, tx, full)
		if err != nil {
			return err
		}
		switch {
		case isNew:
			queued = synctool.New
		case isRunning:
			queued = synctool.Going
		}
		kind := mirror.Incremental
		if full {
			kind = mirror.Full
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: "run_sync", Outcome: audit.Allow, Element: string(kind) + " sync", Detail: map[string]any{"full": full, "state": string(queued)},
		})
	})
	return queued, err
}
