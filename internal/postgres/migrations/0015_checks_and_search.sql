-- How each check of the deployment ended last. Each container writes the rows of
-- the checks that it runs itself: the worker those that take the scanner's secret
-- (JOBS-08), the api all others. The answer is a fixed sentence (JOBS-10).
create table setting_check (
  id text primary key,
  state text not null check (state in ('passed', 'failed', 'unknown')),
  answer text not null check (char_length(answer) <= 300),
  checked_at timestamptz not null default clock_timestamp()
);
grant select, insert, update on setting_check to api_rw, worker_rw;
alter table setting_check enable row level security;
create policy api_read on setting_check for select to api_rw using (true);
create policy api_own on setting_check to api_rw
  using (id not in ('scanner', 'what_to_sync')) with check (id not in ('scanner', 'what_to_sync'));
create policy worker_own on setting_check to worker_rw
  using (id in ('scanner', 'what_to_sync')) with check (id in ('scanner', 'what_to_sync'));

-- What the search has of each element of the book and of the mirror.
create table search_document (
  element_kind text not null,
  element_id text not null,
  body text not null,                            -- the words that are searched
  body_hash bytea,                               -- of the body that the embedding is of
  embedding halfvec,                             -- null where there is none (yet)
  changed_at timestamptz not null default now(),
  primary key (element_kind, element_id)
);
grant select, insert, update, delete on search_document to worker_rw;
grant select on search_document to api_rw;

-- How far the search has come, such as which book changes it has seen.
create table search_state (
  name text primary key,
  value text not null,
  changed_at timestamptz not null default now()
);
grant select, insert, update on search_state to worker_rw;

-- What embeddings cost: a row for each accepted answer of the provider.
create table embedding_usage (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  purpose text not null check (purpose in ('documents', 'query')),
  model text not null,
  tokens integer not null check (tokens >= 0),
  cost numeric not null check (cost >= 0)        -- NaN is above every number: refused below
    check (cost < 'Infinity')
);
create index on embedding_usage (at);
grant select, insert on embedding_usage to api_rw, worker_rw;

-- For reading what changed since a snapshot.
create index on book_change (transaction_id);
