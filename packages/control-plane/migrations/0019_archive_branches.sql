-- Where an operator had a cluster go on without some of what its archive has: its transactions after that have numbers
-- that others had before. `sequence` is a number that no log has, so that no restore passes it.
create table archive_branches (
  timeline_id uuid not null references timelines on delete cascade,
  sequence bigint not null,
  -- All that the archive had and the cluster goes on with.
  gtid text not null,
  left_out bigint not null,
  at timestamptz not null,
  primary key (timeline_id, sequence)
);
