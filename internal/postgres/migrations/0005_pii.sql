-- Rules on personal data, by name alone: they hold in every dataset.
create table pii_rule (
  id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in ('table', 'column', 'measure')),
  table_name text not null check (table_name <> ''),
  name text not null default '' check ((name = '') = (kind = 'table')),
  table_folded text not null,
  name_folded text not null,
  pii boolean not null,                          -- false: reviewed and cleared
  note text not null default '',
  version bigint not null default 1,
  changed_at timestamptz not null default now(),
  changed_by text not null default '',
  changed_by_name text not null default '',
  changed_via text not null default '',
  unique (kind, table_folded, name_folded)
);
grant select, insert, update, delete on pii_rule to api_rw;
grant select on pii_rule to worker_rw;
