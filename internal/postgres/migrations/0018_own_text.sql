-- Who switched a dataset last, and how many times that was done.
alter table dataset_switch
  add column version bigint not null default 1,
  add column changed_by_name text not null default '',
  add column changed_via text not null default '';

-- Which version of the book's own description and custom fields an element has.
-- The texts themselves are beside what the mirror has of the element; of the
-- mirror the api may write nothing else, so what is kept of the writing is here.
create table own_text (
  dataset_id uuid not null references powerbi_dataset,
  kind text not null check (kind in ('dataset', 'table', 'column', 'measure')),
  element_id bigint not null check ((element_id = 0) = (kind = 'dataset')),  -- of its table in the mirror; 0 for the dataset itself
  version bigint not null default 1,
  changed_at timestamptz not null default now(),
  changed_by text not null default '',
  changed_by_name text not null default '',
  changed_via text not null default '',
  primary key (dataset_id, kind, element_id)
);
grant select, insert, update on own_text to api_rw;
create trigger revise after insert or update or delete or truncate on own_text for each statement execute function revise_subject('tenant');
