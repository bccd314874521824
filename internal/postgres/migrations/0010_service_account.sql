-- Service accounts: programs that call the API with a key of their own.

create table service_account (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  -- A program never runs the deployment and never reads personal data.
  roles text[] not null check (cardinality(roles) > 0 and not roles && '{admin,pii_reader}'),
  workspace_ids uuid[] not null default '{}',   -- what it may reach: all datasets of these workspaces
  app_ids uuid[] not null default '{}',         -- and of these apps
  source_cidrs cidr[] not null default '{}',    -- where it may call from; empty for anywhere
  max_key_age_days integer not null default 90 check (max_key_age_days between 1 and 90),
  disabled boolean not null default false,
  created_at timestamptz not null default now(),
  created_by text not null default '',
  changed_at timestamptz not null default now(),
  changed_by text not null default ''
);
create unique index on service_account (lower(name));
grant select, delete on service_account to api_rw;
grant insert (name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, created_by, changed_by) on service_account to api_rw;
grant update (name, roles, workspace_ids, app_ids, source_cidrs, max_key_age_days, disabled, changed_at, changed_by) on service_account to api_rw;

create table service_account_key (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references service_account on delete cascade,
  digest bytea not null unique check (length(digest) = 32),   -- SHA-256 of the key
  name text not null default '',
  -- Nobody below the migrator writes created_at, so the database's clock alone
  -- says how old a key is. Hours, not days: a day is not always 24 of them.
  created_at timestamptz not null default now(),
  created_by text not null default '',
  expires_at timestamptz not null check (expires_at <= created_at + interval '2160 hours'),
  revoked_at timestamptz
);
create index on service_account_key (account_id);
grant select on service_account_key to api_rw;
grant insert (account_id, digest, name, created_by, expires_at) on service_account_key to api_rw;
grant update (revoked_at) on service_account_key to api_rw;
