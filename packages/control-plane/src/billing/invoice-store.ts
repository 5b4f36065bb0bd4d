import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

export type InvoiceRow = Selectable<Tables["invoices"]>;
export type InvoiceItemRow = Selectable<Tables["invoice_items"]>;

const columns = {
  date: sql.ref("created_at"),
  label: sql.ref("label"),
  total: sql`(total_micros / 1e6)`,
  billing_source: sql.ref("billing_source"),
};

export const listInvoicePage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(db.selectFrom("invoices").selectAll().where("account_id", "=", accountId), {
    page,
    filter,
    columns,
    lastly: { by: "id" },
  });

export const findInvoice = (db: Db, accountId: number, id: number): Promise<InvoiceRow> =>
  db
    .selectFrom("invoices")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirstOrThrow(notFound);

/** For the operator: across all accounts. */
export const findAnyInvoice = (db: Db | Tx, id: number): Promise<InvoiceRow | undefined> =>
  db.selectFrom("invoices").selectAll().where("id", "=", id).executeTakeFirst();

/** For the operator: invoices of one account or of all, the newest first. */
export const listEveryInvoice = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    db
      .selectFrom("invoices")
      .selectAll()
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as number)),
    { page, lastly: { by: "id", direction: "desc" } },
  );

const itemsOf = (db: Db, accountId: number, invoiceId: number) =>
  db.selectFrom("invoice_items").selectAll().where("account_id", "=", accountId).where("invoice_id", "=", invoiceId);

export const listItemPage = (db: Db, accountId: number, invoiceId: number, page: PageRequest, filter: Filter) =>
  listPage(itemsOf(db, accountId, invoiceId), { page, filter, lastly: { by: "ordinal" } });

export const findItems = (db: Db, { account_id, id }: InvoiceRow): Promise<InvoiceItemRow[]> =>
  itemsOf(db, account_id, id).orderBy("ordinal").execute();

/** Reserves invoice numbers: each is part of the label, so it must be known before the row is written. */
export async function takeNumbers(tx: Tx, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select next_id('invoices_seq') as id from generate_series(1, ${count})`.execute(tx);
  return rows.map(({ id }) => id);
}

export const insertInvoices = (tx: Tx, rows: readonly InvoiceRow[]): Promise<unknown> =>
  insertAll(tx, sql`insert into invoices`, sql`null::invoices`, rows);

export const insertItems = (tx: Tx, rows: readonly InvoiceItemRow[]): Promise<unknown> =>
  insertAll(tx, sql`insert into invoice_items`, sql`null::invoice_items`, rows);

/** One statement for all rows: as JSON they are a single parameter. */
async function insertAll(
  tx: Tx,
  inserting: RawBuilder<unknown>,
  rowType: RawBuilder<unknown>,
  rows: readonly object[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const names = sql.join(Object.keys(first).map((name) => sql.ref(name)));
  await sql`
    ${inserting} (${names})
    select ${names} from jsonb_populate_recordset(${rowType}, ${JSON.stringify(rows)}::jsonb)`.execute(tx);
}
