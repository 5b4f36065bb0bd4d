import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";

const BATCH = 1000;
/** What is left over waits for the next sweep, so that other chores get their turn. */
const MOST_BATCHES = 20;

/** Removes keys past their day. */
export const createIdempotencySweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch = BATCH) =>
  async (): Promise<void> => {
    for (let done = 0; done < MOST_BATCHES; done++) {
      const removed = await sql`
        delete from idempotency_keys where ctid = any(array(
          select ctid from idempotency_keys where expires_at <= ${clock()}
          order by expires_at limit ${batch} for update skip locked))`.execute(db);
      if (Number(removed.numAffectedRows ?? 0) < batch) return;
    }
  };
