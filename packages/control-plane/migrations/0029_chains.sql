-- The rows of the audit and of the money records are linked to chains: see src/chains/README.md.

-- Rows that are not linked yet: a trigger notes them in the transaction that inserts them, and the worker links them.
create sequence chain_pending_seq;
create table chain_pending (
  id bigint primary key default nextval('chain_pending_seq'),
  -- The table.
  chain text not null,
  -- The primary key of the row.
  row_key bigint[] not null,
  -- SHA-256 of all columns.
  digest bytea not null
);
create index chain_pending_by_row on chain_pending (chain, row_key);

create table chain_links (
  chain text not null,
  -- Gapless.
  position bigint not null,
  row_key bigint[] not null,
  digest bytea not null,
  linked_at timestamptz not null,
  -- SHA-256 of this row and of the hash of the previous link.
  hash bytea not null,
  primary key (chain, position)
);
create index chain_links_by_row on chain_links (chain, row_key);

-- The newest link of each chain, with a code that only the owner of the key ring can make.
create table chain_heads (
  chain text primary key,
  position bigint not null,
  hash bytea not null,
  code text not null
);

-- The arguments are the columns of the primary key, at most three. The digest is of all columns that are not null, so that
-- a nullable column may be added later. Verification computes the same (`chains/chain-store.ts`) without a function that
-- the owner of the database could replace.
create function note_for_chain() returns trigger language plpgsql set timezone to 'UTC' as $$
declare content jsonb := to_jsonb(new);
begin
  insert into chain_pending (chain, row_key, digest) values (tg_table_name,
    array_remove(array[(content ->> tg_argv[0])::bigint, (content ->> tg_argv[1])::bigint,
      (content ->> tg_argv[2])::bigint], null),
    (select sha256(convert_to(jsonb_object_agg(key, value)::text, 'UTF8'))
      from jsonb_each(content) where value <> 'null'::jsonb));
  return null;
end $$;

create trigger audit_is_noted after insert on audit for each row execute function note_for_chain('id');
create trigger ledger_is_noted after insert on ledger for each row execute function note_for_chain('account_id', 'id');
create trigger invoices_are_noted after insert on invoices
  for each row execute function note_for_chain('account_id', 'id');
create trigger invoice_items_are_noted after insert on invoice_items
  for each row execute function note_for_chain('account_id', 'invoice_id', 'ordinal');
create trigger adjustments_are_noted after insert on adjustments
  for each row execute function note_for_chain('account_id', 'id');
create trigger payments_are_noted after insert on payments
  for each row execute function note_for_chain('account_id', 'id');
create trigger refunds_are_noted after insert on refunds
  for each row execute function note_for_chain('account_id', 'id');
create trigger credits_are_noted after insert on credits
  for each row execute function note_for_chain('account_id', 'id');

create trigger payments_are_final before update or delete on payments
  for each row execute function refuse_change();
create trigger refunds_are_final before update or delete on refunds for each row execute function refuse_change();
create trigger credits_are_final before update or delete on credits for each row execute function refuse_change();
