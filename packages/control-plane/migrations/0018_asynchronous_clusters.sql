-- The primary of a database whose nodes replicate asynchronously.
create table primary_terms (
  account_id bigint not null,
  database_id bigint primary key,
  node_id uuid not null references nodes,
  -- Rises with every change; a host obeys no term lower than the highest it knows.
  term int not null,
  -- Why the previous primary accepts no more writes: see `PrimaryTerm` of the agent's contract.
  reason text not null,
  from_node uuid references nodes,
  since timestamptz not null,
  foreign key (account_id, database_id) references databases
);

-- Transactions that only a former primary had, kept in the object store for a while after its node was re-cloned.
create table lost_transactions (
  account_id bigint not null,
  database_id bigint not null,
  timeline_id uuid not null references timelines,
  node_id uuid not null references nodes,
  name text not null,
  gtid text not null,
  transactions bigint not null,
  bytes bigint not null,
  sha256 text not null,
  saved_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (timeline_id, name),
  foreign key (account_id, database_id) references databases
);
create index lost_transactions_by_expiry on lost_transactions (expires_at);
