import { sql } from "kysely";
import type { ProviderEvent } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import type { ChargeRow } from "./charge.ts";

/** Whether the event is new. */
export async function rememberEvent(tx: Tx, { id, type }: ProviderEvent, at: Date): Promise<boolean> {
  const remembered = await tx
    .insertInto("provider_events")
    .values({ id, type, received_at: at })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .returning("id")
    .executeTakeFirst();
  return remembered !== undefined;
}

export async function insertRefund(tx: Tx, charge: ChargeRow, amountMicros: number, at: Date): Promise<number> {
  const { account_id, id } = charge;
  await tx
    .updateTable("charges")
    .set({ refunded_micros: charge.refunded_micros + amountMicros })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const refund = await tx
    .insertInto("refunds")
    .values({ account_id, charge_id: id, at, amount_micros: amountMicros })
    .returning("id")
    .executeTakeFirstOrThrow();
  return refund.id;
}

/** The provider repeats an event that was not accepted for days, but not for months. */
const KEPT_DAYS = 90;

export const createProviderEventSweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  (): Promise<void> =>
    deleteInBatches(
      db,
      (most) => sql`
        delete from provider_events where ctid = any(array(
          select ctid from provider_events
          where received_at < ${clock()}::timestamptz - ${`${KEPT_DAYS} days`}::interval
          order by received_at limit ${most} for update skip locked))`,
      batch,
    );
