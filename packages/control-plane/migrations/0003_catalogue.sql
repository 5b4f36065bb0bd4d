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

-- One row a version that can be created; image and prepared are the SHA-256 of what hosts run and start from.
create table engine_versions (
  id text primary key,
  engine text not null,
  version text not null,
  image text not null,
  prepared text not null,
  unique (engine, version)
);
