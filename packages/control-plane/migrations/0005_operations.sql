-- Requests for durable work. Written in the transaction of the change that needs it, and kept until the work is
-- settled, so that the loss of Temporal's whole store loses nothing.
create sequence operations_seq;
create table operations (
  account_id bigint not null references accounts,
  id bigint primary key default next_id('operations_seq'),
  -- The name of the workflow.
  kind text not null,
  entity_id bigint not null,
  event_id bigint,
  created_at timestamptz not null,
  deadline_at timestamptz not null,
  -- How often the workflow was restarted because Temporal had lost it: the n of op-<id>-r<n>.
  run integer not null default 0,
  started_at timestamptz,
  -- When the sweeper next checks whether the workflow is alive.
  sweep_at timestamptz not null,
  percent integer not null default 0,
  settled_at timestamptz,
  outcome text check (outcome in ('done', 'failed')),
  message text,
  message_code text
);
create index operations_to_start on operations (id) where started_at is null and settled_at is null;
create index operations_to_sweep on operations (sweep_at) where settled_at is null;
create index operations_by_entity on operations (account_id, entity_id);

-- Hints that a workflow should read its tables again. Without content on purpose; one of each operation, with a new id
-- whenever it is added again.
create sequence signals_seq;
create table signals (
  id bigint primary key default nextval('signals_seq'),
  operation_id bigint not null unique references operations
);
