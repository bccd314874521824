-- name: AddRelationships :exec
-- What is known only grows: a property that anybody ever saw stays.
insert into model_relationship as r (
  dataset_id, from_table, from_column, to_table, to_column, name, is_active, both_filter, both_secure, from_one, to_many, seen_at)
select
  @dataset_id::uuid, unnest(@from_tables::text[]), unnest(@from_columns::text[]), unnest(@to_tables::text[]), unnest(@to_columns::text[]),
  unnest(@names::text[]), unnest(@is_active::boolean[]), unnest(@both_filter::boolean[]), unnest(@both_secure::boolean[]),
  unnest(@from_one::boolean[]), unnest(@to_many::boolean[]), clock_timestamp()
on conflict (dataset_id, from_table, from_column, to_table, to_column) do update set
  name = excluded.name, is_active = r.is_active or excluded.is_active, both_filter = r.both_filter or excluded.both_filter,
  both_secure = r.both_secure or excluded.both_secure, from_one = r.from_one or excluded.from_one,
  to_many = r.to_many or excluded.to_many, seen_at = excluded.seen_at;

-- name: AddCalculationGroups :exec
-- Who sees less of a model takes nothing away.
insert into model_calculation_group (dataset_id, table_name, precedence, seen_at)
select @dataset_id::uuid, unnest(@tables::text[]), unnest(@precedences::integer[]), clock_timestamp()
on conflict (dataset_id, table_name) do update set precedence = excluded.precedence, seen_at = excluded.seen_at;

-- name: CalculationGroups :many
select table_name from model_calculation_group where dataset_id = @dataset_id order by table_name;

-- name: DeleteCalculationGroups :exec
delete from model_calculation_group where dataset_id = @dataset_id and not table_name = any(@kept::text[]);

-- name: DeleteCalculationItems :exec
delete from model_calculation_item where dataset_id = @dataset_id;

-- name: AddCalculationItems :exec
insert into model_calculation_item (dataset_id, table_name, name, ordinal, expression, seen_at)
select @dataset_id::uuid, unnest(@tables::text[]), unnest(@names::text[]), unnest(@ordinals::integer[]), unnest(@expressions::text[]), clock_timestamp()
on conflict do nothing;

-- name: DeleteFunctions :exec
delete from model_function where dataset_id = @dataset_id;

-- name: AddFunctions :exec
insert into model_function (dataset_id, name, expression, seen_at)
select @dataset_id::uuid, unnest(@names::text[]), unnest(@expressions::text[]), clock_timestamp()
on conflict do nothing;

-- name: SchemaHash :one
select schema_hash from powerbi_dataset where id = @id;

-- name: ReadParts :many
-- What is known of each part of the schema as it is now.
select r.part, r.state, r.read_at
from model_read r join powerbi_dataset d on d.id = r.dataset_id
where r.dataset_id = @dataset_id
  and r.schema_hash is not distinct from d.schema_hash and r.read_at >= coalesce(d.schema_at, r.read_at);

-- name: SetModelRead :exec
insert into model_read (dataset_id, part, state, reason, read_by, read_at, schema_hash)
values (@dataset_id, @part, 'read', '', @read_by, clock_timestamp(), @schema_hash)
on conflict (dataset_id, part) do update set
  state = excluded.state, reason = excluded.reason, read_by = excluded.read_by, read_at = excluded.read_at, schema_hash = excluded.schema_hash;

-- name: SetModelUnread :exec
-- What somebody has read of the schema as it is stays read, whoever fails later.
insert into model_read as r (dataset_id, part, state, reason, read_by, read_at, schema_hash)
values (@dataset_id, @part, @state, @reason, @read_by, clock_timestamp(), @schema_hash)
on conflict (dataset_id, part) do update set
  state = excluded.state, reason = excluded.reason, read_by = excluded.read_by, read_at = excluded.read_at, schema_hash = excluded.schema_hash
where r.state <> 'read' or exists (
  select from powerbi_dataset d where d.id = r.dataset_id
    and (r.schema_hash is distinct from d.schema_hash or r.read_at < d.schema_at));

-- name: ModelReaders :many
-- People under whose token a model may be read: curators and admins who reach it
-- first, among them those who may edit it, then whoever queried it last.
select c.person_id
from powerbi_connection c
cross join lateral (
  select coalesce(bool_or(true), false) as reaches,
    coalesce(bool_or(a.access_right in ('Admin', 'Member', 'Contributor') or a.access_right like '%Write%'), false) as edits
  from powerbi_dataset d
  join powerbi_access a on a.item_kind = 'workspace' and a.item_id = d.workspace_id or a.item_kind = 'dataset' and a.item_id = d.id
  where d.id = @dataset_id and (a.object_id = c.object_id or a.object_id = any(c.group_ids))
) has
cross join lateral (
  select has.reaches and exists (select from role_assignment a where a.person_id = c.person_id and a.role in ('curator', 'admin')) as curates
) who
where c.state = 'connected'
order by
  who.curates desc, (who.curates and has.edits) desc,
  (select max(q.at) from query_log q where q.principal_id = c.person_id::text and q.dataset_id = @dataset_id and q.outcome = 'done') desc nulls last,
  has.edits desc, has.reaches desc, c.changed_at desc
limit @how_many;

-- name: ModelsInUse :many
-- Live datasets that somebody queried lately and of which nobody has tried to read
-- some part since then.
select d.id
from powerbi_dataset d
where d.removed_at is null
  and exists (select from query_log q where q.dataset_id = d.id and q.at > @since)
  and (select count(*) from model_read r where r.dataset_id = d.id and r.read_at >= @read_before) < @parts::integer;
