-- name: Client :one
select id, kind, name, redirect_uris, grant_types, scopes, resource, document, created_at, changed_at, authorization_requested_at
from oauth_client where id = @id;

-- name: InsertClient :exec
insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource, created_at, changed_at)
values (@id, @kind, @name, @redirect_uris, @grant_types, @scopes, @resource, @at, @at);

-- What a metadata document says now, in place of what it said before. Since when
-- the client is known stays.
-- name: SaveDocument :one
insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource, document, created_at, changed_at)
values (@id, 'metadata_document', @name, @redirect_uris, @grant_types, @scopes, @resource, @document, @at, @at)
on conflict (id) do update set
  name = excluded.name, redirect_uris = excluded.redirect_uris, document = excluded.document, changed_at = excluded.changed_at
where oauth_client.kind = 'metadata_document'
returning created_at;

-- Clients that nobody ever let in and that did not change for a day, except
-- where somebody may be looking at the consent screen right now.
-- name: PruneClients :execrows
delete from oauth_client c
where c.kind <> 'built_in'
  and c.changed_at < @unchanged_since
  and (c.authorization_requested_at is null or c.authorization_requested_at < @requested_since)
  and not exists (select from oauth_consent k where k.client_id = c.id)
  and not exists (select from oauth_grant g where g.client_id = c.id);

-- name: TouchClient :exec
update oauth_client set authorization_requested_at = @at
where id = @id and (authorization_requested_at is null or authorization_requested_at < @at);
