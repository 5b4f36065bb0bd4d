import type { Db, Tx } from "#platform/db/database.ts";
import { limitsOf } from "./limit-rules.ts";
import { findOwnLimits, imageUsage } from "./limits.ts";
import type { ImageSettings } from "./settings.ts";

/** Null: the operator's default. */
export type OwnLimits = { images: number | null; total_mb: number | null; raw_mb: number | null };
type Named = { [limit in keyof OwnLimits]?: number | null | undefined };

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
