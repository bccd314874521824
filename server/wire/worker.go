package wire

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
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
	identity, err := openVault(cfg.WorkerIdentity, filepath.Join(cfg.IdentityFolder, "worker"))
	if err != nil {
		return nil, err
	}
	if _, err := identity.Publish(ctx, pool, vault.Worker); err != nil {
		return nil, err
	}
	check := func(ctx context.Context) error { return checkWorkerBinding(ctx, pool, cfg) }
	if err := check(ctx); err != nil {
		return nil, err
	}
	// A scan's result may be large; it is read as it comes.
	h, err := fetch.NewFixed([]string{cfg.Authority, cfg.APIURL}, fetch.Options{
		Environment: string(cfg.Environment), Timeout: 10 * time.Minute, MaxBytes: 1 << 30,
	})
	if err != nil {
		return nil, err
	}
	app := entra.New(cfg.Authority, cfg.TenantID, entra.Registration{
		ClientID: cfg.ScannerClientID,
		Secret:   func(context.Context) (string, error) { return cfg.ScannerClientSecret, nil },
	}, h, time.Now)
	scanner := &scan.Scanner{
		Source: powerbi.New(cfg.APIURL, h), Mirror: mirror.New(pool), Log: log, Wait: scan.Sleep,
		Token: func(ctx context.Context) (string, error) {
			return app.AppToken(ctx, "https://analysis.windows.net/powerbi/api/.default")
		},
	}
	runner, err := worker.NewWorker(pool, scanner, check, log)
	if err != nil {
		return nil, err
	}
	return &WorkerProcess{pool, runner}, nil
}

// Run works until ctx ends, and then releases what it holds.
func (p *WorkerProcess) Run(ctx context.Context) error {
	defer p.pool.Close()
	return runJobs(ctx, p.runner)
}

// checkWorkerBinding is [checkBinding] as far as the worker may look (TENANT-07 to -12).
func checkWorkerBinding(ctx context.Context, pool *pgxpool.Pool, cfg config.Config) error {
	var tenant string
	var mock, hasAdmin bool
	err := pool.QueryRow(ctx, `
		select coalesce((select tenant_id::text from deployment_tenant), ''), coalesce((select mock from deployment_tenant), false), deployment_has_admin()`,
	).Scan(&tenant, &mock, &hasAdmin)
	switch {
	case err != nil:
		return postgres.Translate(err)
	case tenant == "" && hasAdmin:
		return errors.New("this database has an admin and belongs to no tenant: restore it from a backup")
	case tenant != "" && tenant != cfg.TenantID:
		return errors.New("this database belongs to the tenant " + tenant + ", and POWERBI_TENANT_ID names another: use a new database for another tenant")
	case tenant != "" && mock != cfg.MockAuthority():
		return errors.New("this database was set up on the other side of the sample tenant: use a new database")
	}
	return nil
}
