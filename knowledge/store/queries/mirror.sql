-- name: StartSyncRun :one
insert into sync_run (kind, state, started_at) values (@kind, 'running', clock_timestamp())
returning id, started_at;

-- name: UnfinishedRun :one
-- The newest run, where it can be gone on with: its workspaces are listed and the
-- list is young enough. An older run never is, since another has written after it.
-- A full run is finished before an incremental one begins.
select id, kind, started_at, since
from sync_run
where id = (select max(id) from sync_run) and state <> 'succeeded' and listed_at is not null and attempts < @attempts::integer
  and (kind = 'full' and started_at > clock_timestamp() - interval '24 hours'
    or kind = 'incremental' and @kind::text = 'incremental' and started_at > clock_timestamp() - interval '1 hour');

-- name: TakeUpRun :exec
update sync_run set state = 'running', ended_at = null, error = null, attempts = attempts + 1, waiting_until = null, waiting_for = ''
where id = @id;

-- name: FailInterruptedRuns :exec
-- Called by whoever holds the lock of the sync: no other run can be going.
update sync_run set state = 'failed', ended_at = clock_timestamp(), error = 'interrupted', waiting_until = null, waiting_for = ''
where state = 'running' and id <> @but::bigint;

-- name: EndSyncRun :exec
update sync_run set
  state = @state, ended_at = clock_timestamp(), error = sqlc.narg(error), waiting_until = null, waiting_for = '',
  datasets = @datasets, measures = @measures, columns = @columns
where id = @id;

-- name: UnusableEntries :one
select unusable_entries from sync_run where id = @id;

-- name: SetListed :exec
update sync_run set listed_at = clock_timestamp(), since = sqlc.narg(since), workspaces = @workspaces where id = @id;

-- name: AddTally :exec
update sync_run set
  workspaces_done = workspaces_done + @done::integer, left_out = left_out + @left_out::integer,
  skipped = skipped + @skipped::integer, unusable_entries = unusable_entries + @unusable::integer
where id = @id;

-- name: SetWaiting :exec
update sync_run set waiting_until = sqlc.narg(until), waiting_for = @what where id = @id;

-- name: DeleteChunks :exec
delete from sync_chunk where run_id <> @but::bigint;

-- name: InsertChunk :exec
insert into sync_chunk (run_id, number, workspaces) values (@run_id, @number, @workspaces::uuid[]);

-- name: ChunksToDo :many
select number, workspaces, coalesce(scan_id, '')::text as scan_id from sync_chunk
where run_id = @run_id and done_at is null
order by number;

-- name: SetScan :exec
update sync_chunk set scan_id = nullif(@scan_id::text, '') where run_id = @run_id and number = @number;

-- name: FinishChunk :execrows
update sync_chunk set done_at = clock_timestamp(), kept = @kept::uuid[], scan_id = null
where run_id = @run_id and number = @number and done_at is null;

-- name: KeptWorkspaces :one
select coalesce(array_agg(k), '{}')::uuid[] as kept from sync_chunk, unnest(kept) k where run_id = @run_id;

-- name: LockCalls :exec
select pg_advisory_xact_lock(@key::bigint);

-- name: ForgetCalls :exec
delete from scanner_call where called_at <= clock_timestamp() - interval '1 hour';

-- name: CountCalls :one
-- Until when the oldest call of a kind counts, and how many there are.
select count(*) as calls, coalesce(extract(epoch from min(called_at) + interval '1 hour' - clock_timestamp()), 0)::float8 as seconds
from scanner_call where kind = @kind;

-- name: InsertCall :exec
insert into scanner_call (kind, called_at) values (@kind, clock_timestamp());

-- name: LastSyncRun :one
select id, kind, state, started_at, ended_at, coalesce(error, '')::text as error, datasets, measures, columns, unusable_entries
from sync_run
where kind = any(@kinds::text[]) and state = any(@states::text[])
order by id desc
limit 1;

-- name: LastFullEnd :one
-- The newest full run that ended.
select id, kind, state, started_at, ended_at, coalesce(error, '')::text as error, datasets, measures, columns, unusable_entries
from sync_run
where kind = 'full' and ended_at is not null
order by ended_at desc
limit 1;

-- name: SyncRuns :many
-- The newest runs first.
select id, kind, state, started_at, ended_at, coalesce(error, '')::text as error, attempts,
  workspaces, workspaces_done, left_out, skipped, datasets, measures, columns, unusable_entries, waiting_until, waiting_for
