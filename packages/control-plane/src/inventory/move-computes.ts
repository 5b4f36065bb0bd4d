import { dropGrants } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type ComputeRow, labelsOf, saveOwner } from "./compute-store.ts";
import { freeLabel } from "./free-label.ts";

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
