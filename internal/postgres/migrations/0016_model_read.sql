-- Everything that the api reads of a model under people's tokens, in parts: who
-- may read one may not read another, and each has its own age. What was read
-- counts as complete while the schema is the one that it was read with.
alter table model_read
  add column part text not null default 'relationships'
    check (part in ('relationships', 'calculation_groups', 'calculation_items', 'functions')),
  add column schema_hash bytea;                 -- of the dataset before it was read
alter table model_read drop constraint model_read_pkey;
alter table model_read add primary key (dataset_id, part);

-- Which tables are calculation groups: whoever may query the model may read it.
create table model_calculation_group (
  dataset_id uuid not null references powerbi_dataset,
  table_name text not null,
  precedence integer not null,
  seen_at timestamptz not null default now(),
  primary key (dataset_id, table_name)
);
grant select, insert, update, delete on model_calculation_group to api_rw;
grant select on model_calculation_group to worker_rw;

-- What the items do: only who may edit the model may read it, and then all of it.
create table model_calculation_item (
  dataset_id uuid not null references powerbi_dataset,
  table_name text not null,
  name text not null,
  ordinal integer not null,
  expression text not null,                     -- DAX
  seen_at timestamptz not null default now(),
  primary key (dataset_id, table_name, name)
);
grant select, insert, delete on model_calculation_item to api_rw;
grant select on model_calculation_item to worker_rw;

-- User-defined functions, read as the items are.
create table model_function (
  dataset_id uuid not null references powerbi_dataset,
  name text not null,
  expression text not null,                     -- DAX, the parameter list in front
  seen_at timestamptz not null default now(),
  primary key (dataset_id, name)
);
grant select, insert, delete on model_function to api_rw;
grant select on model_function to worker_rw;
