-- Passkeys, which sign in people who came through a provider not long ago.

create table passkey (
  id uuid primary key default gen_random_uuid(),
  person_id uuid not null references person,
  credential_id bytea not null unique,     -- the authenticator's own name for it
  public_key bytea not null,               -- COSE
  sign_count bigint not null,              -- stays 0 where the authenticator does not count
  transports text[] not null default '{}',
  backup_eligible boolean not null,        -- never changes in the life of a passkey
  backed_up boolean not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index on passkey (person_id);
-- Whose it is and by which key is never changed.
grant select, insert, update (sign_count, backed_up, last_used_at), delete on passkey to api_rw;

-- A ceremony under way: the browser is asked to sign a challenge.
create table passkey_ceremony (
  digest bytea primary key,                -- SHA-256 of the challenge and of what binds it to one browser
  purpose text not null check (purpose in ('sign_in', 'register')),
  state jsonb not null,                    -- what the WebAuthn library checks the answer against
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index on passkey_ceremony (expires_at);
grant select, insert, delete on passkey_ceremony to api_rw;
