import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";

const DAY_MS = 86_400_000;
/** An installation that nobody touches for so long would find no place for its next event. */
const WEEKS_AHEAD = 8;

/** Makes the partitions of the coming weeks, once a day. */
export function createEventPartitionsChore({ db, clock }: { db: Db; clock: Clock }): () => Promise<void> {
  let last = 0;
  return async () => {
    const now = clock();
    if (now.getTime() - last < DAY_MS) return;
    await sql`select ensure_event_partitions(${now}, ${WEEKS_AHEAD})`.execute(db);
    last = now.getTime();
  };
}
