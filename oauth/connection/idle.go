package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/connection/db"
)

// idleAfter is how long a connection's groups count as just read. What is read of
// them gives roles for 7 days, and a refresh token that nobody spends lapses.
const idleAfter = 24 * time.Hour

// inARow is after how many failures, one after the other, nobody else is tried:
// then it is Microsoft's fault or the network's.
const inARow = 5

// RefreshIdle reads the groups of every connection whose groups were last read a
// day ago or longer, which renews its refresh token where Microsoft still accepts
// the account, and then the access token for Power BI of those whom reached says
// that a role reaches. It returns how many it renewed. A connection that fails is
// left for the next time.
func (c *Connections) RefreshIdle(ctx context.Context, reached func(ctx context.Context, personID string) (bool, error)) (renewed int, err error) {
	since, after := c.now().Add(-idleAfter), "00000000-0000-0000-0000-000000000000"
	failed := 0
	for {
		ids, err := db.New(c.pool).IdleConnections(ctx, db.IdleConnectionsParams{After: after, Since: since, UpTo: atOnce})
		if err != nil {
			return renewed, fmt.Errorf("listing idle connections: %w", postgres.Translate(err))
		}
		for _, id := range ids {
			if ctx.Err() != nil {
				return renewed, ctx.Err()
			}
			after = id
			err := c.refreshIdle(ctx, id, reached)
			switch {
			case err == nil:
				renewed, failed = renewed+1, 0
				continue
			case errors.Is(err, ErrNeedsReconnect), errors.Is(err, ErrNotConnected):
				failed = 0 // Microsoft answered, or the person ended it meanwhile
				continue
			}
			unexpected.Refused(ctx, c.log, "an idle connection is not renewed", err, "person", id)
			if failed++; failed == inARow {
				return renewed, fmt.Errorf("renewing idle connections: %d in a row failed, the last with: %w", failed, err)
			}
		}
		if len(ids) < atOnce {
			return renewed, nil
		}
	}
}

func (c *Connections) refreshIdle(ctx context.Context, personID string, reached func(context.Context, string) (bool, error)) error {
	if err := c.ReadGroups(ctx, personID); err != nil {
		return err
	}
	// After the groups, which may be what gives the role.
	isReached, err := reached(ctx, personID)
	if err != nil || !isReached {
		return err
	}
	_, err = c.Token(ctx, personID)
	return err
}
