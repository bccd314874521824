package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/oauth/connection"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	synccheck "github.com/pbmb/pbmb/sync/check"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/scan"
	"github.com/pbmb/pbmb/sync/worker"
	checktool "github.com/pbmb/pbmb/tools/check"
)

// newAPIChecks returns what makes the checks of the api.
func newAPIChecks(pool *pgxpool.Pool, decider policies.Decider, secrets *secret.Store, app *entra.Client, accounts *connection.Connections, now func() time.Time, log *slog.Logger) (*check.Runner, error) {
	return check.NewRunner(check.Options{
		Container: vault.API, Store: check.NewStore(pool), Held: held(secrets, secret.AppClient), Log: log,
	}, map[check.ID]check.Ask{
		check.Database: askDatabase(pool),
		check.Policies: func(ctx context.Context) error {
			if err := ready(ctx, decider); err != nil {
				return &check.Error{Code: check.NotAnswering, Cause: err}
			}
			return nil
		},
		check.Secrets:         askSecrets(secrets, now),
		check.AppRegistration: synccheck.AppRegistration(app, consents{accounts}),
		check.SyncAge:         askSyncAge(pool, now),
	})
}

// newWorkerChecks returns what makes the checks that take the scanner's secret.
func newWorkerChecks(pool *pgxpool.Pool, secrets *secret.Store, app *entra.Client, client *powerbi.Client, log *slog.Logger) (*check.Runner, error) {
	return check.NewRunner(check.Options{
		Container: vault.Worker, Store: check.NewStore(pool), Held: held(secrets, secret.ScannerClient), Log: log,
	}, map[check.ID]check.Ask{
		check.Scanner:    synccheck.Scanner(app, client),
		check.WhatToSync: synccheck.WhatToSync(app, client, scan.Sleep),
	})
}

// held opens a secret for a comparison with what a check answers. One that cannot
// be opened is held by nobody here.
func held(secrets *secret.Store, name secret.Name) func(context.Context) []string {
	return func(ctx context.Context) []string {
		value, err := secrets.Open(ctx, name)
		if err != nil {
			return nil
		}
		return []string{value}
	}
}

func askDatabase(pool *pgxpool.Pool) check.Ask {
	return func(ctx context.Context) error {
		version, err := postgres.Version(ctx, pool)
		switch {
		case err != nil:
			return &check.Error{Code: check.NotAnswering, Cause: err}
		case version != postgres.Expected():
			return &check.Error{Code: check.NotMigrated, Cause: fmt.Errorf("version %d, and this program is of %d", version, postgres.Expected())}
		}
		return nil
	}
}

// askSecrets looks at the secrets that a deployment cannot do without, and whether
// each that is set opens.
func askSecrets(secrets *secret.Store, now func() time.Time) check.Ask {
	return func(ctx context.Context) error {
		all, err := secrets.List(ctx)
		if err != nil {
			return err
		}
		var unreadable, missing, ended []string
		for _, i := range all {
			switch {
			case i.Check == secret.Unreadable:
				unreadable = append(unreadable, string(i.Name))
			case i.Check == secret.Missing && (i.Name == secret.AppClient || i.Name == secret.ScannerClient):
				missing = append(missing, string(i.Name))
			case secret.ExpiryOf(i.ExpiresAt, now()) == secret.Expired:
				ended = append(ended, string(i.Name))
			}
		}
		switch {
		case len(unreadable) > 0:
			return &check.Error{Code: check.Unreadable, Names: unreadable}
		case len(missing) > 0:
			return &check.Error{Code: check.NotSet, Names: missing}
		case len(ended) > 0:
			return &check.Error{Code: check.Ended, Names: ended}
		}
		return nil
	}
}

// askSyncAge compares the last syncs with twice their schedule: daily for a full
// one, and hourly for one of what changed, in whose place a full one does too.
func askSyncAge(pool *pgxpool.Pool, now func() time.Time) check.Ask {
	last := func(ctx context.Context, kinds ...mirror.Kind) (time.Time, error) {
		run, found, err := mirror.Last(ctx, pool, kinds, []mirror.State{mirror.Succeeded})
		if err != nil || !found || run.EndedAt == nil {
			return time.Time{}, err
		}
		return *run.EndedAt, nil
	}
	return func(ctx context.Context) error {
		full, err := last(ctx, mirror.Full)
		if err != nil {
			return err
		}
		changes, err := last(ctx, mirror.Full, mirror.Incremental)
		if err != nil {
			return err
		}
		switch at := now(); {
		case full.IsZero():
			return &check.Error{Code: check.NoFull}
		case at.Sub(full) > 48*time.Hour:
			return &check.Error{Code: check.OldFull}
		case at.Sub(changes) > 2*time.Hour:
			return &check.Error{Code: check.OldChanges}
		}
		return nil
	}
}

// consents asks for the app registration's permissions over somebody's connection.
type consents struct{ accounts *connection.Connections }

func (c consents) Consented(ctx context.Context) (powerBI, graph []string, err error) {
	powerBI, graph, err = c.accounts.Consented(ctx)
	if errors.Is(err, connection.ErrNotConnected) {
		err = synccheck.ErrNoOne
	}
	return powerBI, graph, err
}

// checks serves the operations on checks.
type checks struct{ pool *pgxpool.Pool }

func (c checks) List(ctx context.Context) ([]checktool.Standing, error) {
	outcomes, err := check.NewStore(c.pool).Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := worker.Checking(ctx, c.pool)
	if err != nil {
		return nil, err
	}
	var list []checktool.Standing
	for _, d := range check.Definitions() {
		o := outcomes[d.ID]
		list = append(list, checktool.Standing{Definition: d, Outcome: o, Pending: asked[worker.Queue(d.Runs)].After(o.CheckedAt)})
	}
	return list, nil
}

// Start queues the worker's too, so that the list has them pending from the start.
func (c checks) Start(ctx context.Context, by *policies.Principal) error {
	return postgres.Tx(ctx, c.pool, func(tx pgx.Tx) error {
		if err := audit.Write(ctx, tx, by, audit.Event{Action: "run_checks", Outcome: audit.Allow, Element: "all checks"}); err != nil {
			return err
		}
		for _, q := range []worker.Queue{worker.QueueAPI, worker.QueueWorker} {
			if err := worker.QueueCheckIn(ctx, tx, q); err != nil {
				return err
			}
		}
		return nil
	})
}

// renewer keeps connections from lapsing.
type renewer struct {
	accounts *connection.Connections
	people   *oauthstore.Store
	now      func() time.Time
}

func (r renewer) RefreshIdle(ctx context.Context) (int, error) {
	return r.accounts.RefreshIdle(ctx, func(ctx context.Context, personID string) (bool, error) {
		caller, err := r.people.CallerByPerson(ctx, personID, r.now())
		if errors.Is(err, postgres.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return len(caller.Roles) > 0, nil
	})
}
