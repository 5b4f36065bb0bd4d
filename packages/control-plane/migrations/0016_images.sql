-- A second entity that an event is about, such as the image that a disk becomes.
alter table events
  add column secondary_type text,
  add column secondary_id text,
  add column secondary_label text,
  add column secondary_url text;

create sequence images_seq;
create table images (
  id bigint primary key default next_id('images_seq'),
  -- Null: a public image of the operator, identified by its name.
  account_id bigint references accounts,
  name text,
  label text not null,
  description text,
  capabilities text[] not null default '{}',
  created_by text not null,
  vendor text,
  deprecated boolean not null default false,
  eol timestamptz,
  type text not null default 'manual' check (type in ('manual', 'automatic')),
  status text not null check (status in ('creating', 'pending_upload', 'available')),
  region text not null references regions,
  -- All of these are set when the image is available.
  size_mb integer not null default 0,
  raw_bytes bigint,
  stored_bytes bigint,
  raw_sha256 bytea,
  upload_sha256 bytea,
  -- The folder of its chunks: each attempt to write them has its own.
  content uuid,
  manifest_sha256 bytea,
  -- The event of an upload or capture, and the operation that ends it, once there is one.
  event_id bigint,
  operation_id bigint,
  -- When the store is next checked for uploaded data.
  next_check_at timestamptz,
  upload_until timestamptz,
  failed_at timestamptz,
  -- For automatic images, shown to the tenant. `remove_at` is when an image that expires is removed.
  expiry timestamptz,
  remove_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  -- For deleted images, when the stores are next cleared of their objects; null: now.
  clear_at timestamptz,
  -- Its objects are gone from every store, and none can be written any more.
  cleared_at timestamptz,
  check ((account_id is null) = (name is not null)),
  check (status <> 'available' or content is not null)
);
create unique index images_name on images (name) where deleted_at is null;
create index images_by_account on images (account_id, id) where deleted_at is null;
create index images_to_check on images (next_check_at) where next_check_at is not null and deleted_at is null;
create index images_to_remove on images (remove_at) where remove_at is not null and deleted_at is null;
create index images_to_clear on images (coalesce(clear_at, deleted_at))
  where deleted_at is not null and cleared_at is null;

-- The stores that hold an image. A store serves one or several regions.
create table image_copies (
  image_id bigint not null references images,
  store text not null,
  status text not null check (status in ('pending', 'available')),
  next_try_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (image_id, store)
);
create index image_copies_to_make on image_copies (next_try_at) where status = 'pending';

-- When all objects of a store were last compared with the rows.
create table image_sweeps (store text primary key, swept_at timestamptz not null);

-- Disks that hosts should capture as images. A row ends with the operation that waits for it.
create table captures (
  account_id bigint not null references accounts,
  id uuid primary key default gen_random_uuid(),
  image_id bigint not null references images,
  operation_id bigint not null unique references operations,
  host_id bigint not null references hosts,
  -- The owner of the disk may change while it is read.
  disk_id bigint not null references disks (id),
  device text not null,
  max_bytes bigint not null,
  observed_state text check (observed_state in ('working', 'done', 'failed')),
  observed_percent integer not null default 0,
  observed_message text,
  observed_content uuid,
  observed_at timestamptz,
  created_at timestamptz not null
);
create index captures_by_host on captures (host_id);
alter table host_leases add column captures boolean not null default false;

-- Limits of accounts that differ from the operator's defaults.
create table image_limits (
  account_id bigint primary key references accounts,
  images integer,
  total_mb integer,
  raw_mb integer
);
