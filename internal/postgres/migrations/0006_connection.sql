-- A person's Power BI connection: tokens sealed for the api alone, and the groups
-- that were read through it, which decide visibility and nothing else.
create table powerbi_connection (
  person_id uuid primary key references person,
  state text not null check (state in ('connected', 'needs_reconnect', 'disconnected')),
  object_id uuid not null,
  account text not null default '',              -- the account's name, for people to read
  access_token bytea,                            -- age files for the api's identity
  access_expires_at timestamptz,
  refresh_token bytea,
  group_ids uuid[] not null default '{}',
  groups_read_at timestamptz,
  connected_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  check (state = 'connected' or (access_token is null and refresh_token is null))
);
grant select, insert, update on powerbi_connection to api_rw;
