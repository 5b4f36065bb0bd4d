-- An event's id: day since 2024 (13 bits), sequence (30), cell (10). The day comes first, so that retention drops a
-- whole partition and a lookup by id reads one.
create sequence events_seq;
create function event_day(at timestamptz) returns bigint language sql immutable
  as $$ select (extract(epoch from at)::bigint - 1704067200) / 86400 $$;
create function next_event_id(at timestamptz) returns bigint language sql volatile
  as $$ select (event_day(at) << 40) | ((nextval('events_seq') % (1 << 30)) << 10) | (select cell from installation) $$;

create table events (
  id bigint not null,
  account_id bigint not null references accounts,
  -- Gapless per account: page N of an unfiltered list is a range of this column.
  seq bigint not null,
  action text not null,
  status text not null check (status in ('failed', 'finished', 'notification', 'scheduled', 'started')),
  entity_type text,
  entity_id text,
  entity_label text,
  entity_url text,
  username text,
  message text,
  -- The code of the text, which never changes: see docs/messages.md.
  message_code text,
  operation_id bigint,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (id)
) partition by range (id);
create index events_by_account on events (account_id, seq);
create index events_by_entity on events (account_id, entity_type, entity_id, action, id);

-- Weekly partitions, from one week before `at` to `weeks` after it. Repeatable.
create function ensure_event_partitions(at timestamptz, weeks integer) returns void language plpgsql as $$
declare week bigint;
begin
  for week in select generate_series(event_day(at) / 7 - 1, event_day(at) / 7 + weeks) loop
    -- Checked first: even `if not exists` would lock the whole table.
    if to_regclass('events_w' || week) is null then
      execute format('create table events_w%s partition of events for values from (%s) to (%s)',
        week, (week * 7) << 40, ((week + 1) * 7) << 40);
    end if;
  end loop;
end $$;

-- Who did what: kept for ever, unlike events. Append-only.
create sequence audit_seq;
create table audit (
  id bigint primary key default nextval('audit_seq'),
  at timestamptz not null,
  account_id bigint,
  actor text not null,
  action text not null,
  target text not null,
  detail jsonb not null default '{}'
);
create index audit_by_account on audit (account_id, id);
create function audit_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'audit is append-only';
end $$;
create trigger audit_append_only before update or delete or truncate on audit
  for each statement execute function audit_is_append_only();
