-- The lifecycle of a database after its creation: power, image, timelines in the object store, backups, alerts.
alter table databases
  add column powered boolean not null default true,
  -- The SHA-256 of the node image that it runs; only a patch changes it to another of the same version.
  add column image text,
  -- The current timeline. Null until the first desired state of the nodes is written.
  add column timeline_id uuid,
  -- When the next patch may begin, if one is pending: the start of a maintenance window.
  add column patch_due_at timestamptz,
  -- When a verification last succeeded.
  add column verified_at timestamptz,
  -- When the last data of a deleted database are removed.
  add column purge_at timestamptz;
update databases set image = engine_versions.image from engine_versions where engine_versions.id = engine_version;
create index databases_to_patch on databases (patch_due_at) where patch_due_at is not null and deleted_at is null;
create index databases_to_purge on databases (purge_at) where purge_at is not null;

-- The encryption key of a database's archive: hosts encrypt to the recipient, and only the control plane holds the
-- identity that decrypts.
create table archives (
  account_id bigint not null,
  database_id bigint not null,
  recipient text not null,
  -- Sealed.
  identity text not null,
  primary key (account_id, database_id),
  foreign key (account_id, database_id) references databases
);

-- One history of a database's data. A restore begins a new one, so that histories never mix.
create table timelines (
  account_id bigint not null,
  id uuid primary key,
  database_id bigint not null,
  ordinal integer not null,
  -- Where the timeline began: with the engine's prepared directory, or at a point of another timeline. Neither: the
  -- origin is no longer known, and only the timeline's own copies restore it.
  prepared text,
  parent_id uuid references timelines,
  -- The exact copy (a snapshot), or the time.
  parent_copy_id uuid,
  parent_until timestamptz,
  created_at timestamptz not null,
  -- When the database moved to another timeline.
  ended_at timestamptz,
  -- Everything that was committed before this time is in the archive.
  archived_through timestamptz not null,
  -- The number of the last binary log that was archived, whether it still exists or not: the next log follows it.
  last_log integer not null default 0,
  -- Set when the control plane was restored: it does not know which logs hosts have reported since then, so the next
  -- one may leave a gap. No time within the gap can be restored.
  gap_allowed boolean not null default false,
  -- `archived_through` when the gap was allowed: times up to it can be restored without a later copy.
  gap_from timestamptz,
  -- When a gap was last allowed or a loss accepted. Only copies that were started since show what came before them.
  gap_at timestamptz,
  -- When the base copy that such a time needs is ordered next; null once it is there.
  copy_order_at timestamptz,
  -- The next daily restore point; null once the timeline has ended.
  next_point_at timestamptz,
  -- When the objects of the timeline were last compared with its copies.
  swept_at timestamptz not null default 'epoch',
  unique (database_id, ordinal),
  check (num_nonnulls(parent_copy_id, parent_until) = num_nonnulls(parent_id)),
  check (num_nonnulls(prepared, parent_id) < 2),
  foreign key (account_id, database_id) references databases
);
-- Only timelines whose archive reaches the point are due: an absent host costs nothing here.
create index timelines_with_due_point on timelines (next_point_at) where archived_through >= next_point_at;
create index timelines_to_copy on timelines (copy_order_at) where copy_order_at is not null;
create index timelines_to_sweep on timelines (swept_at);
create index timelines_by_parent on timelines (parent_id) where parent_id is not null;

-- Base copies that are complete in the object store.
create table copies (
  account_id bigint not null references accounts,
  id uuid primary key,
  timeline_id uuid not null references timelines,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  gtid text not null,
  bytes bigint not null,
  parts integer not null,
  manifest_sha256 text not null,
  -- The binary log from which the copy is rolled forward: starting at a later one would miss transactions.
  first_log integer not null default 1,
  -- No longer needed: its objects are deleted, then its row.
  doomed_at timestamptz
);
create index copies_by_timeline on copies (timeline_id, ended_at);
create index copies_doomed on copies (doomed_at) where doomed_at is not null;

create table binary_logs (
  account_id bigint not null references accounts,
  timeline_id uuid not null references timelines,
  sequence bigint not null,
  name text not null,
  closed_at timestamptz not null,
  gtid text not null,
  bytes bigint not null,
  sha256 text not null,
  doomed_at timestamptz,
  primary key (timeline_id, sequence)
);
create index binary_logs_doomed on binary_logs (doomed_at) where doomed_at is not null;

create sequence backups_seq;
create table backups (
  account_id bigint not null,
  id bigint not null unique default next_id('backups_seq'),
  database_id bigint not null,
  type text not null check (type in ('auto', 'snapshot')),
  label text not null,
  timeline_id uuid not null references timelines,
  -- A snapshot is this copy; a daily point is a time on its timeline.
  copy_id uuid references copies,
  point_at timestamptz not null,
  created_at timestamptz not null,
  verified_at timestamptz,
  primary key (account_id, id),
  unique (account_id, database_id, label),
  check ((type = 'snapshot') = (copy_id is not null)),
  foreign key (account_id, database_id) references databases
);
create unique index backups_daily on backups (timeline_id, point_at) where type = 'auto';
-- Finds what still needs a timeline or a copy before it is deleted.
create index backups_by_timeline on backups (timeline_id);
create index backups_by_copy on backups (copy_id) where copy_id is not null;

-- The encryption keys of a node, as its host reported them before using them. Sealed.
create table keyrings (
  account_id bigint not null references accounts,
  node_id uuid primary key,
  keyring text not null,
  reported_at timestamptz not null
);

alter table nodes
  add column observed_tasks jsonb not null default '[]',
  add column observed_timeline uuid,
  add column disk_state text,
  -- Its server runs and does not answer: its host kills it if that lasts.
  add column unresponsive boolean not null default false;
create index nodes_unresponsive on nodes (account_id, database_id) where unresponsive;

-- Alerts that hosts reported and the worker has not handled yet.
create sequence node_alerts_seq;
create table node_alerts (
  id bigint primary key default nextval('node_alerts_seq'),
  account_id bigint not null references accounts,
  database_id bigint not null,
  node_id uuid not null,
  kind text not null check (kind in ('disk', 'verification')),
  detail jsonb not null,
  at timestamptz not null
);

-- Derived from a cause and removed when it is resolved: at most one per cause and entity.
create sequence notifications_seq;
create table notifications (
  account_id bigint not null references accounts,
  id bigint not null default next_id('notifications_seq'),
  entity_type text not null,
  entity_id text not null,
  cause text not null,
  type text not null,
  severity text not null check (severity in ('minor', 'major', 'critical')),
  label text not null,
  message text not null,
  body text,
  entity_label text,
  entity_url text,
  since timestamptz not null,
  until timestamptz,
  primary key (account_id, entity_type, entity_id, cause)
);
create index notifications_by_account on notifications (account_id, id);
