import { LONGEST_LABEL } from "@moorage/contract/operator";
import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type ComputeRow, labelsOf, lockCompute, markComputeDeleted, saveOwner } from "./compute-store.ts";
import { type DiskRow, listDisks, markDisksDeleted } from "./disk-store.ts";
import { cancelMaintenanceOf } from "./maintenance-store.ts";

export type Renamed = { id: number; was: string; is: string };

/**
 * Moves instances to another account, with disks and maintenance; the previous account's users lose their grants on
 * them. The caller has locked the instances and checked that they exist and belong to that account. A label that the
 * new owner already has gets a number.
 */
export async function moveComputes(
  tx: Tx,
  computes: readonly ComputeRow[],
  { from, to, at }: { from: number; to: number; at: Date },
): Promise<Renamed[]> {
  const taken = await labelsOf(tx, to);
  const moved = computes.map(({ id, label: was }) => {
    const is = freeLabel(was, taken);
    taken.add(is);
    return { id, was, is };
  });
  await dropGrants(tx, from, "compute", ...computes.map(({ id }) => id));
  await saveOwner(
    tx,
    moved.map(({ id, is }) => ({ id, label: is })),
    { from, to, at },
  );
  return moved.filter(({ was, is }) => was !== is);
}

/** The label, with the lowest suffix number that makes it unique if it is taken. */
export function freeLabel(label: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? "" : `-${n}`;
    const candidate = `${label.slice(0, LONGEST_LABEL - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}

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
