-- Responses to POST requests with an Idempotency-Key, written in the transaction of the change itself.
create table idempotency_keys (
  account_id bigint not null,
  user_id bigint not null,
  operation text not null,
  -- Only the hash: the key itself decrypts responses that hold a secret.
  key_sha256 bytea not null,
  request_hmac bytea not null,
  -- The key of the key ring that the request's code and a sealed reply are made with.
  key_id text,
  -- JSON, plain or sealed. Null only inside the transaction that claims the key.
  reply text,
  expires_at timestamptz not null,
  primary key (account_id, user_id, operation, key_sha256),
  foreign key (account_id, user_id) references users on delete cascade
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
