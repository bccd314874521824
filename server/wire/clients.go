package wire

import (
	"context"
	"errors"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/oauth/connection"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/admin"
)

// grants lists and ends what anybody let clients do.
type grants struct {
	people *oauthstore.Store
	now    func() time.Time
}

func (g grants) ListGrants(ctx context.Context, person string, r knowledge.Range) ([]admin.Grant, int, error) {
	held, total, err := g.people.Grants(ctx, person, r.Offset, r.Limit)
	list := make([]admin.Grant, len(held))
	for i, h := range held {
		list[i] = admin.Grant{
			ID: h.ID, PersonID: h.PersonID, Person: h.Email, ClientID: h.ClientID, ClientName: h.ClientName, Registered: string(h.ClientKind),
			Scopes: h.Scopes, CreatedAt: h.CreatedAt, LastUsedAt: h.LastUsedAt,
		}
	}
	return list, total, err
}

func (g grants) RevokeGrant(ctx context.Context, by *policies.Principal, id string) error {
	err := g.people.EndAnyGrant(ctx, by, id, g.now())
	if errors.Is(err, postgres.ErrNotFound) {
		return knowledge.ErrNotFound
	}
	return err
}

// connections lists and ends anybody's Power BI connection.
type connections struct{ accounts *connection.Connections }

func (c connections) ListConnections(ctx context.Context, r knowledge.Range) ([]admin.Connection, int, error) {
	all, total, err := c.accounts.List(ctx, r.Offset, r.Limit)
	list := make([]admin.Connection, len(all))
	for i, s := range all {
		list[i] = admin.Connection{
			PersonID: s.PersonID, Person: s.Email, State: string(s.State), Account: s.Account,
			ConnectedAt: s.ConnectedAt, GroupsReadAt: s.GroupsReadAt,
		}
	}
	return list, total, err
}

func (c connections) RevokeConnection(ctx context.Context, by *policies.Principal, personID string) error {
	err := c.accounts.Revoke(ctx, by, personID)
	if errors.Is(err, connection.ErrNotConnected) {
		return knowledge.ErrNotFound
	}
	return err
}
