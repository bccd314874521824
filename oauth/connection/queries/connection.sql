-- name: Connection :one
select state, object_id, account, access_token, access_expires_at, refresh_token, groups_read_at, connected_at
from powerbi_connection where person_id = @person_id;

-- name: Connections :many
select c.person_id, p.email, c.state, c.object_id, c.account, c.groups_read_at, c.connected_at
from powerbi_connection c join person p on p.id = c.person_id
order by lower(p.email), c.person_id
limit @most offset @skip;

-- name: CountAllConnections :one
select count(*) from powerbi_connection;

-- LockConnection is taken before a refresh token is spent, so that two who need
-- a new access token at once spend it once.
-- name: LockConnection :one
select state, object_id, account, access_token, access_expires_at, refresh_token, groups_read_at, connected_at
from powerbi_connection where person_id = @person_id
for update;

-- Connect replaces what was connected before, its groups included: they were
-- another account's, or are read again at once.
-- name: Connect :one
insert into powerbi_connection as c (
  person_id, state, object_id, account, access_token, access_expires_at, refresh_token, group_ids, groups_read_at, connected_at, changed_at)
values (@person_id, 'connected', @object_id, @account, @access_token, @access_expires_at, @refresh_token, '{}', null, clock_timestamp(), clock_timestamp())
on conflict (person_id) do update set
  state = excluded.state, object_id = excluded.object_id, account = excluded.account,
  access_token = excluded.access_token, access_expires_at = excluded.access_expires_at, refresh_token = excluded.refresh_token,
  group_ids = excluded.group_ids, groups_read_at = excluded.groups_read_at,
  connected_at = excluded.connected_at, changed_at = excluded.changed_at
returning connected_at;

-- name: SaveTokens :exec
update powerbi_connection set
  access_token = @access_token, access_expires_at = @access_expires_at, refresh_token = @refresh_token, changed_at = clock_timestamp()
where person_id = @person_id and state = 'connected';

-- name: SaveRefreshToken :exec
update powerbi_connection set refresh_token = @refresh_token, changed_at = clock_timestamp()
where person_id = @person_id and state = 'connected';

-- SaveGroups writes only to the very connection that the groups were read for.
-- name: SaveGroups :execrows
update powerbi_connection set group_ids = @group_ids::uuid[], groups_read_at = clock_timestamp(), changed_at = clock_timestamp()
where person_id = @person_id and state = 'connected' and connected_at = @connected_at;

-- EndConnection takes the tokens and what was read through them. The name of the
-- account stays, for people to see what it was.
-- name: EndConnection :one
update powerbi_connection set
  state = @state, access_token = null, access_expires_at = null, refresh_token = null,
  group_ids = '{}', groups_read_at = null, changed_at = clock_timestamp()
where person_id = @person_id and state <> 'disconnected'
returning object_id, account;

-- name: SaveState :exec
insert into sign_in_state (digest, purpose, provider, session_id, nonce, verifier, next, created_at, expires_at)
values (@digest, 'connect', 'microsoft', @session_id, @nonce, @verifier, @next, @at, @expires_at);

-- name: DropStates :exec
delete from sign_in_state where (purpose = 'connect' and session_id = @session_id::uuid) or expires_at <= @at;

-- A state is spent by whoever brings it, good or not.
-- name: TakeState :one
delete from sign_in_state where digest = @digest and purpose = 'connect'
returning session_id, nonce, verifier, next, expires_at;

-- The Microsoft account that a person is known by.
-- name: IdentityOf :one
select object_id from person_identity where person_id = @person_id;

-- name: HasVerifiedEmail :one
select exists (
  select from person_sign_in where person_id = @person_id and email_verified and lower(email) = lower(@email::text)
);

-- ClaimIdentity fails where somebody else is known by the account. The person did
-- not sign in with it: what it gives follows from what is read over the connection.
-- name: ClaimIdentity :exec
insert into person_identity (person_id, object_id) values (@person_id, @object_id);

-- SealedTokens gives the tokens of the next people as they are stored.
-- name: SealedTokens :many
select person_id, access_token, refresh_token from powerbi_connection
where person_id > @after and (access_token is not null or refresh_token is not null)
order by person_id limit @up_to;

-- ResealTokens changes how tokens are kept and nothing that anybody could see.
-- name: ResealTokens :exec
update powerbi_connection set access_token = @access_token, refresh_token = @refresh_token
where person_id = @person_id and state = 'connected';

-- name: CountConnections :one
select count(*) from powerbi_connection where state = @state;

-- IdleConnections gives the next people whose groups were not read since a time.
-- name: IdleConnections :many
select person_id from powerbi_connection
where person_id > @after and state = 'connected' and (groups_read_at is null or groups_read_at < @since::timestamptz)
order by person_id limit @up_to;

-- LatestConnections gives the people whose connections were used last.
-- name: LatestConnections :many
select person_id from powerbi_connection where state = 'connected' order by changed_at desc, person_id limit @up_to;
