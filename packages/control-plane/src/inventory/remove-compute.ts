import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type ComputeRow, lockCompute, markComputeDeleted } from "./compute-store.ts";
import { type DiskRow, listDisks, markDisksDeleted } from "./disk-store.ts";
import { cancelMaintenanceOf } from "./maintenance-store.ts";

/**
 * Removes an instance with its disks, grants and planned maintenance. Undefined: no such instance. Returns the removed
 * disks: a caller that captures some of them does so in this transaction.
 */
export async function removeCompute(
  tx: Tx,
  id: number,
  now: Date,
): Promise<{ compute: ComputeRow; disks: DiskRow[] } | undefined> {
  const compute = await lockCompute(tx, id);
  if (compute === undefined) return undefined;
  const disks = await listDisks(tx, id);
  await markComputeDeleted(tx, compute, now);
  await markDisksDeleted(tx, compute, now);
  await cancelMaintenanceOf(tx, compute, now);
  await dropGrants(tx, compute.account_id, "compute", id);
  return { compute, disks };
}
