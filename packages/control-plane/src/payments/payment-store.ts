import { type Payment, toTimestamp } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import { toDollars } from "#billing/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import type { ChargeRow } from "./charge.ts";

type PaymentRow = Selectable<Tables["payments"]>;

const columns = { date: sql.ref("at"), usd: sql`(amount_micros::numeric / 1000000)` };

export const listPaymentPage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(db.selectFrom("payments").selectAll().where("account_id", "=", accountId), {
    page,
    filter,
    columns,
    lastly: { by: "id" },
  });

export const findPayment = (db: Db, accountId: number, id: number): Promise<PaymentRow> =>
  db
    .selectFrom("payments")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirstOrThrow(notFound);

export const findPaymentOf = (db: Db, { account_id, id }: ChargeRow): Promise<PaymentRow> =>
  db
    .selectFrom("payments")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("charge_id", "=", id)
    .executeTakeFirstOrThrow();

export const insertPayment = (tx: Tx, { account_id, id, amount_micros }: ChargeRow, at: Date): Promise<PaymentRow> =>
  tx
    .insertInto("payments")
    .values({ account_id, charge_id: id, at, amount_micros })
    .returningAll()
    .executeTakeFirstOrThrow();

/** For the operator: payments of one account or of all, the newest first. */
export const listEveryPayment = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    db
      .selectFrom("payments")
      .selectAll()
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as number)),
    { page, lastly: { by: "id", direction: "desc" } },
  );

export const viewOfPayment = ({ id, at, amount_micros }: PaymentRow): Payment => ({
  id,
  date: toTimestamp(at),
  usd: toDollars(amount_micros),
});
