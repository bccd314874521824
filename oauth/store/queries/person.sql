-- name: InsertPerson :one
insert into person (email, name, created_at) values (@email, @name, @at) returning id;

-- name: UpdatePerson :exec
update person set email = @email, name = case when @name::text = '' then name else @name::text end where id = @id;

-- name: InsertAccount :exec
insert into account (provider, account_id, person_id, scope, created_at)
values (@provider, @account_id, @person_id, @scope, @at);

-- name: PersonByAccount :one
select p.id, p.email, p.name, a.scope
from account a join person p on p.id = a.person_id
where a.provider = @provider and a.account_id = @account_id;

-- The other Microsoft accounts that a person of this email has.
-- name: MicrosoftAccountsOfEmail :many
select a.account_id
from account a join person p on p.id = a.person_id
where a.provider = 'microsoft' and lower(p.email) = lower(@email::text);

-- A sign-in says more of whose an account is than an email that matched when
-- somebody connected it.
-- name: TakeIdentity :exec
update person_identity set person_id = @person_id where object_id = @object_id and person_id <> @person_id;

-- name: SaveIdentity :exec
insert into person_identity (person_id, object_id, signed_in_at, group_ids, groups_read_at)
values (@person_id, @object_id, @at, @group_ids, sqlc.narg(groups_read_at))
on conflict (person_id) do update set
  object_id = excluded.object_id,
  signed_in_at = excluded.signed_in_at,
  group_ids = case when excluded.groups_read_at is null then person_identity.group_ids else excluded.group_ids end,
  groups_read_at = coalesce(excluded.groups_read_at, person_identity.groups_read_at);

-- name: SaveSignIn :exec
insert into person_sign_in (person_id, provider, email, email_verified, verified_since, vouched_domain, group_ids, signed_in_at)
values (@person_id, @provider, @email, @email_verified, case when @email_verified then @at::timestamptz end, @vouched_domain, @group_ids, @at)
on conflict (person_id, provider) do update set
  verified_since = case
    when lower(person_sign_in.email) = lower(excluded.email) and excluded.email_verified
      then coalesce(person_sign_in.verified_since, excluded.verified_since)
    else excluded.verified_since
  end,
  email = excluded.email,
  email_verified = excluded.email_verified,
  vouched_domain = excluded.vouched_domain,
  group_ids = excluded.group_ids,
  signed_in_at = excluded.signed_in_at;

-- What the dev sign-in left behind, which may not stay once it is shut.
-- name: DevSignInRows :many
select 'account'::text as relation, provider, account_id as subject, person_id from account where scope = 'dev-sign-in'
union all
select 'person_sign_in', provider, email, person_id from person_sign_in where provider = 'dev'
order by relation, subject;

-- A provider that is gone vouches for nothing any more: for no email, domain or
-- group, and not for a sign-in by passkey either.
-- name: EndVouching :execrows
update person_sign_in
set email_verified = false, verified_since = null, vouched_domain = null, group_ids = '{}', signed_in_at = 'epoch'
where provider = @provider;
