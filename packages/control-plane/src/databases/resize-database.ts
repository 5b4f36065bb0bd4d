import { takeFromLimits } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, listPlans, type Plan } from "#regions/index.ts";
import { type Opened, openChange } from "./changes/change-database.ts";
import { plansFor } from "./database.ts";
import type { DatabaseRow } from "./database-store.ts";
import { differenceOf } from "./usage.ts";

/** The present plan, which may not be offered any more, and the available ones. */
export const plansToResize = async (
  tx: Tx,
  { plan, cluster_size }: DatabaseRow,
): Promise<{ current: Plan; offered: Plan[] }> => ({
  current: (await findPlan(tx, plan)) as Plan,
  offered: plansFor(await listPlans(tx), cluster_size),
});

/** Checks the account's limits; the room on the hosts is reserved when the new size is sent to them. */
export async function openResize(
  tx: Tx,
  database: DatabaseRow,
  { from, to }: { from: Plan; to: Plan },
  opened: Omit<Opened, "kind" | "columns">,
): Promise<void> {
  await takeFromLimits(tx, database.account_id, differenceOf(to, from, database.cluster_size));
  await openChange(tx, database, { ...opened, kind: "resizeDatabase", columns: { plan: to.id } });
}
