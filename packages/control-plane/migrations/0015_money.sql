-- The account's billing identity, and its closing.
alter table accounts
  -- Null: the address by which the operator knows the account.
  add column contact_email text,
  add column first_name text not null default '',
  add column last_name text not null default '',
  add column address_1 text not null default '',
  add column address_2 text not null default '',
  add column city text not null default '',
  add column state text not null default '',
  add column zip text not null default '',
  add column country text not null default '',
  add column phone text not null default '',
  add column tax_id text not null default '',
  add column billing_source text not null default 'operator' check (billing_source in ('operator', 'partner')),
  add column backups_enabled boolean not null default false,
  add column network_helper boolean not null default true,
  -- Set by the operator, on by default: the account may see what each region has available.
  add column sees_availability boolean not null default true,
  -- Usage before this time is on a final invoice, so nothing may be metered before it.
  add column invoiced_through timestamptz not null default '2000-01-01T00:00:00Z',
  -- The account's id at the payment provider.
  add column provider_customer text unique,
  -- Set when the account is cancelled: nobody signs in, nothing runs.
  add column closed_at timestamptz,
  -- When the account's data are deleted; null once that is done.
  add column data_until timestamptz;
create index accounts_closed on accounts (data_until) where data_until is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'Rows of % are written once.', tg_table_name;
end $$;

-- The state of each resource from a moment on. A span lies between one fact and the next, so that two cannot overlap.
create table usage_facts (
  account_id bigint not null references accounts,
  resource_type text not null check (resource_type in ('database')),
  resource_id bigint not null,
  sequence integer not null,
  at timestamptz not null,
  state text not null check (state in ('running', 'suspended', 'ended')),
  plan text not null references plans,
  nodes integer not null check (nodes > 0),
  region text not null,
  label text not null,
  primary key (account_id, resource_type, resource_id, sequence)
);
-- Existing resources are metered from now on.
insert into usage_facts
  select account_id, 'database', id, 1, now(), case status when 'suspended' then 'suspended' else 'running' end,
    plan, cluster_size, region, label
  from databases where deleted_at is null and status not in ('provisioning', 'failed');
create index usage_facts_by_time on usage_facts (account_id, at);
create trigger usage_facts_are_final before update or delete on usage_facts
  for each row execute function refuse_change();

-- The price of a node of a plan, from a full hour on: running, and suspended (its storage).
create table prices (
  plan text not null references plans,
  valid_from timestamptz not null check (extract(epoch from valid_from)::bigint % 3600 = 0),
  hourly_micros bigint not null check (hourly_micros >= 0),
  monthly_micros bigint not null check (monthly_micros >= 0),
  suspended_hourly_micros bigint not null check (suspended_hourly_micros >= 0),
  suspended_monthly_micros bigint not null check (suspended_monthly_micros >= 0),
  primary key (plan, valid_from)
);
insert into prices select id, '2000-01-01T00:00:00Z', hourly_micros, monthly_micros, 0, 0 from plans;

-- In millionths, by the account's address. A state of '' means a whole country.
create table tax_rates (
  country text not null,
  state text not null default '',
  name text not null,
  valid_from timestamptz not null,
  valid_until timestamptz,
  rate_ppm integer not null check (rate_ppm >= 0),
  -- A business that has a tax number there accounts for the tax itself.
  waived_by_tax_id boolean not null default false,
  primary key (country, state, name, valid_from)
);

create sequence credits_seq;
create table credits (
  account_id bigint not null references accounts,
  id bigint not null default next_id('credits_seq'),
  description text not null,
  summary text not null,
  service_type text not null default 'all',
  image_url text not null default '',
  credit_micros bigint not null check (credit_micros > 0),
  monthly_cap_micros bigint not null check (monthly_cap_micros > 0),
  granted_at timestamptz not null,
  expires_at timestamptz,
  primary key (account_id, id)
);

-- Amounts that the operator adds to an open month: a correction of a final invoice, or goodwill. Negative: a credit.
create sequence adjustments_seq;
create table adjustments (
  account_id bigint not null references accounts,
  id bigint not null default next_id('adjustments_seq'),
  at timestamptz not null,
  label text not null,
  amount_micros bigint not null check (amount_micros <> 0 and amount_micros % 10000 = 0),
  -- The invoice that it corrects, if any.
  invoice_id bigint,
  primary key (account_id, id)
);
create index adjustments_by_time on adjustments (account_id, at);
create trigger adjustments_are_final before update or delete on adjustments
  for each row execute function refuse_change();

