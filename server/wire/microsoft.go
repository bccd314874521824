package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/signin"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/graph"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/tools/me"
)

// microsoft has the clients of Microsoft's services.
type microsoft struct {
	entra   *entra.Client
	graph   *graph.Client
	powerBI *powerbi.Client
}

func newMicrosoft(cfg config.Config, h, queries *http.Client, secrets *secret.Store, now func() time.Time) microsoft {
	return microsoft{
		entra: entra.New(cfg.Authority, cfg.TenantID, entra.Registration{
			ClientID: cfg.ClientID,
			Secret:   func(ctx context.Context) (string, error) { return secrets.Open(ctx, secret.AppClient) },
		}, h, now),
		graph:   graph.New(cfg.GraphURL, h),
		powerBI: powerbi.New(cfg.APIURL, queries),
	}
}

func newConnections(pool *pgxpool.Pool, settings *setting.Store, identity *vault.Vault, clients microsoft, callers *authn.Authn, site protocol.Site, now func() time.Time, log *slog.Logger) (*connection.Connections, *connection.Handler) {
	accounts := connection.New(pool, identity, clients.entra, clients.graph, ownAccountsOnly(settings), now, log)
	return accounts, &connection.Handler{
		Connections: accounts, Sessions: callers, Site: site, Audit: audit.NewWriter(pool), SafeNext: signin.SafeNext,
	}
}

// ownAccountsOnly reads the setting that keeps people from connecting any account
// but their own.
func ownAccountsOnly(settings *setting.Store) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		values, err := settings.Read(ctx)
		return values.PowerBI.ConnectionRequiresMatchingEmail, err
	}
}

// tokens gives the query runner people's own tokens.
type tokens struct{ accounts *connection.Connections }

func (t tokens) Token(ctx context.Context, personID string) (query.Token, error) {
	token, err := t.accounts.Token(ctx, personID)
	return query.Token(token), upstream(err)
}

// powerBI runs queries for the query runner.
type powerBI struct{ client *powerbi.Client }

func (p powerBI) ExecuteQuery(ctx context.Context, token, datasetID, dax string) (*query.Rows, error) {
	result, err := p.client.ExecuteQuery(ctx, token, datasetID, dax)
	if err != nil {
		return nil, upstream(err)
	}
	return &query.Rows{Columns: result.Columns, Rows: result.Rows, Cut: result.Truncated}, nil
}

func (p powerBI) LastRefresh(ctx context.Context, token, datasetID string) (time.Time, bool, error) {
	return p.client.LastRefresh(ctx, token, datasetID)
}

// upstream makes an error of a connection's or of Microsoft's one that the query
// runner knows.
func upstream(err error) error {
	switch {
	case errors.Is(err, connection.ErrNotConnected):
		return query.ErrNotConnected
	case errors.Is(err, connection.ErrNeedsReconnect):
		return query.ErrNeedsReconnect
	}
	if e, ok := errors.AsType[*powerbi.Error](err); ok {
		return &query.UpstreamError{Status: e.Status, Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter}
	}
	if e, ok := errors.AsType[*entra.Error](err); ok {
		return &query.UpstreamError{Status: e.Status, Code: e.Code}
	}
	return err
}

// myAccount serves the operations on the caller's own account.
type myAccount struct {
	*store.Store
	accounts *connection.Connections
	people   *oauthstore.Store
	now      func() time.Time
}

func (m myAccount) Disconnect(ctx context.Context, p *policies.Principal) error {
	return m.accounts.Disconnect(ctx, p)
}

func (m myAccount) Grants(ctx context.Context, personID string) ([]me.Grant, error) {
	held, err := m.people.GrantsOf(ctx, personID)
	grants := make([]me.Grant, len(held))
	for i, g := range held {
		grants[i] = me.Grant{
			ID: g.ID, ClientID: g.ClientID, ClientName: g.ClientName, Registered: string(g.ClientKind), Scopes: g.Scopes,
			CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt,
		}
	}
	return grants, err
}

func (m myAccount) EndGrant(ctx context.Context, p *policies.Principal, id string) error {
	err := m.people.EndGrant(ctx, p, id, m.now())
	if errors.Is(err, postgres.ErrNotFound) {
		return knowledge.ErrNotFound
	}
	return err
}

func (m myAccount) Connection(ctx context.Context, personID string) (me.Connection, error) {
	s, err := m.accounts.Status(ctx, personID)
	return me.Connection{State: string(s.State), Account: s.Account, ConnectedAt: s.ConnectedAt}, err
}
