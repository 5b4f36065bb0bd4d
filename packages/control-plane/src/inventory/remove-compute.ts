import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type ComputeRow, lockCompute, markComputeDeleted } from "./compute-store.ts";
import { markDisksDeleted } from "./disk-store.ts";
import { cancelMaintenanceOf } from "./maintenance-store.ts";

/** With its disks, what anybody held on it, and what was planned for it. Undefined: there is none. */
export async function removeCompute(tx: Tx, id: number, now: Date): Promise<ComputeRow | undefined> {
  const compute = await lockCompute(tx, id);
  if (compute === undefined) return undefined;
  await markComputeDeleted(tx, compute, now);
  await markDisksDeleted(tx, compute, now);
  await cancelMaintenanceOf(tx, compute, now);
  await dropGrants(tx, compute.account_id, "compute", id);
  return compute;
}
