-- Principal reads all there is to know of one caller, in one round trip, by
-- whichever credential is given: a session's digest, a grant's id, or the
-- person's own id. The others are given as values that nobody has, not as null:
-- with nulls PostgreSQL would prefer to plan anew each time. What counts for 7
-- days after it was seen is compared with the database's clock, what expires
-- with the caller's. Lists come unsorted and with repetitions: to sort them
-- here costs more. A group of another provider than Microsoft is a word, the
-- provider's name before it: no provider's name has a space. With them come the revisions that all of it was read under
-- and the moment until which it holds if these stay the same.
-- name: Principal :one
with credential as (
  select s.person_id, s.id::text as credential, '' as client_id, '' as audience, 'epoch'::timestamptz as consented_at, s.expires_at
  from session s where s.digest = @session_digest::bytea and s.expires_at > @at::timestamptz
  union all
  select g.person_id, g.id, g.client_id, g.audience, k.created_at, '9999-12-31'
  from oauth_grant g join oauth_consent k on k.id = g.consent_id
  where g.id = @grant_id::text and g.revoked_at is null and k.ended_at is null
  union all
  select p.id, '', '', '', 'epoch', '9999-12-31' from person p where p.id = @person_id::uuid
), caller as (
  select c.person_id, c.credential, c.client_id, c.audience, c.consented_at, c.expires_at, p.email, p.name,
    coalesce(greatest(i.signed_in_at, i.groups_read_at, own.groups_read_at) > now() - interval '7 days', false) as is_member,
    case
      when own.groups_read_at > now() - interval '7 days' and own.groups_read_at >= coalesce(i.groups_read_at, 'epoch') then own.group_ids
      when i.groups_read_at > now() - interval '7 days' then i.group_ids
      else '{}'
    end as member_group_ids,
    array(
      select lower(s.vouched_domain) from person_sign_in s
      where s.person_id = c.person_id and s.signed_in_at > now() - interval '7 days'
    ) as domains,
    array(
      select s.provider || ' ' || g from person_sign_in s cross join unnest(s.group_ids) g
      where s.person_id = c.person_id and s.signed_in_at > now() - interval '7 days'
    ) as provider_groups,
    case
      when k.state = 'connected' then
        case when k.groups_read_at > now() - interval '7 days' then k.object_id || k.group_ids else '{}' end
      when i.signed_in_at > now() - interval '7 days' then
        i.object_id || case when i.groups_read_at > now() - interval '7 days' then i.group_ids else '{}' end
      else '{}'
    end as object_ids,
    extract(epoch from least(
      case when i.signed_in_at > now() - interval '7 days' then i.signed_in_at end,
      case when i.groups_read_at > now() - interval '7 days' then i.groups_read_at end,
      case when k.groups_read_at > now() - interval '7 days' then k.groups_read_at end,
      (select min(s.signed_in_at) from person_sign_in s where s.person_id = c.person_id and s.signed_in_at > now() - interval '7 days')
    ) + interval '7 days' - now()) as holds_for
  from credential c
  join person p on p.id = c.person_id
  left join person_identity i on i.person_id = p.id
  left join powerbi_connection k on k.person_id = p.id
  -- What was read over a connection gives roles and membership only where it is of
  -- the account that the person is known by.
  left join powerbi_connection own on own.person_id = p.id and own.state = 'connected' and own.object_id = i.object_id
)
select c.person_id, c.email, c.name, c.credential, c.client_id, c.audience, c.consented_at, c.is_member::boolean as is_member,
  c.object_ids::uuid[] as object_ids, c.expires_at, coalesce(c.holds_for, 604800)::float8 as holds_for_seconds,
  array(select v.subject || ' ' || v.id from revision v
    where v.subject = any(array['roles', 'tenant', 'pii', 'person:' || c.person_id]))::text[] as revisions,
  role.given::text[] as given_roles, exists (select from deployment_tenant)::boolean as is_bound,
  (select coalesce(jsonb_object_agg(s.key, s.value), '{}') from setting s where s.key like 'access.%')::jsonb as settings,
  access.workspace_ids::uuid[] as workspace_ids, access.app_ids::uuid[] as app_ids, access.dataset_ids::uuid[] as dataset_ids
from caller c
cross join lateral (
  select array_agg(r.role) as given
  from role_assignment r
  where (r.kind = 'person' and r.person_id = c.person_id)
    or (r.kind = 'domain' and r.subject = any(c.domains))
    or (r.kind = 'group' and r.provider = 'microsoft' and r.subject = any(c.member_group_ids::text[]))
    or (r.kind = 'group' and r.provider <> 'microsoft' and r.provider || ' ' || r.subject = any(c.provider_groups))
    or (r.kind = 'tenant' and c.is_member)
) role
cross join lateral (
  select array_agg(a.item_id) filter (where a.item_kind = 'workspace') as workspace_ids,
    array_agg(a.item_id) filter (where a.item_kind = 'app') as app_ids,
    array_agg(a.item_id) filter (where a.item_kind = 'dataset') as dataset_ids
  from powerbi_access a
  where a.object_id = any(c.object_ids)
) access;
