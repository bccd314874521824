-- A release is a clear that holds against relationships too: what a marked column
-- is joined to spreads no further there.
alter table pii_rule add column released boolean not null default false
  check (not released or not pii and kind <> 'measure');

-- Every decision on a name, as it was made: what can be undone, and by whom it was
-- done. The version of a rule is the number of its last change, so a number never
-- comes back, not even for a rule that was removed and made anew.
create table pii_rule_change (
  version bigint generated always as identity primary key,
  kind text not null,
  table_name text not null,
  name text not null,
  table_folded text not null,
  name_folded text not null,
  before text not null check (before in ('none', 'marked', 'cleared', 'released')),
  before_note text not null default '',
  after text not null check (after in ('none', 'marked', 'cleared', 'released')),
  after_note text not null default '',
  changed_at timestamptz not null default now(),
  changed_by text not null default '',
  changed_by_name text not null default '',
  changed_via text not null default ''
);
create index on pii_rule_change (kind, table_folded, name_folded, version desc);
grant select, insert on pii_rule_change to api_rw;

insert into pii_rule_change (kind, table_name, name, table_folded, name_folded, before, after, after_note, changed_at, changed_by, changed_by_name, changed_via)
select kind, table_name, name, table_folded, name_folded, 'none', case when pii then 'marked' else 'cleared' end, note, changed_at, changed_by, changed_by_name, changed_via
from pii_rule order by changed_at;

update pii_rule r set version = c.version from pii_rule_change c
where c.kind = r.kind and c.table_folded = r.table_folded and c.name_folded = r.name_folded;
