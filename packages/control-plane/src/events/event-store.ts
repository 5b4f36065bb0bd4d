import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import { offsetOf, type PageRequest } from "#platform/http/page.ts";

/** `percent` comes from the operation, which the hosts' reports keep true; an event is not rewritten for progress. */
const eventsWithProgress = (db: Db) =>
  db
    .selectFrom("events")
    .leftJoin("operations", "operations.id", "events.operation_id")
    .selectAll("events")
    .select("operations.percent");

export type EventRow = Awaited<ReturnType<typeof findEvent>>;

export const findEvent = (db: Db, accountId: number, id: number) =>
  eventsWithProgress(db)
    .where("events.account_id", "=", accountId)
    .where("events.id", "=", id)
    .executeTakeFirstOrThrow(notFound);

/** Newest first. The sequence has no gap, so a page is a range of it and needs no OFFSET. */
export async function listEventPage(
  db: Db,
  accountId: number,
  page: PageRequest,
): Promise<{ rows: EventRow[]; results: number }> {
  const { event_seq: last } = await db
    .selectFrom("accounts")
    .select("event_seq")
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  const newest = last - offsetOf(page);
  const rows = await eventsWithProgress(db)
    .where("events.account_id", "=", accountId)
    .where("events.seq", "<=", newest)
    .where("events.seq", ">", newest - page.pageSize)
    .orderBy("events.seq", "desc")
    .execute();
  return { rows, results: last };
}
