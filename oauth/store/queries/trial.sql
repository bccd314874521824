-- name: InsertTrial :one
insert into sign_in_trial (person_id, provider, client_secret, created_at, expires_at)
values (@person_id, @provider, @client_secret, @at, @expires_at)
returning id;

-- name: DeleteExpiredTrials :execrows
delete from sign_in_trial where expires_at <= @at;

-- name: Trial :one
select id, person_id, provider, client_secret, email, succeeded_at from sign_in_trial
where id = @id and expires_at > @at;

-- name: SucceedTrial :execrows
update sign_in_trial set email = @email::text, succeeded_at = @at::timestamptz where id = @id and expires_at > @at::timestamptz;

-- TakeTrial gives a trial that succeeded to whoever adds its provider first.
-- name: TakeTrial :one
delete from sign_in_trial
where id = @id and person_id = @person_id and succeeded_at is not null and expires_at > @at
returning provider, client_secret, email;

-- name: SealedTrials :many
select id, client_secret from sign_in_trial for update;

-- name: SaveSealedTrial :exec
update sign_in_trial set client_secret = @client_secret where id = @id;
