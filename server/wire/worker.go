package wire

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/scan"
	"github.com/pbmb/pbmb/sync/worker"
)

// A WorkerProcess is the worker, ready to run.
type WorkerProcess struct {
	pool   *pgxpool.Pool
	runner *worker.Runner
}

// Worker builds the worker, which mirrors the tenant's metadata.
func Worker(ctx context.Context, cfg config.Config, log *slog.Logger) (p *WorkerProcess, err error) {
	if err := cfg.CheckWorker(); err != nil {
		return nil, err
	}
	pool, err := postgres.Open(ctx, cfg.DatabaseWorker, postgres.Worker)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			pool.Close()
		}
	}()
	identity, err := openVault(cfg.WorkerIdentity, identityFile(cfg, vault.Worker))
	if err != nil {
		return nil, err
	}
	if err := settleIdentity(ctx, pool, vault.Worker, identity); err != nil {
		return nil, err
	}
	secrets := secret.New(pool, vault.Worker, identity)
	check := func(ctx context.Context) error { return checkWorkerBinding(ctx, pool, cfg) }
	if err := check(ctx); err != nil {
		return nil, err
	}
	h, err := workerClient(cfg, fetch.Options{Environment: string(cfg.Environment)})
	if err != nil {
		return nil, err
	}
	app := entra.New(cfg.Authority, cfg.TenantID, entra.Registration{
		ClientID: cfg.ScannerClientID,
		Secret:   func(ctx context.Context) (string, error) { return secrets.Open(ctx, secret.ScannerClient) },
	}, h, time.Now)
	client := powerbi.New(cfg.APIURL, h)
	scanner := &scan.Scanner{
		Source: client, Mirror: mirror.New(pool), Log: log, Wait: scan.Sleep,
		Token: func(ctx context.Context) (string, error) { return app.AppToken(ctx, powerbi.AppScope) },
	}
	checks, err := newWorkerChecks(pool, secrets, app, client, log)
	if err != nil {
		return nil, err
	}
	runner, err := worker.NewWorker(pool, scanner, checks, check, log)
	if err != nil {
		return nil, err
	}
	return &WorkerProcess{pool, runner}, nil
}

// workerClient is the only client of the worker: Entra gives it the scanner's
// token, Power BI the scans (FETCH-31).
func workerClient(cfg config.Config, o fetch.Options) (*http.Client, error) {
	// A scan's result may be large; it is read as it comes.
	o.Timeout, o.MaxBytes = 10*time.Minute, 1<<30
	return fetch.NewFixed([]string{cfg.Authority, cfg.APIURL}, o)
}

// Run works until ctx ends, and then releases what it holds.
func (p *WorkerProcess) Run(ctx context.Context) error {
	defer p.pool.Close()
	return runJobs(ctx, p.runner)
}
