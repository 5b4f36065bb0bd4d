-- Databases of three nodes.
create table clusters (
  account_id bigint not null,
  database_id bigint primary key,
  -- Sealed: the password of the members' replication account.
  group_password text not null,
  -- Sealed: the secret from which the key of the authority for the members' certificates is derived.
  authority text not null,
  -- Of the list of its members: raised with each replacement.
  members_version int not null default 0,
  -- When the cluster's health is next checked; null while there is nothing to do.
  check_at timestamptz,
  -- Since when the cluster has had fewer than three healthy members.
  degraded_since timestamptz,
  -- The latest health messages sent to the tenant and the operator; null: the cluster is healthy.
  tenant_message text,
  advice text,
  foreign key (account_id, database_id) references databases
);
create index clusters_to_check on clusters (check_at) where check_at is not null;

-- The latest report of a member's host about its group.
create table members (
  account_id bigint not null references accounts,
  node_id uuid primary key references nodes,
  database_id bigint not null,
  -- A GroupReport; null until the first one.
  report jsonb,
  reported_at timestamptz,
  -- Since when the member has not been healthy.
  unhealthy_since timestamptz
);
create index members_by_database on members (account_id, database_id);

-- Every change of primary, stored once, whichever host reports it first. The primary may change several times within
-- one group view, so a view does not identify a change: see `fleet/same-change.ts`.
create sequence primary_changes_seq;
create table primary_changes (
  account_id bigint not null,
  id bigint not null default next_id('primary_changes_seq'),
  database_id bigint not null,
  group_id uuid not null,
  view text not null,
  from_node uuid,
  to_node uuid not null,
  -- The operation that requested the change; null: an unplanned change.
  operation_id bigint references operations,
  at timestamptz not null,
  -- By reporting host: the time, and its phases in milliseconds.
  reports jsonb not null default '{}',
  gtid_before text,
  gtid_after text,
  lost bigint,
  event_id bigint,
  primary key (account_id, id),
  foreign key (account_id, database_id) references databases
);
create index primary_changes_by_database on primary_changes (account_id, database_id, id);

-- The member of a cluster whose binary logs are archived, per timeline.
create table archivers (
  account_id bigint not null references accounts,
  timeline_id uuid primary key references timelines on delete cascade,
  node_id uuid not null references nodes,
  since timestamptz not null
);
-- Members whose binary logs do not continue where the archive of a timeline ends.
create table unfit_archivers (
  timeline_id uuid not null references timelines on delete cascade,
  node_id uuid not null references nodes,
  at timestamptz not null,
  primary key (timeline_id, node_id)
);
