create sequence databases_seq;
create table databases (
  account_id bigint not null references accounts,
  id bigint not null unique default next_id('databases_seq'),
  label text not null,
  engine_version text not null references engine_versions,
  region text not null references regions,
  plan text not null references plans,
  cluster_size integer not null check (cluster_size in (1, 3)),
  replication_type text not null check (replication_type in ('none', 'asynch', 'semi_synch')),
  encrypted boolean not null,
  ssl_connection boolean not null,
  allow_list text[] not null,
  status text not null,
  updates jsonb not null,
  port integer,
  -- Sealed: see platform/seal.ts.
  admin_password text not null,
  credentials_version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id)
);
create unique index databases_label on databases (account_id, label) where deleted_at is null;
-- Few: those whose host may be back, or has to be replaced.
create index databases_unwell on databases (account_id, id)
  where deleted_at is null and cluster_size = 1 and status in ('degraded', 'suspended');
