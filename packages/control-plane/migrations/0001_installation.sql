-- One row: which cell this is, and how often it was brought back from a backup (epoch).
create table installation (
  only_row boolean primary key default true check (only_row),
  cell smallint not null check (cell between 0 and 1023),
  epoch integer not null default 1,
  -- Set when a host knew a later state than we do: the database was set back in time. Changes wait for `moorage recover`.
  set_back_at timestamptz,
  -- The epoch that a recovery under way has raised; empty when none is.
  recovery_epoch integer
);

-- Integers under 2^53 whose low ten bits carry the cell, so that a bare id can be routed.
create function next_id(sequence regclass) returns bigint language sql volatile
  as $$ select nextval(sequence) * 1024 + (select cell from installation) $$;
