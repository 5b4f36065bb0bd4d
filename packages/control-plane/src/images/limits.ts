import { sql } from "kysely";
import { granting, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { type AddedImages, type ImageUsage, limitFaults, limitsOf } from "./limit-rules.ts";
import type { ImageSettings } from "./settings.ts";

/**
 * Refuses what would exceed the account's limits. Locks the account's row, so that the result holds until the end of
 * the transaction: call it after all other locks and before the new image is written.
 */
export async function requireImageLimits(
  tx: Tx,
  accountId: number,
  settings: ImageSettings,
  added: AddedImages,
): Promise<void> {
  const faults = await faultsOf(tx, accountId, settings, added);
  if (faults.length > 0) throw new DomainError("invalid", ...faults.map((reason) => ({ reason })));
}

/** The same when an import or capture ends: why it cannot succeed, or undefined. Its image is written already. */
export const imageLimitFault = async (
  tx: Tx,
  accountId: number,
  settings: ImageSettings,
  added: AddedImages,
): Promise<Text | undefined> => (await faultsOf(tx, accountId, settings, added))[0];

/**
 * Admits a new image: within the limits, and with a grant for a restricted user who creates it. The grant comes first,
 * because it waits for a deletion of the user, which waits for the account.
 */
export async function admitImage(
  tx: Tx,
  by: Principal,
  id: number,
  settings: ImageSettings,
  added: Pick<AddedImages, "addMb" | "rawMb">,
): Promise<void> {
  if (by.restricted) await granting({ ...by, id }, "image", sql``).execute(tx);
  await requireImageLimits(tx, by.accountId, settings, { addImages: 1, ...added });
}

async function faultsOf(tx: Tx, accountId: number, settings: ImageSettings, added: AddedImages): Promise<Text[]> {
  // A separate statement: the counts that follow see what previous holders of the lock committed.
  await tx.selectFrom("accounts").select("id").where("id", "=", accountId).forNoKeyUpdate().execute();
  const own = await findOwnLimits(tx, accountId);
  return limitFaults(limitsOf(own, settings), await imageUsage(tx, accountId), added);
}

export const findOwnLimits = (db: Db | Tx, accountId: number) =>
  db
    .selectFrom("image_limits")
    .select(["images", "total_mb", "raw_mb"])
    .where("account_id", "=", accountId)
    .executeTakeFirst();

/** Of images that tenants made: automatic images expire by themselves, and do not count. */
export async function imageUsage(db: Db | Tx, accountId: number): Promise<ImageUsage> {
  const { rows } = await sql<ImageUsage>`
    select count(*)::int as images, coalesce(sum(size_mb), 0)::bigint as "totalMb" from images
    where account_id = ${accountId} and type = 'manual' and deleted_at is null`.execute(db);
  return rows[0] as ImageUsage;
}
