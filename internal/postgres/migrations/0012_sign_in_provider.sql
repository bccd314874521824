-- Sign-in through providers beside Microsoft.

-- The groups that a provider's ID token names, which count for assignments to
-- groups of that very provider. Those of Microsoft are in person_identity.
alter table person_sign_in add column group_ids text[] not null default '{}';

-- A trial is a sign-in that shows an admin that a provider works, before it is added.
alter table sign_in_state drop constraint sign_in_state_purpose_check;
alter table sign_in_state add constraint sign_in_state_purpose_check check (purpose in ('sign_in', 'connect', 'trial'));

create table sign_in_trial (
  id uuid primary key default gen_random_uuid(),
  person_id uuid not null references person, -- the admin who tries it
  provider jsonb not null,                   -- without its secret
  client_secret bytea not null,              -- an age file for the api's identity
  email text,                                -- whom the trial's token vouched for, once it succeeded
  succeeded_at timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index on sign_in_trial (expires_at);
grant select, insert, update, delete on sign_in_trial to api_rw;