create sequence invoices_seq;
create table invoices (
  account_id bigint not null references accounts,
  id bigint not null unique default next_id('invoices_seq'),
  month date not null check (extract(day from month) = 1),
  label text not null,
  created_at timestamptz not null,
  -- The end of the month, or the moment when the account was closed.
  until timestamptz not null,
  billing_source text not null check (billing_source in ('operator', 'partner')),
  -- The recipient and address at that time.
  bill_to jsonb not null,
  subtotal_micros bigint not null,
  tax_micros bigint not null,
  total_micros bigint not null,
  tax_summary jsonb not null,
  primary key (account_id, id),
  unique (account_id, month),
  check (total_micros = subtotal_micros + tax_micros)
);
create table invoice_items (
  account_id bigint not null,
  invoice_id bigint not null,
  ordinal integer not null,
  label text not null,
  type text not null check (type in ('hourly', 'misc')),
  from_at timestamptz not null,
  to_at timestamptz not null,
  quantity integer not null,
  unit_price_micros bigint not null,
  amount_micros bigint not null,
  tax_micros bigint not null,
  total_micros bigint not null check (total_micros = amount_micros + tax_micros),
  region text,
  resource_type text,
  resource_id bigint,
  -- For a credit line, the credit that it was taken from; for a correction, the adjustment.
  credit_id bigint,
  adjustment_id bigint,
  primary key (account_id, invoice_id, ordinal),
  foreign key (account_id, invoice_id) references invoices
);
create index invoice_items_by_credit on invoice_items (account_id, credit_id) where credit_id is not null;
create trigger invoices_are_final before update or delete on invoices for each row execute function refuse_change();
create trigger invoice_items_are_final before update or delete on invoice_items
  for each row execute function refuse_change();

-- The accounts whose month one workflow closes: from the first to the last.
create table billing_runs (
  month date not null,
  first_account bigint not null,
  last_account bigint not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (month, first_account)
);
create index billing_runs_open on billing_runs (month) where finished_at is null;

-- Double entry: each row moves an amount between ledger accounts, and the sum of an entry is zero. A debit is positive.
-- An account owes the sum of its `receivable`.
create sequence ledger_seq;
create table ledger (
  account_id bigint not null references accounts,
  id bigint not null default next_id('ledger_seq'),
  at timestamptz not null,
  kind text not null check (kind in ('invoice', 'payment', 'refund')),
  -- The row that it comes from; unique.
  source bigint not null,
  receivable_micros bigint not null default 0,
  revenue_micros bigint not null default 0,
  tax_micros bigint not null default 0,
  cash_micros bigint not null default 0,
  primary key (account_id, id),
  unique (account_id, kind, source),
  check (receivable_micros + revenue_micros + tax_micros + cash_micros = 0)
);
create trigger ledger_is_final before update or delete on ledger for each row execute function refuse_change();

create sequence payment_methods_seq;
create table payment_methods (
  account_id bigint not null references accounts,
  id bigint not null default next_id('payment_methods_seq'),
  -- The card's id at the provider; the following columns are all that is stored of the card.
  provider_token text not null unique,
  card_type text not null,
  last_four text not null check (last_four ~ '^\d{4}$'),
  expiry_month integer not null,
  expiry_year integer not null,
  is_default boolean not null,
  created_at timestamptz not null,
  deleted_at timestamptz,
  -- When the provider had removed it, too.
  forgotten_at timestamptz,
  primary key (account_id, id)
);
create index payment_methods_to_forget on payment_methods (deleted_at) where deleted_at is not null and forgotten_at is null;
create unique index payment_methods_default on payment_methods (account_id) where is_default and deleted_at is null;
create index payment_methods_by_age on payment_methods (account_id, created_at);

-- Each attempt to add a card, accepted or refused: their number per day is limited.
create sequence card_attempts_seq;
create table card_attempts (
  account_id bigint not null references accounts,
  id bigint not null default next_id('card_attempts_seq'),
  at timestamptz not null,
  -- Null: not known yet.
  outcome text check (outcome in ('added', 'refused')),
  -- Identifies the request, if it has an Idempotency-Key: a repeated request continues the attempt whose outcome is
  -- unknown.
  request text,
  primary key (account_id, id)
);
create index card_attempts_by_age on card_attempts (account_id, at);
create unique index card_attempts_open on card_attempts (account_id, request) where outcome is null;

