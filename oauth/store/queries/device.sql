-- name: InsertDeviceRequest :exec
insert into device_request (digest, user_digest, grant_id, client_id, scopes, audience, started_at, started_from, expires_at)
values (@digest, @user_digest, @grant_id, @client_id, @scopes, @audience, @at, @started_from, @expires_at);

-- What expired is kept for a while, so that the device learns why it waits in vain.
-- name: DeleteOldDeviceRequests :execrows
delete from device_request where expires_at < @before;

-- Only what can still be answered: a code is looked up without being claimed.
-- name: OpenDeviceRequest :one
select client_id, started_at, started_from, expires_at
from device_request
where user_digest = @user_digest and state = 0 and expires_at > @at;

-- The answer claims the request for whoever gives it; of two at once, one finds
-- no row.
-- name: AnswerDeviceRequest :one
update device_request set state = @state, person_id = @person_id
where user_digest = @user_digest and state = 0 and expires_at > @at
returning grant_id, client_id, scopes, audience;

-- name: DeviceRequest :one
select d.grant_id, d.client_id, coalesce(d.person_id::text, '')::text as person_id, d.scopes, d.audience, d.state, d.started_at, d.expires_at,
  (d.used_at is not null or coalesce(g.revoked_at is not null, false))::boolean as dead
from device_request d left join oauth_grant g on g.id = d.grant_id
where d.digest = @digest;

-- A poll that comes too early leaves the time of the last good one, so that who
-- polls too often still gets through now and then.
-- name: PollDeviceRequest :execrows
update device_request set polled_at = @at
where digest = @digest and (polled_at is null or polled_at <= @last_before);

-- name: SpendDeviceRequest :execrows
update device_request set used_at = @at where digest = @digest and used_at is null;
