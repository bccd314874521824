-- name: ServiceAccounts :many
select id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by
from service_account order by lower(name);

-- name: ServiceAccount :one
select id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by
from service_account where id = @id;

-- name: LockServiceAccount :one
select id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by
from service_account where id = @id for update;

-- name: CreateServiceAccount :one
insert into service_account (name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, created_by, changed_by)
values (@name, @roles, @workspace_ids, @app_ids, @source_cidrs, @max_key_age_days, @by, @by)
returning id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by;

-- name: ChangeServiceAccount :one
update service_account
set name = @name, roles = @roles, workspace_ids = @workspace_ids, app_ids = @app_ids, source_cidrs = @source_cidrs,
  max_key_age_days = @max_key_age_days, disabled = @disabled, changed_at = now(), changed_by = @by
where id = @id
returning id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by;

-- name: DeleteServiceAccount :one
delete from service_account where id = @id
returning id, name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, created_at, created_by, changed_at, changed_by;
