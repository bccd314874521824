-- The records of who saw or changed what: append-only for everybody below the
-- migrator. The processes write them inside their own transactions, as audit_writer.

create table audit_event (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  principal_kind text not null,
  principal_id text not null,
  principal_name text not null default '',
  via text not null,
  client_id text not null default '',
  credential text not null default '',
  address text not null default '',
  request_id text not null default '',
  action text not null,                          -- the operation or event, such as mark_pii
  outcome text not null check (outcome in ('allow', 'deny', 'error')),
  element text not null default '',              -- what it was done to
  reason text not null default '',               -- of a deny: its kind
  detail jsonb not null default '{}'             -- references and counts; never values
);
create index on audit_event (at);
create index on audit_event (principal_id, at);
grant insert on audit_event to audit_writer;
grant select on audit_event to api_rw;

create table query_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  principal_id text not null,
  via text not null,
  client_id text not null default '',
  dataset_id uuid not null,
  dax text not null,
  purpose text not null default '',
  outcome text not null,                         -- done, or the kind of the error
  rows integer,
  milliseconds integer not null,
  request_id text not null default '',
  ran_as text not null default ''                -- the object id whose rights it ran under
);
create index on query_log (at);
create index on query_log (principal_id, at);
grant insert on query_log to audit_writer;
grant select on query_log to api_rw;

create table book_change (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  principal_kind text not null,
  principal_id text not null,
  principal_name text not null default '',
  via text not null,
  client_id text not null default '',
  element_kind text not null,
  element_id text not null,
  before jsonb,
  after jsonb
);
create index on book_change (element_kind, element_id, id);
grant select, insert on book_change to api_rw;
grant select on book_change to worker_rw;