-- One intent to charge, and its outcome. Its id is the idempotency key at the provider.
create sequence charges_seq;
create table charges (
  account_id bigint not null,
  id bigint not null unique default next_id('charges_seq'),
  purpose text not null check (purpose in ('payment', 'invoice', 'cancel')),
  amount_micros bigint not null check (amount_micros > 0 and amount_micros % 10000 = 0),
  payment_method_id bigint not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'declined')),
  reason text,
  provider_id text unique,
  refunded_micros bigint not null default 0,
  -- Values that settling the charge needs, such as when the account was cancelled.
  input jsonb not null default '{}',
  username text,
  created_at timestamptz not null,
  -- How often the provider was called, and when its outcome is queried again while it is unknown.
  attempts integer not null default 0,
  due_at timestamptz not null,
  settled_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, payment_method_id) references payment_methods
);
-- One at a time: the second of two concurrent charges would not know what the first leaves to pay.
create unique index charges_open on charges (account_id) where status = 'pending';
create index charges_due on charges (due_at) where status = 'pending';

create sequence payments_seq;
create table payments (
  account_id bigint not null,
  id bigint not null unique default next_id('payments_seq'),
  charge_id bigint not null unique,
  at timestamptz not null,
  amount_micros bigint not null,
  primary key (account_id, id),
  foreign key (account_id, charge_id) references charges
);

-- Refunds that the provider reported: the amount that each report added.
create sequence refunds_seq;
create table refunds (
  account_id bigint not null,
  id bigint not null default next_id('refunds_seq'),
  charge_id bigint not null,
  at timestamptz not null,
  amount_micros bigint not null check (amount_micros > 0),
  primary key (account_id, id),
  foreign key (account_id, charge_id) references charges
);

-- Accounts whose bills are charged to a card automatically: tried when due, retried after a decline, and finally not
-- any more (null).
create table autopay (
  account_id bigint primary key references accounts,
  declines integer not null default 0,
  due_at timestamptz
);
create index autopay_due on autopay (due_at);

-- Events from the provider, each stored once, in any order of arrival.
create table provider_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null
);
create index provider_events_by_age on provider_events (received_at);

-- The operator's compute instances: registered here, run elsewhere.
alter table entity_grants drop constraint entity_grants_entity_type_check,
  add constraint entity_grants_entity_type_check check (entity_type in ('compute', 'database', 'image'));
create sequence computes_seq;
create table computes (
  account_id bigint not null references accounts,
  id bigint not null unique default next_id('computes_seq'),
  label text not null,
  region text not null references regions,
  plan text references plans,
  host_id bigint references hosts,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id)
);
create unique index computes_label on computes (account_id, label) where deleted_at is null;
create sequence disks_seq;
create table disks (
  account_id bigint not null,
  id bigint not null unique default next_id('disks_seq'),
  compute_id bigint not null,
  label text not null,
  size_mb integer not null check (size_mb > 0),
  filesystem text not null check (filesystem in ('raw', 'swap', 'ext3', 'ext4', 'initrd')),
  -- Where the host finds it: a block device, or a file.
  device text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, compute_id) references computes on update cascade
);
create index disks_by_compute on disks (account_id, compute_id);
create unique index disks_label on disks (compute_id, label) where deleted_at is null;

create sequence maintenance_seq;
create table maintenance (
  account_id bigint not null,
  id bigint not null unique default next_id('maintenance_seq'),
  compute_id bigint not null,
  type text not null check (type in ('reboot', 'cold_migration', 'live_migration')),
  reason text not null,
  status text not null default 'pending' check (status in ('pending', 'started', 'completed', 'canceled')),
  when_at timestamptz not null,
  created_at timestamptz not null,
  -- When it was completed or canceled.
  ended_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, compute_id) references computes on update cascade
);
create unique index maintenance_open on maintenance (compute_id, type) where status in ('pending', 'started');
create index maintenance_by_compute on maintenance (account_id, compute_id);

-- The token alone suffices to accept, so it is stored as a hash, and sealed for those who may read it again.
create sequence transfers_seq;
create table transfers (
  account_id bigint not null references accounts,
  id bigint not null unique default next_id('transfers_seq'),
  token_sha256 bytea primary key,
  token text not null,
  computes bigint[] not null,
  status text not null default 'pending'
    check (status in ('accepted', 'canceled', 'completed', 'failed', 'pending', 'stale')),
  receiver_account_id bigint references accounts,
  -- The user who accepted it.
  receiver text,
  message text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null
);
create index transfers_by_sender on transfers (account_id, created_at);
create index transfers_by_receiver on transfers (receiver_account_id, created_at) where receiver_account_id is not null;
create index transfers_to_end on transfers (expires_at) where status = 'pending';

-- Regions that the operator has declared down: one row while an outage lasts.
create table outages (
  region text primary key references regions,
  message text not null,
  since timestamptz not null
);
