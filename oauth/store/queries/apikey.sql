-- CallerByAPIKey finds the account whose key has a digest, while the key counts: by
-- the database's clock neither expired nor older than its account lets keys
-- become now, not revoked, and its account not disabled.
-- name: CallerByAPIKey :one
select a.id, a.name, a.roles, a.workspace_ids, a.app_ids, a.source_cidrs, k.id as key_id
from service_account_key k join service_account a on a.id = k.account_id
where k.digest = @digest and k.revoked_at is null and not a.disabled
  and k.expires_at > now()
  and k.created_at + make_interval(hours => 24 * a.max_key_age_days) > now();

-- name: CreateAPIKey :one
insert into service_account_key (account_id, digest, name, created_by, expires_at)
values (@account_id, @digest, @name, @created_by, now() + make_interval(hours => 24 * @days::integer))
returning id, name, created_at, created_by, expires_at;

-- APIKeysOf lists an account's keys, the newest first, with when each stops at the
-- latest as things stand.
-- name: APIKeysOf :many
select k.id, k.name, k.created_at, k.created_by, k.revoked_at,
  least(k.expires_at, k.created_at + make_interval(hours => 24 * a.max_key_age_days))::timestamptz as expires_at,
  (k.revoked_at is null and least(k.expires_at, k.created_at + make_interval(hours => 24 * a.max_key_age_days)) > now())::boolean as live
from service_account_key k join service_account a on a.id = k.account_id
where a.id = @account_id
order by k.created_at desc, k.id;

-- A key that was revoked before keeps the time.
-- name: RevokeAPIKey :one
update service_account_key set revoked_at = coalesce(revoked_at, now())
where id = @id and account_id = @account_id
returning name;
