-- What a sync needs to go on where a process left it, and what people are told of
-- how far it is.

alter table sync_run
  add column since timestamptz,                           -- of an incremental run: from when on it asked for changes
  add column listed_at timestamptz,                       -- when Power BI had listed the workspaces
  add column attempts integer not null default 1,         -- how often it was begun or taken up
  add column workspaces integer not null default 0,       -- that Power BI listed
  add column workspaces_done integer not null default 0,
  add column left_out integer not null default 0,         -- listed workspaces that a scan left out
  add column skipped integer not null default 0,          -- things that could not be read or told apart
  add column waiting_until timestamptz,                   -- Power BI takes the next call then
  add column waiting_for text not null default '';        -- in a few words

-- The workspaces of a run that one scan of Power BI's reads. Only the newest run has any.
create table sync_chunk (
  run_id bigint not null references sync_run,
  number integer not null,
  workspaces uuid[] not null,
  kept uuid[] not null default '{}',                      -- of these, those whose content stays as it is known
  scan_id text,                                           -- a scan that was started for it
  done_at timestamptz,
  primary key (run_id, number)
);
grant select, insert, update, delete on sync_chunk to worker_rw;

-- The calls to the admin API of the last hour, which has a limit for each kind.
create table scanner_call (
  kind text not null,
  called_at timestamptz not null
);
create index on scanner_call (kind, called_at);
grant select, insert, delete on scanner_call to worker_rw;
