create sequence hosts_seq;
create table hosts (
  id bigint primary key default next_id('hosts_seq'),
  name text not null unique,
  region text not null references regions,
  failure_domain text not null,
  address inet not null unique,
  -- The addresses of the host's nodes: one per port, in order.
  node_network cidr not null unique,
  state text not null default 'enrolling' check (state in ('enrolling', 'active', 'drained', 'dead')),
  memory_mb bigint not null, disk_mb bigint not null, vcpus numeric not null,
  reserved_memory_mb bigint not null default 0 check (reserved_memory_mb >= 0),
  reserved_disk_mb bigint not null default 0 check (reserved_disk_mb >= 0),
  -- Raised with every change of the host's desired state.
  revision bigint not null default 0,
  enrol_token_sha256 bytea,
  enrol_expires_at timestamptz,
  -- The public key that used the token. Only certificates of this key authenticate the host: the authority's signature
  -- alone does not suffice.
  enrol_key_sha256 bytea unique,
  -- The host has no identity until it is enrolled again.
  revoked_at timestamptz,
  deletion_allowance jsonb,
  -- The epoch for which the agent sent a complete digest, for recovery.
  digest_epoch integer not null default 0,
  -- The database server that this host was compared with, and did not know a later state than. A new host knows none.
  proven_fingerprint text not null default current_fingerprint(),
  -- When the host claimed a later state than ours without our signature: it is believed about nothing until a recovery.
  quarantined_at timestamptz,
  created_at timestamptz not null
);
create index hosts_by_region on hosts (region) where state = 'active';

-- Keys that no host may enrol with again: somebody else may have them.
create table revoked_host_keys (
  key_sha256 bytea primary key,
  host_id bigint not null references hosts,
  revoked_at timestamptz not null
);

-- Written every ten seconds by every host, so kept narrow and in its own table.
create table host_leases (
  host_id bigint primary key references hosts,
  seen_at timestamptz not null,
  agent text not null,
  agent_epoch integer not null,
  boot text not null,
  clock_offset_ms integer not null,
  trash_mb bigint not null,
  unknown text[] not null default '{}'
) with (fillfactor = 50);

-- From where the certificate of a host is used, by the family of the address.
create table host_sources (
  host_id bigint not null references hosts,
  family smallint not null check (family in (4, 6)),
  source inet not null,
  former inet,
  changed_at timestamptz not null,
  -- When the former address came back soon: two machines use the certificate.
  in_turn_at timestamptz,
  primary key (host_id, family)
);

create table nodes (
  account_id bigint not null references accounts,
  id uuid primary key,
  database_id bigint not null,
  host_id bigint not null references hosts,
  ordinal integer not null,
  port integer not null check (port between 20000 and 24093),
  memory_mb bigint not null,
  disk_mb bigint not null,
  -- The desired state, as sent to the host.
  desired_spec jsonb,
  desired_epoch integer not null default 0,
  desired_generation integer not null default 0,
  desired_revision bigint not null default 0,
  tombstoned boolean not null default false,
  waiting_operation_id bigint,
  -- The observed state, as last reported by the host.
  observed_epoch integer not null default 0,
  observed_generation integer not null default 0,
  -- The agent's start and the number of its request that reported it: of two requests of one generation the newer counts.
  observed_start bigint not null default 0,
  observed_count bigint not null default 0,
  observed_state text,
  observed_step text,
  observed_percent integer not null default 0,
  -- The key of the key ring that sealed the spec which its host reported last. Null: not reported yet.
  observed_key text,
  observed_message text,
  observed_at timestamptz,
  used_disk_mb bigint,
  created_at timestamptz not null,
  -- When another node replaced it: a tombstone removes it, and it does not count any more.
  replaced_at timestamptz,
  -- When the node's reservation on the host was freed.
  released_at timestamptz
);
create unique index nodes_port on nodes (host_id, port) where released_at is null;
create index nodes_by_database on nodes (account_id, database_id);
create index nodes_by_host_revision on nodes (host_id, desired_revision);
create index nodes_to_release on nodes (host_id) where tombstoned and observed_state = 'gone' and released_at is null;
create index nodes_by_waiting_operation on nodes (waiting_operation_id) where waiting_operation_id is not null;

-- The generations that each phase of an operation waits for. Written once: setting the same phase again returns the
-- same.
create table desired_phases (
  operation_id bigint not null references operations,
  phase text not null,
  -- [{ node, epoch, generation }]
  nodes jsonb not null,
  primary key (operation_id, phase)
);

-- A host's complete report with the specs on its disk, requested once after an epoch was raised.
create table host_digests (
  host_id bigint not null references hosts,
  epoch integer not null,
  -- As `observed_start` and `observed_count` of a node.
  start bigint not null,
  count bigint not null,
  nodes jsonb not null,
  at timestamptz not null,
  primary key (host_id, epoch)
);
