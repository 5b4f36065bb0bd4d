-- Permissions of a restricted user: in the whole account, and on single objects.
alter table users add column global_grants jsonb not null default '{}';
create table entity_grants (
  account_id bigint not null,
  user_id bigint not null,
  entity_type text not null check (entity_type in ('database', 'image')),
  entity_id bigint not null,
  permission text not null check (permission in ('read_only', 'read_write')),
  primary key (account_id, user_id, entity_type, entity_id),
  foreign key (account_id, user_id) references users on delete cascade
);

-- What the operator has granted an account beyond the defaults.
alter table accounts add column capabilities text[] not null default '{}';

-- Integer micro-dollars: money is never a fraction.
alter table plans add column hourly_micros bigint not null default 0 check (hourly_micros >= 0);
alter table plans add column monthly_micros bigint not null default 0 check (monthly_micros >= 0);
-- Kept by databases that have it, but not offered any more.
alter table plans add column deprecated boolean not null default false;

-- `seen` is one watermark per user, `read` a sparse table.
create table event_watermarks (
  account_id bigint not null,
  user_id bigint not null,
  seen_seq bigint not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users on delete cascade
);
create table event_reads (
  account_id bigint not null,
  user_id bigint not null,
  event_id bigint not null,
  primary key (account_id, user_id, event_id),
  foreign key (account_id, user_id) references users on delete cascade
);
