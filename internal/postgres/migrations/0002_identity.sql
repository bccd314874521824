-- People, how they sign in, their roles, and the clients that they let in.

create table person (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  name text not null default '',
  created_at timestamptz not null default now()
);
grant select, insert, update on person to api_rw;
-- The worker learns of people only what a job needs.
grant select (id) on person to worker_rw;

-- An account at a sign-in provider. A person has one for each way that they came.
create table account (
  provider text not null,                  -- microsoft, google, or the key of an OpenID Connect provider
  account_id text not null check (account_id = lower(account_id)),
  person_id uuid not null references person,
  scope text not null default '',          -- dev-sign-in where the dev sign-in made it
  created_at timestamptz not null default now(),
  primary key (provider, account_id)
);
create index on account (person_id);
grant select, insert, update on account to api_rw;

-- The Microsoft account that a person is known by, and the groups it was last seen in.
create table person_identity (
  person_id uuid primary key references person,
  object_id uuid not null unique,
  signed_in_at timestamptz,                -- the last Microsoft sign-in: good for 7 days
  group_ids uuid[] not null default '{}',
  groups_read_at timestamptz
);
grant select, insert, update on person_identity to api_rw;

-- Which verified email, and which domain, the last sign-in of each provider vouched for.
create table person_sign_in (
  person_id uuid not null references person,
  provider text not null,
  email text not null,
  email_verified boolean not null,
  verified_since timestamptz,              -- since when this email is verified
  vouched_domain text,
  signed_in_at timestamptz not null default now(),
  primary key (person_id, provider)
);
grant select, insert, update on person_sign_in to api_rw;

create table session (
  digest bytea primary key,                -- SHA-256 of the cookie's value
  id uuid not null unique default gen_random_uuid(),
  person_id uuid not null references person,
  provider text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index on session (person_id);
create index on session (expires_at);
grant select, insert, delete on session to api_rw;

-- A sign-in or connect under way: the browser holds the state, we its digest.
create table sign_in_state (
  digest bytea primary key,
  purpose text not null check (purpose in ('sign_in', 'connect')),
  provider text not null,
  session_id uuid,                         -- of a connect: the session that started it
  nonce text not null,
  verifier text not null,
  next text not null default '/',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index on sign_in_state (expires_at);
grant select, insert, delete on sign_in_state to api_rw;

-- A role given to a person (by email, until somebody claims it), an email domain,
-- a group of a provider, or everybody of the tenant.
create table role_assignment (
  id uuid primary key default gen_random_uuid(),
  role text not null,
  kind text not null check (kind in ('person', 'domain', 'group', 'tenant')),
  subject text not null default '',        -- folded email, domain or group id
  provider text not null default '',       -- of a group
  person_id uuid references person,        -- who claimed it
  created_at timestamptz not null default now(),
  created_by text not null default '',
  unique (role, kind, subject, provider),
  -- Rights over people and personal data go to people that somebody named.
  check (role not in ('admin', 'pii_reader') or kind in ('person', 'group')),
  check ((kind = 'tenant') = (subject = '')),
  check ((kind = 'group') = (provider <> ''))
);
create index on role_assignment (person_id);
create index on role_assignment (kind, subject);
grant select, insert, update, delete on role_assignment to api_rw;

-- Whether anybody was ever made an admin: the worker may know this one bit.
create function deployment_has_admin() returns boolean
  language sql stable security definer set search_path = public, pg_temp
  as $$ select exists (select from role_assignment where role = 'admin') $$;
revoke all on function deployment_has_admin() from public;
grant execute on function deployment_has_admin() to api_rw, worker_rw;

create table jwks (
  kid text primary key,
  public_key bytea not null,
  private_key bytea not null,              -- an age file for the api's identity
  created_at timestamptz not null default now()
);
grant select, insert, update on jwks to api_rw;

create table oauth_client (
  id text primary key,
  kind text not null check (kind in ('registered', 'metadata_document', 'built_in')),
  name text not null,
  redirect_uris text[] not null,
  grant_types text[] not null,
  scopes text[] not null,
  resource text not null,                  -- path of the one resource: /api/mcp or /api/v1
  document jsonb,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  authorization_requested_at timestamptz
);
grant select, insert, update, delete on oauth_client to api_rw;

-- The command line's own client: it has no redirect, only the device flow.
insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource)
values ('pbmb-cli', 'built_in', 'pbmb', '{}',
  '{urn:ietf:params:oauth:grant-type:device_code,refresh_token}', '{api,offline_access}', '/api/v1');

create table oauth_consent (
  id uuid primary key default gen_random_uuid(),
  person_id uuid not null references person,
  client_id text not null references oauth_client,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create unique index on oauth_consent (person_id, client_id) where ended_at is null;
grant select, insert, update on oauth_consent to api_rw;

-- One Allow. Everything that was ever issued under it ends when revoked_at is set.
create table oauth_grant (
  id text primary key,
  consent_id uuid not null references oauth_consent,
  client_id text not null references oauth_client,
  person_id uuid not null references person,
  scopes text[] not null,
  audience text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  revoked_why text
);
create index on oauth_grant (person_id, client_id) where revoked_at is null;
create index on oauth_grant (consent_id);
grant select, insert, update on oauth_grant to api_rw;

create table oauth_code (
  digest bytea primary key,                -- SHA-256
  grant_id text not null references oauth_grant,
  redirect_uri text not null,
  challenge text not null,                 -- PKCE, S256
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on oauth_code (grant_id);
grant select, insert, update, delete on oauth_code to api_rw;

create table oauth_refresh_token (
  digest bytea primary key,                -- SHA-256
  grant_id text not null references oauth_grant,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on oauth_refresh_token (grant_id);
grant select, insert, update, delete on oauth_refresh_token to api_rw;

create table device_request (
  digest bytea primary key,                -- SHA-256
  user_digest bytea not null unique,       -- keyed, since a user code is short
  grant_id text not null,
  client_id text not null references oauth_client,
  scopes text[] not null,
  audience text not null,
  state integer not null default 0,
  person_id uuid references person,
  started_at timestamptz not null,
  started_from text not null default '',
  expires_at timestamptz not null,
  used_at timestamptz,
  polled_at timestamptz,
  interval_seconds integer not null default 5
);
grant select, insert, update, delete on device_request to api_rw;
