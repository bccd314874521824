-- The mirror of the tenant's metadata, written by the worker alone. While a
-- dataset's schema stays the same its tables, columns, measures and roles are not
-- written again: what is live in it was last seen when the dataset was.

create table sync_run (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('full', 'incremental')),
  state text not null check (state in ('running', 'succeeded', 'failed')),
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  error text,
  datasets integer not null default 0,
  measures integer not null default 0,
  columns integer not null default 0,
  unusable_entries integer not null default 0
);
grant select, insert, update on sync_run to worker_rw;
grant select on sync_run to api_rw;

create table powerbi_workspace (
  id uuid primary key,
  name text not null,
  folded text not null,
  description text not null default '',
  type text not null default '',
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz
);
grant select, insert, update on powerbi_workspace to worker_rw;
grant select on powerbi_workspace to api_rw;

create table powerbi_dataset (
  id uuid primary key,
  workspace_id uuid not null references powerbi_workspace,
  name text not null,
  folded text not null,
  description text not null default '',
  configured_by text not null default '',
  endorsement text not null default '',         -- Promoted, Certified or empty
  sensitivity_label text not null default '',
  storage_mode text not null default '',
  has_row_level_security boolean not null default false,
  schema_error text not null default '',        -- why Power BI gave no tables; empty where it gave them
  custom jsonb not null default '{}',           -- custom fields, the book's own
  own_description text not null default '',     -- the book's own
  schema_hash bytea,                            -- of the tables and roles as they were last written
  schema_at timestamptz,                        -- when that was: what was last seen before then is gone
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz
);
create index on powerbi_dataset (workspace_id);
create index on powerbi_dataset (folded) where removed_at is null;
grant select, insert, update on powerbi_dataset to worker_rw;
grant select, update (custom, own_description) on powerbi_dataset to api_rw;

-- Whether a dataset is off in the book: an admin's decision, so not the mirror's.
create table dataset_switch (
  dataset_id uuid primary key references powerbi_dataset,
  is_off boolean not null,
  changed_at timestamptz not null default now(),
  changed_by text not null default ''
);
grant select, insert, update on dataset_switch to api_rw;
grant select on dataset_switch to worker_rw;

create table powerbi_table (
  id bigint generated always as identity primary key,
  dataset_id uuid not null references powerbi_dataset,
  name text not null,
  folded text not null,
  description text not null default '',
  is_hidden boolean not null default false,
  expression text not null default '',          -- DAX of a calculated table
  custom jsonb not null default '{}',
  own_description text not null default '',
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz,
  unique (dataset_id, folded)
);
grant select, insert, update on powerbi_table to worker_rw;
grant select, update (custom, own_description) on powerbi_table to api_rw;

create table powerbi_column (
  id bigint generated always as identity primary key,
  dataset_id uuid not null references powerbi_dataset,
  table_id bigint not null references powerbi_table,
  name text not null,
  folded text not null,
  description text not null default '',
  data_type text not null default '',           -- as knowledge.DataType
  is_hidden boolean not null default false,
  expression text not null default '',          -- DAX of a calculated column
  custom jsonb not null default '{}',
  own_description text not null default '',
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz,
  unique (table_id, folded)
);
create index on powerbi_column (dataset_id);
create index on powerbi_column (folded) where removed_at is null;
grant select, insert, update on powerbi_column to worker_rw;
grant select, update (custom, own_description) on powerbi_column to api_rw;

create table powerbi_measure (
  id bigint generated always as identity primary key,
  dataset_id uuid not null references powerbi_dataset,
  table_id bigint not null references powerbi_table,
  name text not null,
  folded text not null,
  description text not null default '',
  expression text not null default '',          -- DAX; empty where it is not known
  format text not null default '',
  is_hidden boolean not null default false,
  custom jsonb not null default '{}',
  own_description text not null default '',
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz,
  unique (dataset_id, folded)
);
create index on powerbi_measure (table_id);
create index on powerbi_measure (folded) where removed_at is null;
-- Words of names and descriptions, for search by words.
create index on powerbi_measure using gin (to_tsvector('simple', name || ' ' || description)) where removed_at is null;
grant select, insert, update on powerbi_measure to worker_rw;
grant select, update (custom, own_description) on powerbi_measure to api_rw;

-- A role of a model's row-level security, as the scan gave it.
create table powerbi_role (
  dataset_id uuid not null references powerbi_dataset,
  name text not null,
  definition jsonb not null,                    -- members and table permissions
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz,
  primary key (dataset_id, name)
);
grant select, insert, update on powerbi_role to worker_rw;
grant select on powerbi_role to api_rw;

create table powerbi_report (
  id uuid primary key,
  workspace_id uuid not null references powerbi_workspace,
  dataset_id uuid,
  name text not null,
  app_id uuid,                                  -- of an app's copy
  original_id uuid,                             -- of an app's copy: the report that it copies
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz
);
grant select, insert, update on powerbi_report to worker_rw;
grant select on powerbi_report to api_rw;

create table powerbi_app (
  id uuid primary key,
  workspace_id uuid not null references powerbi_workspace,
  name text not null,
  description text not null default '',
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  removed_at timestamptz
);
grant select, insert, update on powerbi_app to worker_rw;
grant select on powerbi_app to api_rw;

-- The datasets behind an app's reports.
create table powerbi_app_dataset (
  app_id uuid not null references powerbi_app,
  dataset_id uuid not null references powerbi_dataset,
  primary key (app_id, dataset_id)
);
create index on powerbi_app_dataset (dataset_id);
grant select, insert, delete on powerbi_app_dataset to worker_rw;
grant select on powerbi_app_dataset to api_rw;

-- Who may reach what: an entry of a workspace, of an app's audience or of a
-- dataset's shares, by Entra object id (a person's or a group's).
create table powerbi_access (
  item_kind text not null check (item_kind in ('workspace', 'app', 'dataset')),
  item_id uuid not null,
  object_id uuid not null,
  access_right text not null check (access_right not in ('', 'None')),
  primary key (object_id, item_kind, item_id)
);
create index on powerbi_access (item_kind, item_id);
grant select, insert, update, delete on powerbi_access to worker_rw;
grant select on powerbi_access to api_rw;

-- What the api reads of a model under a person's token, since the scanner does
-- not give it. It only grows until a full scan confirms that something is gone.
create table model_relationship (
  dataset_id uuid not null references powerbi_dataset,
  from_table text not null,
  from_column text not null,
  to_table text not null,
  to_column text not null,
  name text not null default '',
  is_active boolean not null,
  both_filter boolean not null default false,
  both_secure boolean not null default false,
  from_one boolean not null default false,
  to_many boolean not null default false,
  seen_at timestamptz not null default now(),
  primary key (dataset_id, from_table, from_column, to_table, to_column)
);
grant select, insert, update on model_relationship to api_rw;
grant select, delete on model_relationship to worker_rw;

-- The state of that reading, for each dataset.
create table model_read (
  dataset_id uuid primary key references powerbi_dataset,
  state text not null check (state in ('read', 'refused', 'failed')),
  reason text not null default '',
  read_by uuid,
  read_at timestamptz not null default now()
);
grant select, insert, update on model_read to api_rw;
grant select on model_read to worker_rw;
