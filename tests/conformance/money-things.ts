import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import type { Tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

export type Account = { id: number; token: string; owner: Tenant };

/** A publicly known test card number, with the billing address that it needs. */
export const CARD = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2049 };
export const ADDRESS = { country: "DE", zip: "20457" };

export async function newCompute(accountId: number): Promise<number> {
  const label = `${unique("conformance")}-${++made}`;
  const body = { label, region: env("MOORAGE_REGION") };
  return (await operator<{ id: number }>(`/admin/accounts/${accountId}/computes`, body)).id;
}
let made = 0;

/** Invoices are issued at the end of a month: this one is inserted directly, for a month in the past. */
export async function newInvoice(accountId: number): Promise<number> {
  const [invoice] = await query<{ id: number }>(
    `with month as (
       select coalesce(max(month) + interval '1 month', date '2001-01-01')::date as first
       from invoices where account_id = $1 and month < '2020-01-01'
     ), made as (
       insert into invoices (account_id, month, label, created_at, until, billing_source, bill_to,
         subtotal_micros, tax_micros, total_micros, tax_summary)
       select $1, first, 'Invoice of ' || first, now(), first + interval '1 month', 'operator', $2,
         10000000, 2000000, 12000000, '[{"name": "VAT", "tax_micros": 2000000}]' from month
       returning id, month, until
     )
     insert into invoice_items (account_id, invoice_id, ordinal, label, type, from_at, to_at, quantity,
       unit_price_micros, amount_micros, tax_micros, total_micros, region)
     select $1, id, 1, 'A database', 'hourly', month, until, 500, 20000, 10000000, 2000000, 12000000, $3 from made
     returning invoice_id as id`,
    [accountId, JSON.stringify(BILL_TO), env("MOORAGE_REGION")],
  );
  if (invoice === undefined) throw new Error("There is no invoice.");
  return invoice.id;
}
const BILL_TO = {
  company: "Harbour Bakery",
  first_name: "Nia",
  last_name: "Okafor",
  email: "owner@bakery.test",
  tax_id: "",
  address_1: "Am Hafen 1",
  address_2: "",
  city: "Hamburg",
  state: "",
  ...ADDRESS,
};

/** The balance due, as a month end leaves it. */
export const owe = (accountId: number, dollars: number): Promise<object[]> =>
  query(
    `insert into ledger (account_id, at, kind, source, receivable_micros, revenue_micros)
     select $1, now(), 'invoice', coalesce(max(source), 0) + 1, $2, -$2::bigint from ledger
     where account_id = $1 and kind = 'invoice'`,
    [accountId, dollars * 1_000_000],
  );
