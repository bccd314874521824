-- Those whose secret is there: without one nobody can sign in.
-- name: ConfiguredProviders :many
select p.value::jsonb as provider
from setting s
cross join jsonb_array_elements(s.value) with ordinality p(value, place)
where s.key = 'auth.providers' and exists (
  select from secret_ciphertext c where c.reader = 'api' and c.name = 'sign_in.' || (p.value ->> 'id') || '.client_secret'
)
order by p.place;

-- name: EnsureProviders :exec
insert into setting (key, value) values ('auth.providers', '[]') on conflict (key) do nothing;

-- name: LockProviders :one
select value from setting where key = 'auth.providers' for update;

-- name: SaveProviders :exec
update setting set value = @value, version = version + 1, changed_at = now(), changed_by = @changed_by
where key = 'auth.providers';
