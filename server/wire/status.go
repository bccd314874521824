package wire

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/sync/scan"
	statustool "github.com/pbmb/pbmb/tools/status"
)

// status gathers how the deployment stands.
type status struct {
	pool     *pgxpool.Pool
	secrets  *secret.Store
	accounts *connection.Connections
}

func (s status) Syncs(ctx context.Context) (full, incremental *statustool.Sync, err error) {
	if full, err = s.last(ctx, mirror.Full, scan.FullEvery); err != nil {
		return nil, nil, err
	}
	incremental, err = s.last(ctx, mirror.Incremental, scan.IncrementalEvery, mirror.Full)
	return full, incremental, err
}

// last returns the last sync of a kind, and as of when the mirror has what such
// ones, or those that read more, read.
func (s status) last(ctx context.Context, kind mirror.Kind, every time.Duration, more ...mirror.Kind) (*statustool.Sync, error) {
	sync := &statustool.Sync{Every: every}
	run, found, err := mirror.Last(ctx, s.pool, []mirror.Kind{kind}, []mirror.State{mirror.Running, mirror.Succeeded, mirror.Failed})
	if err != nil {
		return nil, err
	}
	if found {
		sync.State, sync.StartedAt = string(run.State), run.StartedAt
		if run.EndedAt != nil {
			sync.EndedAt = *run.EndedAt
		}
	}
	sync.SucceededAt, _, err = mirror.LastSuccess(ctx, s.pool, append(more, kind)...)
	return sync, err
}

func (s status) Secrets(ctx context.Context) ([]secret.Info, error) { return s.secrets.List(ctx) }

func (s status) ConnectionsToRemake(ctx context.Context) (int, error) {
	return s.accounts.ToRemake(ctx)
}
