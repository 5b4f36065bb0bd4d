create table regions (
  id text primary key,
  label text not null,
  country text not null
);

create table plans (
  id text primary key,
  label text not null,
  class text not null,
  memory_mb integer not null check (memory_mb > 0),
  disk_mb integer not null check (disk_mb > 0),
  vcpus numeric not null check (vcpus > 0)
);

-- One row per version that can be created. `image` and `prepared` are SHA-256 digests: the node image that hosts run,
-- and the data directory that a new node starts from.
create table engine_versions (
  id text primary key,
  engine text not null,
  version text not null,
  image text not null,
  prepared text not null,
  unique (engine, version)
);
