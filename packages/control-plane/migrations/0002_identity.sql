create sequence accounts_seq;
create table accounts (
  id bigint primary key default next_id('accounts_seq'),
  euuid uuid not null default gen_random_uuid(),
  company text not null,
  email text not null unique,
  -- Quotas and their use. One statement checks and raises them, so that two concurrent creates cannot both pass.
  max_databases integer not null, max_nodes integer not null, max_memory_mb bigint not null, max_disk_mb bigint not null,
  databases integer not null default 0, nodes integer not null default 0,
  memory_mb bigint not null default 0, disk_mb bigint not null default 0,
  -- Position of the last event in the account's gapless sequence.
  event_seq bigint not null default 0,
  created_at timestamptz not null
);

create sequence users_seq;
create table users (
  account_id bigint not null references accounts,
  id bigint not null default next_id('users_seq'),
  username text not null unique,
  email text not null,
  restricted boolean not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);

create sequence tokens_seq;
create table tokens (
  account_id bigint not null,
  id bigint not null default next_id('tokens_seq'),
  user_id bigint not null,
  label text not null,
  -- The token itself is shown once and never stored: 256 random bits need no slow hash.
  sha256 bytea not null unique,
  prefix text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
