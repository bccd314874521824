-- An assignment made for an email stays with the first person who signed in
-- with it; nobody else with the same address ever matches it.
-- name: ClaimAssignments :execrows
update role_assignment set person_id = @person_id
where kind = 'person' and subject = lower(@email::text) and person_id is null
  and not exists (
    select from person_sign_in s
    where lower(s.email) = lower(@email::text) and s.email_verified and s.person_id <> @person_id
  );

-- The person whom an assignment for this email belongs to: whoever signed in
-- with it first.
-- name: HolderOfEmail :one
select s.person_id
from person_sign_in s
where lower(s.email) = lower(@email::text) and s.email_verified
order by s.verified_since, s.person_id
limit 1;

-- name: AssignRole :one
insert into role_assignment (role, kind, subject, provider, person_id, created_by, created_at)
values (@role, @kind, @subject, @provider, @person_id, @created_by, @at)
on conflict (role, kind, subject, provider) do update set person_id = coalesce(role_assignment.person_id, excluded.person_id)
returning id;

-- name: HasAdmin :one
select deployment_has_admin();

-- name: LockFirstAdmin :exec
select pg_advisory_xact_lock(5784293012);

-- name: BindTenant :exec
insert into deployment_tenant (tenant_id, mock, bound_at) values (@tenant_id, @mock, @at);

-- name: BoundTenant :one
select tenant_id, mock from deployment_tenant;

-- Which assignments reach which people, by the conditions of the query Principal,
-- and whether each is a member of the tenant that the database is bound to.
-- name: GivenRoles :many
with member as (
  select p.id, p.email, p.created_at,
    exists (select from deployment_tenant)
      and coalesce(greatest(i.signed_in_at, i.groups_read_at, own.groups_read_at) > now() - interval '7 days', false) as has_default,
    coalesce(greatest(i.signed_in_at, i.groups_read_at, own.groups_read_at) > now() - interval '7 days', false) as is_member,
    case
      when own.groups_read_at > now() - interval '7 days' and own.groups_read_at >= coalesce(i.groups_read_at, 'epoch') then own.group_ids
      when i.groups_read_at > now() - interval '7 days' then i.group_ids
      else '{}'
    end as group_ids
  from person p
  left join person_identity i on i.person_id = p.id
  left join powerbi_connection own on own.person_id = p.id and own.state = 'connected' and own.object_id = i.object_id
  where @everybody::boolean or p.id = any(@person_ids::uuid[])
), seen as (
  select s.person_id, s.provider, s.vouched_domain, s.group_ids
  from person_sign_in s join member m on m.id = s.person_id
  where s.signed_in_at > now() - interval '7 days'
), given as (
  select m.id as person_id, r.id from member m join role_assignment r on r.kind = 'person' and r.person_id = m.id
  union
  select s.person_id, r.id from seen s join role_assignment r on r.kind = 'domain' and r.subject = lower(s.vouched_domain)
  union
  select m.id, r.id from member m cross join unnest(m.group_ids) g
  join role_assignment r on r.kind = 'group' and r.provider = 'microsoft' and r.subject = g::text
  union
  select s.person_id, r.id from seen s cross join unnest(s.group_ids) g
  join role_assignment r on r.kind = 'group' and r.provider <> 'microsoft' and r.provider = s.provider and r.subject = g
  union
  select m.id, r.id from member m join role_assignment r on r.kind = 'tenant' where m.is_member
)
select m.id, m.email, m.has_default::boolean as has_default,
  coalesce(array_agg(g.id) filter (where g.id is not null), '{}')::uuid[] as assignment_ids
from member m left join given g on g.person_id = m.id
group by m.id, m.email, m.has_default, m.created_at
order by m.created_at, m.id;

-- Everybody who is known by an email, whom assignments for it belong to first.
-- name: PeopleOfEmail :many
select p.id from person p
left join person_sign_in s on s.person_id = p.id and lower(s.email) = lower(@email::text)
where lower(p.email) = lower(@email::text) or s.person_id is not null
group by p.id, p.created_at
order by bool_or(coalesce(s.email_verified, false)) desc, min(s.verified_since), p.id;

-- name: AccessSettings :one
select coalesce(jsonb_object_agg(s.key, s.value), '{}')::jsonb from setting s where s.key like 'access.%';

-- Everybody who is an admin by an assignment of their own and can come by another
-- provider than the given one. An assignment that nobody has claimed may be for
-- somebody who never comes, and whoever came through a provider that is gone cannot
-- come again.
-- name: AdminsWithout :one
select count(distinct r.person_id) from role_assignment r
where r.role = 'admin' and r.kind = 'person' and r.person_id is not null and not exists (
  select from account a
  where a.person_id = r.person_id and a.provider not in ('microsoft', 'dev') and (a.provider = @provider::text or not exists (
    select from setting s cross join jsonb_array_elements(s.value) p where s.key = 'auth.providers' and p ->> 'id' = a.provider)));

-- Whether a provider's end takes an admin away: somebody's own assignment, or a
-- group's that the provider names.
-- name: ProviderHasAdmins :one
select (exists (
    select from role_assignment r join account a on a.person_id = r.person_id where r.role = 'admin' and a.provider = @provider::text
  ) or exists (
    select from role_assignment r where r.role = 'admin' and r.kind = 'group' and r.provider = @provider::text
  ))::boolean;
