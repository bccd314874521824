-- name: InsertPasskeyCeremony :exec
insert into passkey_ceremony (digest, purpose, state, created_at, expires_at)
values (@digest, @purpose, @state, @at, @expires_at);

-- A ceremony is spent by whoever takes it first, good or not.
-- name: TakePasskeyCeremony :one
delete from passkey_ceremony where digest = @digest
returning purpose, state, expires_at;

-- name: DeleteExpiredPasskeyCeremonies :execrows
delete from passkey_ceremony where expires_at <= @at;

-- name: PasskeysOf :many
select id, person_id, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, name, created_at, last_used_at
from passkey where person_id = @person_id order by created_at, id;

-- name: PasskeyByCredential :one
select id, person_id, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, name, created_at, last_used_at
from passkey where credential_id = @credential_id;

-- Whoever adds passkeys of one person does so one at a time.
-- name: LockPerson :exec
select id from person where id = @id for update;

-- name: CountPasskeys :one
select count(*) from passkey where person_id = @person_id;

-- name: InsertPasskey :one
insert into passkey (person_id, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, name, created_at)
values (@person_id, @credential_id, @public_key, @sign_count, @transports, @backup_eligible, @backed_up, @name, @at)
returning id;

-- name: DeletePasskey :execrows
delete from passkey where id = @id and person_id = @person_id;

-- The count that the passkey was last used with, which nobody else changes meanwhile.
-- name: LockPasskey :one
select id, sign_count from passkey where credential_id = @credential_id and person_id = @person_id for update;

-- name: UsePasskey :exec
update passkey set sign_count = @sign_count, backed_up = @backed_up, last_used_at = @at::timestamptz where id = @id;

-- How somebody's passkeys stand: whether a provider vouched for them within 7
-- days, and whether the dev sign-in made their account. What it vouched for
-- itself counts only while it is open.
-- name: PasskeyStanding :one
select
  exists (
    select from person_sign_in s
    where s.person_id = @person_id and s.signed_in_at > now() - interval '7 days' and (s.provider <> 'dev' or not @refuse_dev::boolean)
  ) as vouched,
  exists (select from account a where a.person_id = @person_id and a.scope = 'dev-sign-in') as dev_account;
