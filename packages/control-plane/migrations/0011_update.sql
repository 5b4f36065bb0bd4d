-- What the settling of an operation needs and its row alone can keep: an update's previous allow list.
alter table operations add column input jsonb not null default '{}';

-- When the names of a database first led to it. Null: there are none to show.
alter table databases add column dns_published_at timestamptz;

-- Where tenants reach a host. Without an address of the private network, private names lead to the public one.
alter table hosts add column address6 inet, add column private_address inet;
