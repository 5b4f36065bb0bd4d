import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";

/** Removes expired keys. */
export const createIdempotencySweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  (): Promise<void> =>
    deleteInBatches(
      db,
      (most) => sql`
        delete from idempotency_keys where ctid = any(array(
          select ctid from idempotency_keys where expires_at <= ${clock()}
          order by expires_at limit ${most} for update skip locked))`,
      batch,
    );
