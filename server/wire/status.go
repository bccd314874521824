package wire

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/oauth/connection"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	statustool "github.com/pbmb/pbmb/tools/status"
)

// status gathers how the deployment stands.
type status struct {
	pool     *pgxpool.Pool
	secrets  *secret.Store
	accounts *connection.Connections
	people   *oauthstore.Store
	decider  policies.Decider
}

func (s status) Syncs(ctx context.Context) (full, incremental *statustool.Sync, err error) {
	if full, err = s.last(ctx, mirror.Full); err != nil {
		return nil, nil, err
	}
	incremental, err = s.last(ctx, mirror.Incremental)
	return full, incremental, err
}

func (s status) last(ctx context.Context, kind mirror.Kind) (*statustool.Sync, error) {
	run, found, err := mirror.Last(ctx, s.pool, []mirror.Kind{kind}, []mirror.State{mirror.Running, mirror.Succeeded, mirror.Failed})
	if err != nil || !found {
		return nil, err
	}
	sync := &statustool.Sync{State: string(run.State), StartedAt: run.StartedAt, Message: run.Error}
	if run.EndedAt != nil {
		sync.EndedAt = *run.EndedAt
	}
	return sync, nil
}

func (s status) Secrets(ctx context.Context) ([]secret.Info, error) { return s.secrets.List(ctx) }

func (s status) ConnectionsToRemake(ctx context.Context) (int, error) {
	return s.accounts.ToRemake(ctx)
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
