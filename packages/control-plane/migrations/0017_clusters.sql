-- Databases of three nodes.
create table clusters (
  account_id bigint not null,
  database_id bigint primary key,
  -- Sealed: the password of the members' own account.
  group_password text not null,
  -- When somebody should look at its health again; null while nothing is to be done.
  check_at timestamptz,
  -- Since when it has had fewer than three healthy members.
  degraded_since timestamptz,
  -- What its tenant, and the operator, were last told of its health; null: it is well.
  tenant_message text,
  advice text,
  foreign key (account_id, database_id) references databases
);
create index clusters_to_check on clusters (check_at) where check_at is not null;

-- What a member's host last said of its group.
create table members (
  account_id bigint not null references accounts,
  node_id uuid primary key references nodes,
  database_id bigint not null,
  -- A GroupReport; null until the first one.
  report jsonb,
  reported_at timestamptz,
  -- Since when it has not been healthy.
  unhealthy_since timestamptz,
  -- When another took its place: it is to go, and does not count any more.
  replaced_at timestamptz
);
create index members_by_database on members (account_id, database_id);

-- Every change of a primary, once, whichever of its hosts told it first. Nodes may lead in turns within one view, so a
-- view does not name a change: see `fleet/same-change.ts`.
create sequence primary_changes_seq;
create table primary_changes (
  account_id bigint not null,
  id bigint not null default next_id('primary_changes_seq'),
  database_id bigint not null,
  group_id uuid not null,
  view text not null,
  from_node uuid,
  to_node uuid not null,
  -- Of an operation that asked for it; null: nobody did.
  operation_id bigint references operations,
  at timestamptz not null,
  -- By host that told it: when, and its phases in milliseconds.
  reports jsonb not null default '{}',
  gtid_before text,
  gtid_after text,
  lost bigint,
  event_id bigint,
  primary key (account_id, id),
  foreign key (account_id, database_id) references databases
);
create index primary_changes_by_database on primary_changes (account_id, database_id, id);

-- Of a cluster's timeline: the member whose logs go to the archive.
create table archivers (
  account_id bigint not null references accounts,
  timeline_id uuid primary key references timelines on delete cascade,
  node_id uuid not null references nodes,
  since timestamptz not null
);
-- Members whose logs do not go on from where the archive of a timeline ends.
create table unfit_archivers (
  timeline_id uuid not null references timelines on delete cascade,
  node_id uuid not null references nodes,
  at timestamptz not null,
  primary key (timeline_id, node_id)
);
