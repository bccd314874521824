package wire

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/oauth/connection"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	policyfiles "github.com/pbmb/pbmb/policies/deployment"
	"github.com/pbmb/pbmb/sync/scan"
	statustool "github.com/pbmb/pbmb/tools/status"
)

// status gathers how the deployment stands.
type status struct {
	pool     *pgxpool.Pool
	secrets  *secret.Store
	accounts *connection.Connections
	people   *oauthstore.Store
	decider  policies.Decider
	engine   engine
	policies string // the folder of the deployment's policies; "" where the api is given none
}

// An engine says when it had loaded the policies that it decides by, and false
// while it is away.
type engine interface {
	Loaded() (time.Time, bool)
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
		sync.State, sync.StartedAt, sync.Message = string(run.State), run.StartedAt, run.Error
		if run.EndedAt != nil {
			sync.EndedAt = *run.EndedAt
		}
	}
	sync.SucceededAt, _, err = mirror.LastSuccess(ctx, s.pool, append(more, kind)...)
	return sync, err
}

func (s status) Secrets(ctx context.Context) ([]secret.Info, error) { return s.secrets.List(ctx) }

func (s status) FailingChecks(ctx context.Context) ([]check.ID, error) {
	return check.NewStore(s.pool).Failing(ctx)
}

func (s status) ConnectionsToRemake(ctx context.Context) (int, error) {
	return s.accounts.ToRemake(ctx)
}

func (s status) PoliciesPending(context.Context) (bool, error) {
	loaded, known := s.engine.Loaded()
	if s.policies == "" || !known {
		return false, nil
	}
	changed, err := policyfiles.Changed(s.policies)
	return changed.After(loaded), err
}

func (s status) Admins(ctx context.Context) (people, groups int, err error) {
	a, err := s.people.Admins(ctx)
	return a.People, a.Groups, err
}

func (s status) MayManageSettings(ctx context.Context, p *policies.Principal) (bool, error) {
	if p.Kind != policies.Person {
		return false, nil // SVC-16: no policy gives a service account more than the status
	}
	return s.decider.Allowed(ctx, p, policies.ManageSettings, policies.Admin)
}
