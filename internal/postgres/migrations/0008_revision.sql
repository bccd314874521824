-- What tells a process whether what it read can have changed since. Each subject
-- stands for some tables and has a set of ids. Whoever changes one of the tables
-- adds an id that nobody had before, in the same transaction, so two readers see
-- the same set only where no change was committed between their reads.
--
-- A set and not a number, because nobody waits here for anybody: a writer takes
-- away the ids that it can see and that no other is taking away. The primary key
-- makes it one id for each transaction, however many rows that changes.

create table revision (
  subject text not null,                   -- roles, tenant, pii, or person: and an id
  transaction xid8 not null default pg_current_xact_id(),
  id uuid not null default gen_random_uuid(),
  primary key (subject, transaction)
);
grant select on revision to api_rw, worker_rw;

create function revise(changed text) returns void
  language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  insert into revision (subject) values (changed) on conflict do nothing;
  if found then
    delete from revision r using (
      select s.transaction from revision s
      where s.subject = changed and s.transaction <> pg_current_xact_id()
      for update skip locked
    ) old
    where r.subject = changed and r.transaction = old.transaction;
  end if;
end $$;
revoke all on function revise(text) from public;

-- Of a whole table: the subject is the trigger's argument.
create function revise_subject() returns trigger
  language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  perform revise(tg_argv[0]);
  return null;
end $$;
revoke all on function revise_subject() from public;

-- Of the person whose row it is, or to whom it belongs.
create function revise_person() returns trigger
  language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  if tg_table_name = 'person' then
    perform revise('person:' || old.id);
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform revise('person:' || old.person_id);
  end if;
  if tg_op <> 'DELETE' then
    perform revise('person:' || new.person_id);
  end if;
  return null;
end $$;
revoke all on function revise_person() from public;

-- Who somebody is, by which credential, and what they hold. A new credential
-- changes nothing about those that there are.
create trigger revise after update or delete on person for each row execute function revise_person();
create trigger revise after insert or update or delete on person_identity for each row execute function revise_person();
create trigger revise after insert or update or delete on person_sign_in for each row execute function revise_person();
create trigger revise after insert or update or delete on powerbi_connection for each row execute function revise_person();
create trigger revise after update or delete on session for each row execute function revise_person();
create trigger revise after update or delete on oauth_grant for each row execute function revise_person();
create trigger revise after update or delete on oauth_consent for each row execute function revise_person();
create trigger revise after insert or update or delete on role_assignment for each row execute function revise_subject('roles');

-- Everybody is read with the subject roles, so it stands for a whole table too.
create trigger revise_all after truncate on person for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on person_identity for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on person_sign_in for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on powerbi_connection for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on session for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on oauth_grant for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on oauth_consent for each statement execute function revise_subject('roles');
create trigger revise_all after truncate on role_assignment for each statement execute function revise_subject('roles');

-- What there is in the tenant, and who reaches it there.
create trigger revise after insert or update or delete or truncate on powerbi_workspace for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_dataset for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on dataset_switch for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_table for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_column for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_measure for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_app for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_app_dataset for each statement execute function revise_subject('tenant');
create trigger revise after insert or update or delete or truncate on powerbi_access for each statement execute function revise_subject('tenant');

-- What is personal data.
create trigger revise after insert or update or delete or truncate on pii_rule for each statement execute function revise_subject('pii');
