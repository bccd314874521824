-- What every other table stands on. The roles migrator, api_rw, worker_rw and
-- audit_writer, and the extension vector, exist before the first migration
-- (internal/postgres, Bootstrap); every table's grants stand below it.

revoke all on schema public from public;
grant usage on schema public to api_rw, worker_rw, audit_writer;

-- Which migrations were applied. The digest tells when a file was edited afterwards.
create table schema_migration (
  number integer primary key,
  name text not null,
  digest text not null,
  applied_at timestamptz not null default now()
);
grant select on schema_migration to api_rw, worker_rw;

-- One typed value for each setting that differs from its default.
create table setting (
  key text primary key,
  value jsonb not null,
  version bigint not null default 1,
  changed_at timestamptz not null default now(),
  changed_by text not null default ''
);
grant select, insert, update, delete on setting to api_rw;
grant select on setting to worker_rw;

-- The one Microsoft tenant that this database belongs to, for its whole life.
create table deployment_tenant (
  only_one boolean primary key default true check (only_one),
  tenant_id uuid not null,
  mock boolean not null,
  bound_at timestamptz not null default now()
);
grant select, insert on deployment_tenant to api_rw;
grant select on deployment_tenant to worker_rw;

-- The public halves of the identities that secrets are sealed for.
create table container_identity (
  container text primary key check (container in ('api', 'worker')),
  recipient text not null,
  published_at timestamptz not null default now()
);
grant select, insert, update on container_identity to api_rw, worker_rw;
alter table container_identity enable row level security;
create policy read_all on container_identity for select using (true);
create policy api_own on container_identity to api_rw using (container = 'api') with check (container = 'api');
create policy worker_own on container_identity to worker_rw using (container = 'worker') with check (container = 'worker');

-- A secret, sealed for each of its readers and for nobody else.
create table secret_ciphertext (
  name text not null,
  reader text not null check (reader in ('api', 'worker')),
  recipient text not null,
  ciphertext bytea not null,
  last_four text not null default '',
  set_at timestamptz not null default now(),
  set_by text not null default '',
  expires_at timestamptz,
  primary key (name, reader)
);
grant select, insert, update, delete on secret_ciphertext to api_rw;
grant select on secret_ciphertext to worker_rw;

-- How often something happened in a window, for every rate limit.
create table request_rate (
  rule text not null,
  subject text not null,
  window_start timestamptz not null,
  count integer not null,
  primary key (rule, subject, window_start)
);
create index on request_rate (window_start);
grant select, insert, update on request_rate to api_rw;
grant select, delete on request_rate to worker_rw;