from sync_run
order by id desc
limit @most;

-- name: LastSuccess :one
-- When the newest run of these kinds that succeeded began: what it read is as of then.
select started_at from sync_run where kind = any(@kinds::text[]) and state = 'succeeded' order by id desc limit 1;

-- name: HolesByReason :many
select schema_error, count(*) as datasets from powerbi_dataset
where removed_at is null and schema_error <> ''
group by schema_error;

-- name: ChangedDatasets :many
-- Those whose schema a run wrote.
select id from powerbi_dataset where removed_at is null and schema_at = @seen_at::timestamptz;

-- name: UpsertWorkspaces :exec
insert into powerbi_workspace as w (id, name, folded, description, type, last_seen_at)
select unnest(@ids::uuid[]), unnest(@names::text[]), unnest(@folded::text[]), unnest(@descriptions::text[]), unnest(@types::text[]), @seen_at::timestamptz
on conflict (id) do update set
  name = excluded.name, folded = excluded.folded, description = excluded.description, type = excluded.type,
  last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: SchemaHashes :many
select id, schema_hash from powerbi_dataset where id = any(@ids::uuid[]) and schema_hash is not null;

-- name: UpsertDatasets :many
-- Where Power BI gave no schema, what is known of row-level security stays known.
-- A dataset that a run found in one workspace is not in another for that run too:
-- it is not written again, and its id does not come back.
insert into powerbi_dataset as d (
  id, workspace_id, name, folded, description, configured_by, endorsement, sensitivity_label, storage_mode,
  has_row_level_security, schema_error, last_seen_at)
select
  unnest(@ids::uuid[]), unnest(@workspace_ids::uuid[]), unnest(@names::text[]), unnest(@folded::text[]), unnest(@descriptions::text[]),
  unnest(@configured_by::text[]), unnest(@endorsements::text[]), unnest(@sensitivity_labels::text[]), unnest(@storage_modes::text[]),
  unnest(@has_row_level_security::boolean[]), unnest(@schema_errors::text[]), @seen_at::timestamptz
on conflict (id) do update set
  workspace_id = excluded.workspace_id, name = excluded.name, folded = excluded.folded, description = excluded.description,
  configured_by = excluded.configured_by, endorsement = excluded.endorsement, sensitivity_label = excluded.sensitivity_label,
  storage_mode = excluded.storage_mode,
  has_row_level_security = excluded.has_row_level_security or (excluded.schema_error <> '' and d.has_row_level_security),
  schema_error = excluded.schema_error, last_seen_at = excluded.last_seen_at, removed_at = null
where d.workspace_id = excluded.workspace_id or d.last_seen_at <> excluded.last_seen_at
returning d.id;

-- name: SetSchemaHashes :exec
update powerbi_dataset d set schema_hash = s.hash, schema_at = @seen_at::timestamptz
from (select unnest(@ids::uuid[]) as id, unnest(@hashes::bytea[]) as hash) s
where d.id = s.id;

-- name: UpsertTables :exec
insert into powerbi_table as t (dataset_id, name, folded, description, is_hidden, expression, last_seen_at)
select
  unnest(@dataset_ids::uuid[]), unnest(@names::text[]), unnest(@folded::text[]), unnest(@descriptions::text[]),
  unnest(@is_hidden::boolean[]), unnest(@expressions::text[]), @seen_at::timestamptz
on conflict (dataset_id, folded) do update set
  name = excluded.name, description = excluded.description, is_hidden = excluded.is_hidden, expression = excluded.expression,
  last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: TableIDs :many
-- The tables that were written at this time.
select dataset_id, folded, id from powerbi_table
where dataset_id = any(@dataset_ids::uuid[]) and last_seen_at = @seen_at::timestamptz;

-- name: UpsertColumns :exec
insert into powerbi_column as c (dataset_id, table_id, name, folded, description, data_type, is_hidden, expression, last_seen_at)
select
  unnest(@dataset_ids::uuid[]), unnest(@table_ids::bigint[]), unnest(@names::text[]), unnest(@folded::text[]), unnest(@descriptions::text[]),
  unnest(@data_types::text[]), unnest(@is_hidden::boolean[]), unnest(@expressions::text[]), @seen_at::timestamptz
