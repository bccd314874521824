-- name: InsertSession :one
insert into session (digest, person_id, provider, created_at, expires_at)
values (@digest, @person_id, @provider, @at, @expires_at)
returning id;

-- name: Session :one
select s.id, s.person_id, s.provider, s.created_at, s.expires_at, p.email, p.name
from session s join person p on p.id = s.person_id
where s.digest = @digest and s.expires_at > @at;

-- name: DeleteSession :execrows
delete from session where digest = @digest;

-- name: DeleteExpiredSessions :execrows
delete from session where expires_at <= @at;

-- name: InsertSignInState :exec
insert into sign_in_state (digest, purpose, provider, session_id, nonce, verifier, next, created_at, expires_at)
values (@digest, @purpose, @provider, @session_id, @nonce, @verifier, @next, @at, @expires_at);

-- A state is spent by whoever takes it first, good or not.
-- name: TakeSignInState :one
delete from sign_in_state where digest = @digest
returning purpose, provider, session_id, nonce, verifier, next, expires_at;

-- name: DeleteExpiredSignInStates :execrows
delete from sign_in_state where expires_at <= @at;

-- Those that its people opened by passkey too: an account is of one provider.
-- name: DeleteSessionsOfProvider :execrows
delete from session
where session.provider = @provider or person_id in (select a.person_id from account a where a.provider = @provider);
