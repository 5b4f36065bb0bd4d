import type { Text } from "@moorage/contract/texts";
import { sql } from "kysely";
import { granting, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import type { ImageSettings } from "./settings.ts";
import { texts } from "./texts.ts";

type Defaults = Pick<ImageSettings, "imagesPerAccount" | "totalMb" | "rawMb">;
type Own = Partial<Pick<Tables["image_limits"], "images" | "total_mb" | "raw_mb">>;
type ImageLimits = { images: number; totalMb: number; rawMb: number };
type ImageUsage = { images: number; totalMb: number };

/** What is added to the account's images; `rawMb` is the size of the image, 0 while it is unknown. */
export type AddedImages = { addImages: number; addMb: number; rawMb: number };

/** Null: the operator's default. */
type OwnLimits = { images: number | null; total_mb: number | null; raw_mb: number | null };
type Named = { [limit in keyof OwnLimits]?: number | null | undefined };

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

/**
 * Refuses what would exceed the account's limits. Locks the account's row, so that the result holds until the end of
 * the transaction: call it after all other locks and before the new image is written.
 */
async function requireImageLimits(
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

async function faultsOf(tx: Tx, accountId: number, settings: ImageSettings, added: AddedImages): Promise<Text[]> {
  // A separate statement: the counts that follow see what previous holders of the lock committed.
  await tx.selectFrom("accounts").select("id").where("id", "=", accountId).forNoKeyUpdate().execute();
  const own = await findOwnLimits(tx, accountId);
  return limitFaults(limitsOf(own, settings), await imageUsage(tx, accountId), added);
}

/**
 * A text for each limit that would be exceeded. Existing images above a lowered limit stay: only more is refused.
 */
export function limitFaults(limits: ImageLimits, used: ImageUsage, added: AddedImages): Text[] {
  const [images, totalMb] = [used.images + added.addImages, used.totalMb + added.addMb];
  return [
    added.rawMb > limits.rawMb && texts.sizeLimit({ maxMb: limits.rawMb, mb: added.rawMb }),
    added.addImages > 0 && images > limits.images && texts.countLimit({ max: limits.images, count: images }),
    added.addMb > 0 && totalMb > limits.totalMb && texts.totalSizeLimit({ maxMb: limits.totalMb, mb: totalMb }),
  ].filter((fault) => fault !== false);
}

export const limitsOf = (own: Own | undefined, defaults: Defaults): ImageLimits => ({
  images: own?.images ?? defaults.imagesPerAccount,
  totalMb: own?.total_mb ?? defaults.totalMb,
  rawMb: own?.raw_mb ?? defaults.rawMb,
});

export const findOwnLimits = (db: Db | Tx, accountId: number) =>
  db
    .selectFrom("image_limits")
    .select(["images", "total_mb", "raw_mb"])
    .where("account_id", "=", accountId)
    .executeTakeFirst();

/** Of images that tenants made: automatic images expire by themselves, and do not count. */
async function imageUsage(db: Db | Tx, accountId: number): Promise<ImageUsage> {
  const { rows } = await sql<ImageUsage>`
    select count(*)::int as images, coalesce(sum(size_mb), 0)::bigint as "totalMb" from images
    where account_id = ${accountId} and type = 'manual' and deleted_at is null`.execute(db);
  return rows[0] as ImageUsage;
}

/** The effective limits, those of the account itself, and the usage. */
export async function imageLimitsOf(db: Db | Tx, accountId: number, settings: ImageSettings) {
  const { images, totalMb } = await imageUsage(db, accountId);
  const own: OwnLimits = (await findOwnLimits(db, accountId)) ?? { images: null, total_mb: null, raw_mb: null };
  const limits = limitsOf(own, settings);
  return {
    limits: { images: limits.images, total_mb: limits.totalMb, raw_mb: limits.rawMb },
    own,
    used: { images, total_mb: totalMb },
  };
}

/** For the operator. A limit that is not named stays, and so do existing images. */
export async function saveImageLimits(tx: Tx, accountId: number, named: Named): Promise<void> {
  const before = await findOwnLimits(tx, accountId);
  const keep = (limit: keyof OwnLimits): number | null => {
    const given = named[limit];
    return given === undefined ? (before?.[limit] ?? null) : given;
  };
  const limits = { images: keep("images"), total_mb: keep("total_mb"), raw_mb: keep("raw_mb") };
  await tx
    .insertInto("image_limits")
    .values({ account_id: accountId, ...limits })
    .onConflict((conflict) => conflict.column("account_id").doUpdateSet(limits))
    .execute();
}
