-- One row: the cell of this installation, and how often it was recovered from a backup (epoch).
create table installation (
  only_row boolean primary key default true check (only_row),
  cell smallint not null check (cell between 0 and 1023),
  epoch integer not null default 1,
  -- Set when a host knew a later state than this database, which was set back in time. Changes wait for `moorage
  -- recover`.
  set_back_at timestamptz,
  -- The epoch that a recovery in progress has raised; null when there is none.
  recovery_epoch integer,
  -- Identifies server, timeline and database. If it differs from `current_fingerprint()`, this database was restored or
  -- is a promoted standby, and hosts may know a later state.
  fingerprint text not null,
  -- Since when the fingerprint has differed; cleared when every host has polled and none was ahead.
  unproven_since timestamptz
);

create function current_fingerprint() returns text language sql stable as $$
  select system_identifier || '/' || timeline_id || '/' || pg_database.oid
  from pg_control_system(), pg_control_checkpoint(), pg_database where datname = current_database() $$;

-- Integers under 2^53 whose low ten bits are the cell, so that an id alone can be routed.
create function next_id(sequence regclass) returns bigint language sql volatile
  as $$ select nextval(sequence) * 1024 + (select cell from installation) $$;