on conflict (table_id, folded) do update set
  name = excluded.name, description = excluded.description, data_type = excluded.data_type, is_hidden = excluded.is_hidden,
  expression = excluded.expression, last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: UpsertMeasures :exec
insert into powerbi_measure as m (dataset_id, table_id, name, folded, description, expression, format, is_hidden, last_seen_at)
select
  unnest(@dataset_ids::uuid[]), unnest(@table_ids::bigint[]), unnest(@names::text[]), unnest(@folded::text[]), unnest(@descriptions::text[]),
  unnest(@expressions::text[]), unnest(@formats::text[]), unnest(@is_hidden::boolean[]), @seen_at::timestamptz
on conflict (dataset_id, folded) do update set
  table_id = excluded.table_id, name = excluded.name, description = excluded.description, expression = excluded.expression,
  format = excluded.format, is_hidden = excluded.is_hidden, last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: UpsertRoles :exec
insert into powerbi_role as r (dataset_id, name, definition, last_seen_at)
select unnest(@dataset_ids::uuid[]), unnest(@names::text[]), unnest(@definitions::jsonb[]), @seen_at::timestamptz
on conflict (dataset_id, name) do update set
  definition = excluded.definition, last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: UpsertReports :exec
insert into powerbi_report as r (id, workspace_id, dataset_id, name, app_id, original_id, last_seen_at)
select
  unnest(@ids::uuid[]), unnest(@workspace_ids::uuid[]), nullif(unnest(@dataset_ids::text[]), '')::uuid, unnest(@names::text[]),
  nullif(unnest(@app_ids::text[]), '')::uuid, nullif(unnest(@original_ids::text[]), '')::uuid, @seen_at::timestamptz
on conflict (id) do update set
  workspace_id = excluded.workspace_id, dataset_id = excluded.dataset_id, name = excluded.name, app_id = excluded.app_id,
  original_id = excluded.original_id, last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: UpsertApps :exec
-- An app whose workspace was never scanned shows nothing that we have.
insert into powerbi_app as a (id, workspace_id, name, description, last_seen_at)
select s.id, s.workspace_id, s.name, s.description, @seen_at::timestamptz
from (
  select unnest(@ids::uuid[]) as id, unnest(@workspace_ids::uuid[]) as workspace_id, unnest(@names::text[]) as name,
    unnest(@descriptions::text[]) as description
) s
where exists (select from powerbi_workspace w where w.id = s.workspace_id)
on conflict (id) do update set
  workspace_id = excluded.workspace_id, name = excluded.name, description = excluded.description,
  last_seen_at = excluded.last_seen_at, removed_at = null;

-- name: AppsSeenAt :many
select id from powerbi_app where last_seen_at = @seen_at::timestamptz;

-- name: UpsertAccess :exec
insert into powerbi_access as a (item_kind, item_id, object_id, access_right)
select @item_kind, s.item_id, s.object_id, s.access_right
from (
  select unnest(@item_ids::uuid[]) as item_id, unnest(@object_ids::uuid[]) as object_id, unnest(@access_rights::text[]) as access_right
) s
on conflict (object_id, item_kind, item_id) do update set access_right = excluded.access_right
where a.access_right <> excluded.access_right;

-- name: DeleteOtherAccess :exec
-- Entries of these items that their lists no longer have.
delete from powerbi_access a
where a.item_kind = @item_kind and a.item_id = any(@items::uuid[])
  and not exists (
    select from (select unnest(@item_ids::uuid[]) as item_id, unnest(@object_ids::uuid[]) as object_id) s
    where s.item_id = a.item_id and s.object_id = a.object_id
  );

-- name: KeepWorkspaces :exec
update powerbi_workspace set last_seen_at = @seen_at::timestamptz where removed_at is null and id = any(@ids::uuid[]) and last_seen_at < @seen_at::timestamptz;

-- name: KeepDatasets :exec
update powerbi_dataset set last_seen_at = @seen_at::timestamptz where removed_at is null and workspace_id = any(@workspace_ids::uuid[])
  and last_seen_at < @seen_at::timestamptz;

-- name: KeepReports :exec
update powerbi_report set last_seen_at = @seen_at::timestamptz where removed_at is null and workspace_id = any(@workspace_ids::uuid[])
  and last_seen_at < @seen_at::timestamptz;

-- name: RemoveWorkspaces :exec
update powerbi_workspace set removed_at = @seen_at::timestamptz where removed_at is null and last_seen_at < @seen_at::timestamptz;

