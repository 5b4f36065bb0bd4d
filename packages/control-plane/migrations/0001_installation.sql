-- One row: which cell this is, and how often it was brought back from a backup (epoch).
create table installation (
  only_row boolean primary key default true check (only_row),
  cell smallint not null check (cell between 0 and 1023),
  epoch integer not null default 1,
  -- Set when a host knew a later state than we do: the database was set back in time. Changes wait for `moorage recover`.
  set_back_at timestamptz,
  -- The epoch that a recovery under way has raised; empty when none is.
  recovery_epoch integer,
  -- Which server, timeline and database this is. Another one than `current_fingerprint()`: it was restored, or a
  -- standby was promoted, and hosts may know more than it does.
  fingerprint text not null,
  -- Since when that is so; it ends when every host has polled and none was ahead.
  unproven_since timestamptz
);

create function current_fingerprint() returns text language sql stable as $$
  select system_identifier || '/' || timeline_id || '/' || pg_database.oid
  from pg_control_system(), pg_control_checkpoint(), pg_database where datname = current_database() $$;

-- Integers under 2^53 whose low ten bits carry the cell, so that a bare id can be routed.
create function next_id(sequence regclass) returns bigint language sql volatile
  as $$ select nextval(sequence) * 1024 + (select cell from installation) $$;
