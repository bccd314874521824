-- Principal reads all there is to know of one caller, in one round trip, by
-- whichever credential is given: a session's digest, a grant's id, or the
-- person's own id. What counts for 7 days after it was seen is compared with
-- the database's clock, what expires with the caller's.
-- name: Principal :one
with credential as (
  select s.person_id, s.id::text as credential, '' as client_id, '' as audience, '{}'::text[] as scopes,
    'epoch'::timestamptz as consented_at
  from session s where s.digest = sqlc.narg(session_digest)::bytea and s.expires_at > @at::timestamptz
  union all
  select g.person_id, g.id, g.client_id, g.audience, g.scopes, k.created_at
  from oauth_grant g join oauth_consent k on k.id = g.consent_id
  where g.id = sqlc.narg(grant_id)::text and g.revoked_at is null and k.ended_at is null
  union all
  select p.id, '', '', '', '{}', 'epoch' from person p where p.id = sqlc.narg(person_id)::uuid
), caller as (
  select c.*, p.email, p.name,
    i.object_id as member_object_id,
    case when i.groups_read_at > now() - interval '7 days' then i.group_ids else '{}' end as member_group_ids,
    coalesce(i.signed_in_at > now() - interval '7 days', false) as signed_in_lately,
    coalesce(greatest(i.signed_in_at, i.groups_read_at) > now() - interval '7 days', false) as is_member,
    k.state = 'connected' as is_connected,
    case when k.groups_read_at > now() - interval '7 days' then k.object_id || k.group_ids else '{}' end as connected_ids
  from credential c
  join person p on p.id = c.person_id
  left join person_identity i on i.person_id = p.id
  left join powerbi_connection k on k.person_id = p.id
), reached as (
  select c.*,
    case
      when c.is_connected then c.connected_ids
      when c.signed_in_lately then c.member_object_id || c.member_group_ids
      else '{}'
    end as object_ids
  from caller c
), named_role as (
  select r.role
  from caller c join role_assignment r on r.kind = 'person' and r.person_id = c.person_id
  union
  select r.role
  from caller c
  join person_sign_in s on s.person_id = c.person_id and s.signed_in_at > now() - interval '7 days'
  join role_assignment r on r.kind = 'domain' and r.subject = lower(s.vouched_domain)
  union
  select r.role
  from caller c
  join role_assignment r on r.kind = 'group' and r.provider = 'microsoft' and r.subject = any(c.member_group_ids::text[])
), held_role as (
  select role from named_role
  union
  -- The tenant's default is for members whom no shipped role was given otherwise.
  select r.role
  from caller c join role_assignment r on r.kind = 'tenant'
  where c.is_member
    and not exists (select from named_role n where n.role in ('viewer', 'curator', 'admin', 'pii_reader'))
), access as (
  select distinct a.item_kind, a.item_id
  from reached c join powerbi_access a on a.object_id = any(c.object_ids)
)
select c.person_id, c.email, c.name, c.credential, c.client_id, c.audience, c.scopes, c.consented_at,
  coalesce((select array_agg(role order by role) from held_role), '{}')::text[] as roles,
  array(select o::text from unnest(c.object_ids) o order by o)::text[] as object_ids,
  array(select item_id::text from access where item_kind = 'workspace' order by item_id)::text[] as workspace_ids,
  array(select item_id::text from access where item_kind = 'app' order by item_id)::text[] as app_ids,
  array(select item_id::text from access where item_kind = 'dataset' order by item_id)::text[] as dataset_ids
from reached c;