-- name: RemoveDatasets :exec
-- Without its hash, a dataset that comes back is written in full.
update powerbi_dataset set removed_at = @seen_at::timestamptz, schema_hash = null
where removed_at is null and last_seen_at < @seen_at::timestamptz;

-- name: RemoveReports :exec
update powerbi_report set removed_at = @seen_at::timestamptz where removed_at is null and last_seen_at < @seen_at::timestamptz;

-- name: RemoveApps :exec
update powerbi_app set removed_at = @seen_at::timestamptz where removed_at is null and last_seen_at < @seen_at::timestamptz;

-- name: RemoveAccessOfRemoved :exec
delete from powerbi_access a
where exists (select from powerbi_workspace w where a.item_kind = 'workspace' and w.id = a.item_id and w.removed_at is not null)
   or exists (select from powerbi_dataset d where a.item_kind = 'dataset' and d.id = a.item_id and d.removed_at is not null)
   or exists (select from powerbi_app p where a.item_kind = 'app' and p.id = a.item_id and p.removed_at is not null);

-- name: RemoveTables :exec
-- A table is gone when its dataset is, or when the schema was written without it.
update powerbi_table t set removed_at = @seen_at::timestamptz
from powerbi_dataset d
where d.id = t.dataset_id and t.removed_at is null
  and (d.removed_at = @seen_at::timestamptz or (d.last_seen_at = @seen_at::timestamptz and t.last_seen_at < d.schema_at));

-- name: RemoveColumns :exec
update powerbi_column c set removed_at = @seen_at::timestamptz
from powerbi_dataset d
where d.id = c.dataset_id and c.removed_at is null
  and (d.removed_at = @seen_at::timestamptz or (d.last_seen_at = @seen_at::timestamptz and c.last_seen_at < d.schema_at));

-- name: ColumnsRemovedSinceFull :many
-- Columns of live datasets that went since the last full run, the incremental
-- runs between included, where somebody read relationships.
select c.dataset_id, t.folded as table_folded, c.folded
from powerbi_column c
join powerbi_table t on t.id = c.table_id
join powerbi_dataset d on d.id = c.dataset_id and d.removed_at is null
where c.removed_at >= coalesce((select max(started_at) from sync_run where kind = 'full' and state = 'succeeded'), '-infinity')
  and c.dataset_id in (select dataset_id from model_relationship);

-- name: RemoveMeasures :exec
update powerbi_measure m set removed_at = @seen_at::timestamptz
from powerbi_dataset d
where d.id = m.dataset_id and m.removed_at is null
  and (d.removed_at = @seen_at::timestamptz or (d.last_seen_at = @seen_at::timestamptz and m.last_seen_at < d.schema_at));

-- name: RemoveRoles :exec
update powerbi_role r set removed_at = @seen_at::timestamptz
from powerbi_dataset d
where d.id = r.dataset_id and r.removed_at is null
  and (d.removed_at = @seen_at::timestamptz or (d.last_seen_at = @seen_at::timestamptz and r.last_seen_at < d.schema_at));

-- name: AddAppDatasets :exec
insert into powerbi_app_dataset (app_id, dataset_id)
select distinct r.app_id, r.dataset_id
from powerbi_report r
join powerbi_app a on a.id = r.app_id and a.removed_at is null
join powerbi_dataset d on d.id = r.dataset_id and d.removed_at is null
where r.removed_at is null
on conflict do nothing;

-- name: RemoveAppDatasets :exec
delete from powerbi_app_dataset x
where not exists (
  select from powerbi_report r
  join powerbi_app a on a.id = r.app_id and a.removed_at is null
  join powerbi_dataset d on d.id = r.dataset_id and d.removed_at is null
  where r.removed_at is null and r.app_id = x.app_id and r.dataset_id = x.dataset_id
);

-- name: CountMirror :one
select
  (select count(*) from powerbi_dataset where removed_at is null)::integer as datasets,
  (select count(*) from powerbi_measure where removed_at is null)::integer as measures,
  (select count(*) from powerbi_column where removed_at is null)::integer as columns;

-- name: RelationshipEnds :many
select dataset_id, from_table, from_column, to_table, to_column from model_relationship where dataset_id = any(@dataset_ids::uuid[]);

-- name: DeleteRelationship :exec
delete from model_relationship
where dataset_id = @dataset_id and from_table = @from_table and from_column = @from_column and to_table = @to_table and to_column = @to_column;
