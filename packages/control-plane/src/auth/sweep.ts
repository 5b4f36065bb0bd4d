import { sql } from "kysely";
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
    const due = [
      { table: sql.table("auth_records"), over: sql`expires_at <= ${now}` },
      { table: sql.table("tokens"), over: sql`app_grant_id is not null and expires_at <= ${now}` },
      { table: sql.table("app_grants"), over: sql`expires_at <= ${aDayAgo}` },
    ];
    for (const { table, over } of due)
      await deleteInBatches(
        db,
        (most) => sql`delete from ${table} where ctid = any(array(
          select ctid from ${table} where ${over} order by expires_at limit ${most} for update skip locked))`,
        batch,
      );
  };
