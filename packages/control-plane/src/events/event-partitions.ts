import { type RawBuilder, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import { shownSince } from "./event-store.ts";

const DAY_MS = 86_400_000;
/** An installation whose worker is down for longer than this has no partition for its next event. */
const WEEKS_AHEAD = 8;
/**
 * Creating and dropping both lock the whole table, and readers and writers of events queue behind: wait briefly, try
 * again in the next round.
 */
const LOCK_WAIT_MS = 200;

/** Once a day: creates the partitions of the coming weeks, and drops those whose events are all older than 90 days. */
export function createEventPartitionsJob({ db, clock }: { db: Db; clock: Clock }): () => Promise<void> {
  let last = 0;
  return async () => {
    const now = clock();
    if (now.getTime() - last < DAY_MS) return;
    await change(db, sql`select ensure_event_partitions(${now}, ${WEEKS_AHEAD})`);
    for (const { name, end } of await expiredPartitions(db, now)) {
      await change(db, sql`drop table ${sql.table(name)}`);
      await deleteReads(db, end);
    }
    last = now.getTime();
  };
}

/** Partitions are named after their week; one ends on the first day of the next week. */
async function expiredPartitions(db: Db, now: Date): Promise<{ name: string; end: number }[]> {
  const { rows } = await sql<{ name: string; end: number }>`
    select name, ((week + 1) * 7) << 40 as end
    from (select relname as name, substring(relname from '^events_w([0-9]+)$')::bigint as week
      from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'events'::regclass) as partitions
    where (week + 1) * 7 <= event_day(${shownSince(now)})
    order by week`.execute(db);
  return rows;
}

const change = (db: Db, statement: RawBuilder<unknown>): Promise<unknown> =>
  db.transaction().execute(async (tx) => {
    await sql.raw(`set local lock_timeout = ${LOCK_WAIT_MS}`).execute(tx);
    await statement.execute(tx);
  });

const deleteReads = (db: Db, before: number): Promise<void> =>
  deleteInBatches(
    db,
    (most) => sql`
      delete from event_reads where ctid = any(array(
        select ctid from event_reads where event_id < ${before} limit ${most} for update skip locked))`,
  );
