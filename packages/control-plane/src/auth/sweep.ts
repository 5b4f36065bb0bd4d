import { sql } from "kysely";
import { sweepAppTokens } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";

/** Kept for a day, to explain why an app lost its access. */
const GRANTS_KEPT_MS = 24 * 60 * 60 * 1000;

/** Removes expired records. A grant's records are removed with it. */
export const createAuthSweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  async (): Promise<void> => {
    const now = clock();
    const aDayAgo = new Date(now.getTime() - GRANTS_KEPT_MS);
    await deleteInBatches(
      db,
      (most) => sql`delete from auth_records where ctid = any(array(
        select ctid from auth_records where expires_at <= ${now}
        order by expires_at limit ${most} for update skip locked))`,
      batch,
    );
    await sweepAppTokens(db, now, batch);
    await deleteInBatches(
      db,
      (most) => sql`delete from app_grants where ctid = any(array(
        select ctid from app_grants where expires_at <= ${aDayAgo}
        order by expires_at limit ${most} for update skip locked))`,
      batch,
    );
  };
