-- Where an operator let a cluster continue without some transactions of its archive: later transactions reuse the
-- numbers of the lost ones. `sequence` is a number that no log has, so that no restore passes it.
create table archive_branches (
  timeline_id uuid not null references timelines on delete cascade,
  sequence bigint not null,
  -- The transactions that the archive had and the cluster continues with.
  gtid text not null,
  left_out bigint not null,
  at timestamptz not null,
  -- When an event reported the loss to its tenant. Null: none has yet.
  reported_at timestamptz,
  primary key (timeline_id, sequence)
);
