-- A further Allow leaves a standing consent's time as it is: tokens older than
-- the consent are refused.
-- name: StandingConsent :one
insert into oauth_consent (person_id, client_id, scopes, created_at)
values (@person_id, @client_id, @scopes, @at)
on conflict (person_id, client_id) where ended_at is null
do update set scopes = (
  select array_agg(distinct s order by s) from unnest(oauth_consent.scopes || excluded.scopes) s
)
returning id;

-- name: InsertGrant :exec
insert into oauth_grant (id, consent_id, client_id, person_id, scopes, audience, created_at)
values (@id, @consent_id, @client_id, @person_id, @scopes, @audience, @at);

-- LockGrant is the first statement of whatever spends a credential of a grant,
-- so that all of them wait for each other.
-- name: LockGrant :one
select (revoked_at is not null)::boolean as revoked from oauth_grant where id = @id for update;

-- name: RevokeGrant :one
update oauth_grant set revoked_at = @at, revoked_why = @why
where id = @id and revoked_at is null
returning id, client_id, person_id;

-- The grants of which one of these refresh tokens was used or has outlived its grant.
-- name: GrantsOfUsedRefreshTokens :many
select distinct t.grant_id
from oauth_refresh_token t join oauth_grant g on g.id = t.grant_id
where t.digest = any(@digests::bytea[]) and t.used_at is not null and g.revoked_at is null;

-- name: InsertCode :exec
insert into oauth_code (digest, grant_id, redirect_uri, challenge, requested_at, expires_at)
values (@digest, @grant_id, @redirect_uri, @challenge, @at, @expires_at);

-- name: Code :one
select k.grant_id, k.redirect_uri, k.challenge, k.requested_at, k.expires_at,
  (k.used_at is not null or g.revoked_at is not null)::boolean as dead,
  g.client_id, g.person_id, g.scopes, g.audience
from oauth_code k join oauth_grant g on g.id = k.grant_id
where k.digest = @digest;

-- name: SpendCode :execrows
update oauth_code set used_at = @at where digest = @digest and used_at is null;

-- name: InsertRefreshToken :exec
insert into oauth_refresh_token (digest, grant_id, requested_at, expires_at)
values (@digest, @grant_id, @at, @expires_at);

-- name: RefreshToken :one
select t.grant_id, t.requested_at, t.expires_at,
  (t.used_at is not null or g.revoked_at is not null)::boolean as dead,
  g.client_id, g.person_id, g.scopes, g.audience
from oauth_refresh_token t join oauth_grant g on g.id = t.grant_id
where t.digest = @digest;

-- name: SpendRefreshToken :execrows
update oauth_refresh_token set used_at = @at where digest = @digest and used_at is null;

-- name: GrantsOf :many
select g.id, g.client_id, c.kind as client_kind, c.name as client_name, g.scopes, g.audience, g.created_at,
  coalesce((select max(t.requested_at) from oauth_refresh_token t where t.grant_id = g.id), g.created_at)::timestamptz as last_used_at
from oauth_grant g
join oauth_client c on c.id = g.client_id
join oauth_consent k on k.id = g.consent_id
where g.person_id = @person_id and g.revoked_at is null and k.ended_at is null
order by g.created_at desc, g.id;

-- Of one person, by email or id, or of everybody where that is empty.
-- name: Grants :many
select g.id, p.id as person_id, p.email, g.client_id, c.kind as client_kind, c.name as client_name, g.scopes, g.audience, g.created_at,
  coalesce((select max(t.requested_at) from oauth_refresh_token t where t.grant_id = g.id), g.created_at)::timestamptz as last_used_at
from oauth_grant g
join person p on p.id = g.person_id
join oauth_client c on c.id = g.client_id
join oauth_consent k on k.id = g.consent_id
where g.revoked_at is null and k.ended_at is null
  and (@person::text = '' or lower(p.email) = lower(@person::text) or p.id::text = lower(@person::text))
order by g.created_at desc, g.id
limit @most offset @skip;

-- name: CountGrants :one
select count(*)
from oauth_grant g
join person p on p.id = g.person_id
join oauth_consent k on k.id = g.consent_id
where g.revoked_at is null and k.ended_at is null
  and (@person::text = '' or lower(p.email) = lower(@person::text) or p.id::text = lower(@person::text));

-- name: EndGrantOf :execrows
update oauth_grant set revoked_at = @at, revoked_why = @why
where id = @id and person_id = @person_id and revoked_at is null;

-- name: EndConsent :execrows
update oauth_consent set ended_at = @at
where person_id = @person_id and client_id = @client_id and ended_at is null;

-- name: EndGrantsOfConsent :execrows
update oauth_grant set revoked_at = @at, revoked_why = @why
where person_id = @person_id and client_id = @client_id and revoked_at is null;

-- What people let in who came through a provider that is gone.
-- name: EndGrantsOfProvider :execrows
update oauth_grant set revoked_at = @at, revoked_why = @why
where revoked_at is null and person_id in (select a.person_id from account a where a.provider = @provider);
