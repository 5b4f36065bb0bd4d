-- What a POST with an Idempotency-Key answered, written in the transaction of the change itself.
create table idempotency_keys (
  account_id bigint not null,
  user_id bigint not null,
  operation text not null,
  -- The key itself opens replies that hold a secret, so it is not here.
  key_sha256 bytea not null,
  request_hmac bytea not null,
  -- JSON, or a sealed text of it. Null only inside of the transaction that claims the key.
  reply text,
  expires_at timestamptz not null,
  primary key (account_id, user_id, operation, key_sha256),
  foreign key (account_id, user_id) references users on delete cascade
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
