import { scheduleAutopay } from "#payments/index.ts";
import type { World } from "./world.ts";

let invoices = 0;

/** As the month end leaves an account that owes this much. */
export const owe = (world: Pick<World, "db" | "time">, accountId: number, micros: number): Promise<void> =>
  world.db.transaction().execute(async (tx) => {
    await tx
      .insertInto("ledger")
      .values({
        account_id: accountId,
        at: world.time.now,
        kind: "invoice",
        source: ++invoices,
        receivable_micros: micros,
        revenue_micros: -micros,
      })
      .execute();
    await scheduleAutopay(tx, [{ accountId, amountMicros: micros }], world.time.now);
  });
