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

-- name: SetModelRead :exec
insert into model_read (dataset_id, state, reason, read_by, read_at)
values (@dataset_id, 'read', '', @read_by, clock_timestamp())
on conflict (dataset_id) do update set state = excluded.state, reason = excluded.reason, read_by = excluded.read_by, read_at = excluded.read_at;

-- name: SetModelUnread :exec
-- What somebody has read of the schema as it is stays read, whoever fails later.
insert into model_read as r (dataset_id, state, reason, read_by, read_at)
values (@dataset_id, @state, @reason, @read_by, clock_timestamp())
on conflict (dataset_id) do update set state = excluded.state, reason = excluded.reason, read_by = excluded.read_by, read_at = excluded.read_at
where r.state <> 'read' or r.read_at < (select d.schema_at from powerbi_dataset d where d.id = r.dataset_id);

-- name: ModelReaders :many
-- People under whose token a model may be read: curators and admins first, then
-- whoever queried it last.
select c.person_id
from powerbi_connection c
where c.state = 'connected'
order by
  exists (select from role_assignment a where a.person_id = c.person_id and a.role in ('curator', 'admin')) desc,
  (select max(q.at) from query_log q where q.principal_id = c.person_id::text and q.dataset_id = @dataset_id and q.outcome = 'done') desc nulls last,
  c.changed_at desc
limit @how_many;

-- name: ModelsInUse :many
-- Live datasets that somebody queried lately and nobody has read since then.
select d.id
from powerbi_dataset d
left join model_read r on r.dataset_id = d.id
where d.removed_at is null
  and exists (select from query_log q where q.dataset_id = d.id and q.at > @since)
  and (r.dataset_id is null or r.read_at < @read_before);
