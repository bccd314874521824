package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/sync/model"
	"github.com/pbmb/pbmb/sync/worker"
)

// stopTime is how long running jobs are waited for when a process ends.
const stopTime = 15 * time.Second

// runJobs takes jobs until ctx ends, and then waits for those that run. It is no
// error that ctx ends before it has begun.
func runJobs(ctx context.Context, runner *worker.Runner) error {
	err := runner.Start(ctx)
	if err == nil {
		<-ctx.Done()
	} else if ctx.Err() != nil {
		err = nil
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return errors.Join(err, runner.Stop(finish))
}

// newModelReader returns what reads models under people's own tokens.
func newModelReader(pool *pgxpool.Pool, clients microsoft, accounts *connection.Connections, log *slog.Logger) (*model.Reader, *relationship.Store) {
	kept := relationship.New(pool)
	return &model.Reader{
		Source: clients.powerBI, Store: kept, Log: log,
		Token: func(ctx context.Context, personID string) (string, error) {
			token, err := accounts.Token(ctx, personID)
			if errors.Is(err, connection.ErrNotConnected) || errors.Is(err, connection.ErrNeedsReconnect) {
				err = fmt.Errorf("%w: %w", model.ErrNoToken, err)
			}
			return token.Access, err
		},
	}, kept
}

// models reads a model at once for the query runner.
type models struct{ reader *model.Reader }

func (m models) ReadModel(ctx context.Context, personID, datasetID string) error {
	return upstream(m.reader.Read(ctx, personID, datasetID))
}
