import { areChargesCurrent, isTrue, requireCurrent } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/** While the provider may have charges that this database lost, a debt in it may be paid already. */
export async function requireChargesCurrent(tx: Tx): Promise<void> {
  if (await isTrue(tx, areChargesCurrent)) return;
  await requireCurrent(tx);
  throw new DomainError("unavailable", { reason: texts.chargesNotComparedYet() });
}
