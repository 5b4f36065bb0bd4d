-- Values that settling an operation needs and that no other row keeps: an update's previous allow list.
alter table operations add column input jsonb not null default '{}';

-- When the DNS records of a database were first published. Null: there are none to show.
alter table databases add column dns_published_at timestamptz;

-- Where tenants reach a host. Without a private address, private DNS names resolve to the public one.
alter table hosts add column address6 inet, add column private_address inet;
