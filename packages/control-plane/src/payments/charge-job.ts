import { balanceOf } from "#billing/index.ts";
import { areChargesCurrent, isTrue } from "#operations/index.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import type { DueRows, EachDue } from "#platform/each-due.ts";
import { endAutopay } from "./autopay.ts";
import { findPending, listDue, lockAccount } from "./charge-store.ts";
import { LEAST_CHARGE_MICROS } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { findDefaultMethod, listToForget } from "./method-store.ts";
import { openCharge } from "./open-charge.ts";
import { pursueCharge } from "./pursue-charge.ts";
import { forget } from "./manage-methods.ts";

const BATCH = 200;
const AT_ONCE = 10;
/** Another payment is in progress and will be settled by then. */
const LATER_MS = 60_000;

/**
 * Opens charges that are due, resolves unknown outcomes, and deletes removed cards at the provider. Level-triggered.
 */
export const createChargeJob = (deps: ChargeDeps & { eachDue: EachDue }) => {
  const accounts = deps.eachDue("charges", "account");
  const charges = deps.eachDue("charges", "charge");
  const methods = deps.eachDue("charges", "method");
  return async (): Promise<void> => {
    const { db } = deps;
    if (deps.provider === undefined || !(await isTrue(db, areChargesCurrent))) return;
    const now = deps.clock();
    await accounts.run(await listAutopayDue(deps, now, BATCH + accounts.skipped()), ({ id }) =>
      openAutopay(deps, id, now),
    );
    await inGroups(charges, await listDue(db, now, BATCH + charges.skipped()), async ({ id }) => {
      const outcome = await pursueCharge(deps, id, { ifDue: true });
      return outcome !== "unknown";
    });
    await inGroups(methods, await listToForget(db, BATCH + methods.skipped()), async (method) => {
      await forget(deps, method);
      return true;
    });
  };
};

/** If the provider fails for a whole group, it is down: the rest waits for the next round. */
async function inGroups<Row extends { id: number }>(
  each: DueRows,
  rows: readonly Row[],
  work: (row: Row) => Promise<boolean>,
): Promise<void> {
  const ready = each.ready(rows);
  for (let at = 0; at < ready.length; at += AT_ONCE) {
    const done = await Promise.all(ready.slice(at, at + AT_ONCE).map((row) => each.attempt(row, work)));
    if (!done.includes(true)) return;
  }
}

const listAutopayDue = ({ db }: ChargeDeps, now: Date, most: number): Promise<{ id: number }[]> =>
  db
    .selectFrom("autopay")
    .select("account_id as id")
    .where("due_at", "<=", now)
    .orderBy("due_at")
    .limit(most)
    .execute();

/** The charge is due at once: the same round pursues it. */
const openAutopay = ({ db }: ChargeDeps, accountId: number, at: Date): Promise<void> =>
  transact(db, "charge.autopay", async (tx) => {
    const account = await lockAccount(tx, accountId);
    if (!(await isStillDue(tx, accountId, at))) return;
    // It was invoiced between the charge of its cancellation and the outcome, and paid everything with that.
    if (account.closed_at !== null) return endAutopay(tx, account);
    const owed = await balanceOf(tx, accountId);
    if (owed <= 0) return endAutopay(tx, account);
    // Charged with the next invoice.
    if (owed < LEAST_CHARGE_MICROS) return planAutopay(tx, accountId, null);
    const method = await findDefaultMethod(tx, accountId);
    if (method === undefined) return planAutopay(tx, accountId, null);
    if ((await findPending(tx, accountId)) !== undefined)
      return planAutopay(tx, accountId, new Date(at.getTime() + LATER_MS));
    const charge = await openCharge(tx, {
      accountId,
      purpose: "invoice",
      methodId: method.id,
      username: null,
      at,
      amountMicros: owed,
    });
    await tx.updateTable("charges").set({ due_at: at }).where("id", "=", charge.id).execute();
    await planAutopay(tx, accountId, null);
  });

const isStillDue = async (tx: Tx, accountId: number, at: Date): Promise<boolean> =>
  (await tx
    .selectFrom("autopay")
    .select("account_id")
    .where("account_id", "=", accountId)
    .where("due_at", "<=", at)
    .forUpdate()
    .executeTakeFirst()) !== undefined;

async function planAutopay(tx: Tx, accountId: number, due_at: Date | null): Promise<void> {
  await tx.updateTable("autopay").set({ due_at }).where("account_id", "=", accountId).execute();
}
