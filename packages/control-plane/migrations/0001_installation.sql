-- Identifies the PostgreSQL server that runs now: the server and its database, the WAL timeline that it writes, and its
-- start. It differs after a promotion from the first statement on, after every restore and after every restart.
-- `pg_control_checkpoint()` would not do: after a promotion it keeps the old timeline until the next checkpoint.
create function current_fingerprint() returns text language sql stable as $$
  select system_identifier || '/' || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int
    || '/' || pg_database.oid || '/' || (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint
  from pg_control_system(), pg_database where datname = current_database() $$;

-- What is on this server's disk: a server whose position is behind one that it had was set back.
create function current_position(out server text, out timeline integer, out lsn bigint) language sql stable as $$
  select system_identifier::text, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int,
    (pg_current_wal_flush_lsn() - '0/0')::bigint
  from pg_control_system() $$;

-- One row: the cell of this installation, and how often it was recovered from a backup (epoch).
create table installation (
  only_row boolean primary key default true check (only_row),
  cell smallint not null check (cell between 0 and 1023),
  epoch integer not null default 1,
  -- Set when a host knew a later state than this database, which was set back in time. Changes wait for `moorage admin
  -- recover`.
  set_back_at timestamptz,
  -- The epoch that a recovery in progress has raised; null when there is none.
  recovery_epoch integer,
  -- The server that was proven to have everything that this installation did. While it differs from
  -- `current_fingerprint()`, only changes of databases whose hosts are all proven (`hosts.proven_fingerprint`) go on.
  fingerprint text not null default current_fingerprint(),
  -- Sealed. Secrets that must be the same after their row was lost are derived from it.
  derivation_secret text,
  -- The newest server that the processes have noticed: ids that an earlier server may have assigned were skipped.
  noticed_fingerprint text not null default current_fingerprint(),
  noticed_lsn bigint not null default (current_position()).lsn,
  noticed_at timestamptz not null default now(),
  -- The server whose charges were compared with those of the payment provider.
  charges_fingerprint text not null default current_fingerprint()
);

-- Integers under 2^53 whose low ten bits are the cell, so that an id alone can be routed.
create function next_id(sequence regclass) returns bigint language sql volatile
  as $$ select nextval(sequence) * 1024 + (select cell from installation) $$;
