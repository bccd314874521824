-- name: Keys :many
select kid, public_key, private_key, created_at from jwks order by created_at desc, kid;

-- name: InsertKey :exec
insert into jwks (kid, public_key, private_key, created_at) values (@kid, @public_key, @private_key, @at);

-- LockKeys lets one process make the first key while the others wait.
-- name: LockKeys :exec
select pg_advisory_xact_lock(5784293011);

-- name: SaveSealedKey :exec
update jwks set private_key = @private_key where kid = @kid;
