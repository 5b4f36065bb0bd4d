import { balanceOf } from "#billing/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { endAutopay } from "./autopay.ts";
import { LEAST_CHARGE_MICROS } from "./charge.ts";
import { findPending, listDue, lockAccount } from "./charge-store.ts";
import type { ChargeDeps } from "./deps.ts";
import { findDefaultMethod, listToForget } from "./method-store.ts";
import { openCharge } from "./open-charge.ts";
import { pursueCharge } from "./pursue-charge.ts";
import { forget } from "./remove-method.ts";

const BATCH = 200;
const AT_ONCE = 10;
/** Another payment is in progress and will be settled by then. */
const LATER_MS = 60_000;

/**
 * Opens charges that are due, resolves unknown outcomes, and deletes removed cards at the provider. Level-triggered.
 */
export const createChargeJob = (deps: ChargeDeps) => async (): Promise<void> => {
  if (deps.provider === undefined) return;
  const now = deps.clock();
  for (const accountId of await listAutopayDue(deps, now))
    await openAutopay(deps, accountId, now).catch(toLog(deps, { account: accountId }));
  await inGroups(await listDue(deps.db, now, BATCH), ({ id }) =>
    pursueCharge(deps, id, { ifDue: true }).then((outcome) => outcome !== "unknown", toLog(deps, { charge: id })),
  );
  await inGroups(await listToForget(deps.db, BATCH), (method) =>
    forget(deps, method).then(() => true, toLog(deps, { method: method.id })),
  );
};

/** An error in one item does not stop the others. */
const toLog =
  ({ log }: ChargeDeps, about: object) =>
  (error: unknown): false => {
    log.warn({ ...about, err: error }, "a step of a charge failed and is retried");
    return false;
  };

/** If the provider fails for a whole group, it is down: the rest waits for the next round. */
async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const done = await Promise.all(items.slice(at, at + AT_ONCE).map(work));
    if (!done.includes(true)) return;
  }
}

const listAutopayDue = async ({ db }: ChargeDeps, now: Date): Promise<number[]> =>
  (
    await db
      .selectFrom("autopay")
      .select("account_id")
      .where("due_at", "<=", now)
      .orderBy("due_at")
      .limit(BATCH)
      .execute()
  ).map(({ account_id }) => account_id);

/** The charge is due at once: the same round pursues it. */
const openAutopay = ({ db }: ChargeDeps, accountId: number, at: Date): Promise<void> =>
  transact(db, "charge.autopay", async (tx) => {
    const account = await lockAccount(tx, accountId);
    if (!(await isStillDue(tx, accountId, at))) return;
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
