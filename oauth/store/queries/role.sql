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
