-- How users sign in, and their own settings.
alter table users
  -- Since when this user has had this name: events of an earlier user with the same name are not shown to them.
  add column name_since timestamptz,
  -- argon2id, with its parameters. Null: no password was set yet.
  add column password_hash text,
  add column password_set_at timestamptz,
  -- Sealed. Pending until it is confirmed with a code. A code is valid once, so the time step of the last one is
  -- stored.
  add column tfa_secret text,
  add column tfa_enabled_at timestamptz,
  add column tfa_last_step bigint,
  add column tfa_offered_secret text,
  add column tfa_offered_until timestamptz,
  add column timezone text not null default 'UTC',
  add column email_notifications boolean not null default true,
  add column lish_auth_method text not null default 'password_keys'
    check (lish_auth_method in ('password_keys', 'keys_only', 'disabled')),
  add column authorized_keys text[] not null default '{}',
  add column preferences jsonb not null default '{}';
-- A name belongs to one user of the whole installation, regardless of case. The constraint on the exact name is dropped
-- a release later, because the code before this release names it.
create unique index users_by_name on users (lower(username));

create table scratch_codes (
  account_id bigint not null,
  user_id bigint not null,
  sha256 bytea not null,
  primary key (account_id, user_id, sha256),
  foreign key (account_id, user_id) references users on delete cascade
);

create sequence passkeys_seq;
create table passkeys (
  account_id bigint not null,
  id bigint not null default next_id('passkeys_seq'),
  user_id bigint not null,
  label text not null,
  credential_id bytea not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  created_at timestamptz not null,
  used_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users on delete cascade
);
create index passkeys_by_user on passkeys (account_id, user_id);

-- Every attempt to sign in. An unknown name is not stored: people type passwords there. No foreign key to the user, so
-- that a wrong name costs the same as a wrong password, and a deleted user's logins stay.
create sequence logins_seq;
create table logins (
  id bigint primary key default next_id('logins_seq'),
  at timestamptz not null,
  account_id bigint,
  user_id bigint,
  username text,
  restricted boolean,
  address inet not null,
  status text not null check (status in ('successful', 'failed'))
);
create index logins_by_account on logins (account_id, id);
create index logins_by_user on logins (account_id, user_id, id);
create index logins_by_age on logins (at);

-- A link by which a user sets a password: sent by mail, or handed over by the operator. Valid once.
create table password_links (
  sha256 bytea primary key,
  account_id bigint not null,
  user_id bigint not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (account_id, user_id) references users on delete cascade
);
create index password_links_by_user on password_links (account_id, user_id);

-- A link by which a signed-in user confirms a new mail address: sent to that address. Valid once.
create table address_links (
  sha256 bytea primary key,
  account_id bigint not null,
  user_id bigint not null,
  email text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (account_id, user_id) references users on delete cascade
);
create index address_links_by_user on address_links (account_id, user_id);

-- Mails that wait to be sent; deleted once they are.
create sequence mails_seq;
create table mails (
  id bigint primary key default next_id('mails_seq'),
  -- Sealed: it contains the recipient. A password link is created when the mail is sent and is never stored here.
  message text not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  given_up_at timestamptz,
  last_error text
);
create index mails_due on mails (due_at) where given_up_at is null;
create index mails_by_age on mails (created_at);

-- Invitations and confirmations that were queued for an account on a day in UTC, whether they are still waiting or not;
-- and password links that were requested for its users who have never accepted their invitation.
create table invitation_counts (
  account_id bigint not null references accounts,
  day date not null,
  invitations integer not null,
  resets integer not null default 0,
  primary key (account_id, day)
);
create index invitation_counts_by_day on invitation_counts (day);

-- Mails to an address that nobody has confirmed, on a day in UTC, of all accounts. The address is only a code.
create table recipient_counts (
  day date not null,
  recipient text not null,
  mails integer not null,
  primary key (day, recipient)
);

create table oauth_clients (
  account_id bigint not null references accounts,
  id text not null,
  label text not null,
  redirect_uri text not null,
  public boolean not null,
  secret_sha256 bytea not null,
  status text not null default 'active' check (status in ('active', 'disabled', 'suspended')),
  -- The operator trusts this client to add a query to its redirect address.
  may_add_query boolean not null default false,
  -- The operator knows whose it is. Others may ask only users of their own account for consent.
  verified boolean not null default false,
  -- Raised to revoke everything that was issued so far, by changing one row.
  epoch integer not null default 1,
  created_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id),
  unique (id)
);
create table oauth_client_thumbnails (
  client_id text primary key references oauth_clients (id),
  png bytea not null,
  updated_at timestamptz not null
);

-- A user's consent to an app: one row per consent. All tokens issued under it end with it.
create sequence app_grants_seq;
create table app_grants (
  account_id bigint not null,
  id bigint not null default next_id('app_grants_seq'),
  user_id bigint not null,
  client_id text not null references oauth_clients (id),
  client_epoch integer not null,
  scopes text[] not null,
  created_at timestamptz not null,
  -- When the last token issued under it expires.
  expires_at timestamptz not null,
  revoked_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users on delete cascade
);
create index app_grants_by_user on app_grants (account_id, user_id, id);
create index app_grants_by_expiry on app_grants (expires_at);

-- Deleting a user deletes their tokens. A personal token has no app. A token with some scopes may change who can act on
-- the account while it is confirmed.
alter table tokens
  add column confirmed_until timestamptz,
  drop constraint tokens_account_id_user_id_fkey,
  add constraint tokens_user foreign key (account_id, user_id) references users on delete cascade,
  add column app_grant_id bigint,
  add constraint tokens_app_grant foreign key (account_id, app_grant_id) references app_grants on delete cascade;
create index tokens_by_user on tokens (account_id, user_id, id);
create index tokens_by_app_grant on tokens (account_id, app_grant_id) where app_grant_id is not null;
create index tokens_by_expiry on tokens (expires_at) where app_grant_id is not null;

-- Other state of the authorization server: sessions, sign-ins in progress, codes, refresh tokens. Their ids are
-- credentials, so each is stored as a hash and the rest sealed.
create table auth_records (
  model text not null,
  key_sha256 bytea not null,
  account_id bigint,
  user_id bigint,
  app_grant_id bigint,
  uid_sha256 bytea,
  payload text not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  primary key (model, key_sha256),
  foreign key (account_id, user_id) references users on delete cascade,
  foreign key (account_id, app_grant_id) references app_grants on delete cascade
);
create index auth_records_by_user on auth_records (account_id, user_id);
create index auth_records_by_app_grant on auth_records (account_id, app_grant_id) where app_grant_id is not null;
create unique index auth_records_by_uid on auth_records (model, uid_sha256) where uid_sha256 is not null;
create index auth_records_by_expiry on auth_records (expires_at);

-- The signing keys of the authorization server, sealed.
create table signing_keys (
  id text primary key,
  jwk text not null,
  created_at timestamptz not null
);
