-- What the database itself guards of the settings, whoever writes (TENANT-13 to
-- TENANT-15). A path that a session chose must not decide which tables these
-- functions look at.

create function setting_keeps_tenant() returns trigger
  language plpgsql set search_path = public, pg_temp
  as $$
declare
  bound text;
begin
  select t.tenant_id::text into bound from deployment_tenant t;
  if bound is null then
    return coalesce(new, old);
  end if;
  if tg_op = 'DELETE' then
    if old.key = 'powerbi.tenant_id' then
      raise exception 'the tenant of a bound database stays' using errcode = 'check_violation', constraint = 'setting_keeps_tenant';
    end if;
    return old;
  end if;
  -- What is no text is no tenant either.
  if new.key = 'powerbi.tenant_id' and new.value is distinct from to_jsonb(bound) then
    raise exception 'a bound database belongs to its tenant' using errcode = 'check_violation', constraint = 'setting_keeps_tenant';
  end if;
  return new;
end $$;
revoke all on function setting_keeps_tenant() from public;

create trigger setting_keeps_tenant before insert or update or delete on setting
  for each row execute function setting_keeps_tenant();

create function setting_keeps_key() returns trigger
  language plpgsql set search_path = public, pg_temp
  as $$
begin
  if new.key is distinct from old.key then
    raise exception 'a setting is never renamed' using errcode = 'check_violation', constraint = 'setting_keeps_key';
  end if;
  return new;
end $$;
revoke all on function setting_keeps_key() from public;

create trigger setting_keeps_key before update on setting
  for each row execute function setting_keeps_key();

-- The default role of the tenant's members is a setting (access.default_role) and
-- no longer an assignment that the setup makes.
delete from role_assignment where kind = 'tenant' and role = 'viewer' and created_by = 'setup';

-- Callers are read with some of the settings, and with whether the database is bound.
create trigger revise after insert or update or delete on setting for each row execute function revise_subject('roles');
create trigger revise_all after truncate on setting for each statement execute function revise_subject('roles');
create trigger revise after insert or update or delete on deployment_tenant for each row execute function revise_subject('roles');
create trigger revise_all after truncate on deployment_tenant for each statement execute function revise_subject('roles');
