package wire

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/setting"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/server/config"
)

// checkBinding refuses a database that belongs to another tenant, or that has an
// admin and belongs to none (TENANT-07, -10, -11).
func checkBinding(ctx context.Context, people *oauthstore.Store, settings *setting.Store, cfg config.Config) error {
	if err := checkTenantSetting(ctx, settings, cfg); err != nil {
		return err
	}
	binding, err := people.Binding(ctx)
	if errors.Is(err, postgres.ErrNotFound) {
		has, err := people.HasAdmin(ctx)
		if err != nil {
			return err
		}
		return fits(nil, has, cfg)
	}
	if err != nil {
		return err
	}
	return fits(binding, true, cfg)
}

// checkWorkerBinding is [checkBinding] as far as the worker may look (TENANT-07 to -12).
func checkWorkerBinding(ctx context.Context, pool *pgxpool.Pool, cfg config.Config) error {
	if err := checkTenantSetting(ctx, setting.New(pool, cfg.Settings), cfg); err != nil {
		return err
	}
	var bound oauthstore.Binding
	var hasAdmin bool
	err := pool.QueryRow(ctx, `
		select coalesce((select tenant_id::text from deployment_tenant), ''), coalesce((select mock from deployment_tenant), false), deployment_has_admin()`,
	).Scan(&bound.TenantID, &bound.Mock, &hasAdmin)
	if err != nil {
		return postgres.Translate(err)
	}
	if bound.TenantID == "" {
		return fits(nil, hasAdmin, cfg)
	}
	return fits(&bound, hasAdmin, cfg)
}

// checkTenantSetting refuses a saved setting that names another tenant than the
// environment, so that the two cannot say different things of the same database.
func checkTenantSetting(ctx context.Context, settings *setting.Store, cfg config.Config) error {
	values, err := settings.Read(ctx)
	if err != nil {
		return err
	}
	if saved := values.PowerBI.TenantID; saved != "" && saved != cfg.TenantID {
		return errors.New("the setting powerbi.tenant_id names the tenant " + saved + ", and POWERBI_TENANT_ID another")
	}
	return nil
}

// fits is the rule of both: binding is nil where the database belongs to no tenant.
func fits(binding *oauthstore.Binding, hasAdmin bool, cfg config.Config) error {
	switch {
	case binding == nil && hasAdmin:
		return errors.New("this database has an admin and belongs to no tenant: restore it from a backup")
	case binding == nil:
		return nil
	case binding.TenantID != cfg.TenantID:
		return errors.New("this database belongs to the tenant " + binding.TenantID + ", and POWERBI_TENANT_ID names another: use a new database for another tenant")
	case binding.Mock != cfg.MockAuthority():
		return errors.New("this database was set up on the other side of the sample tenant: use a new database")
	}
	return nil
}
