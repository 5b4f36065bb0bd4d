import { sql } from "kysely";
import { isGranted, type Principal } from "#identity/index.ts";
import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, offsetOf, type PageRequest } from "#platform/http/page.ts";

const SHOWN_DAYS = 90;

/** `seen` is a watermark, `read` a sparse table. */
const seen = sql<boolean>`(events.seq <= coalesce(event_watermarks.seen_seq, 0))`;
const read = sql<boolean>`(event_reads.event_id is not null)`;

export type EventRow = Awaited<ReturnType<typeof findEvent>>;

export const findEvent = (db: Db, principal: Principal, id: number, now: Date) =>
  eventsFor(db, principal, now).where("events.id", "=", id).executeTakeFirstOrThrow(notFound);

/**
 * Newest first. An unrestricted user's unfiltered list is a range of the account's gapless sequence: no count, no
 * OFFSET, every page as quick as the first. Filters and grants are counted by index.
 */
export async function listEventPage(
  db: Db,
  principal: Principal,
  page: PageRequest,
  filter: Filter,
  now: Date,
): Promise<{ rows: EventRow[]; results: number }> {
  if (!principal.restricted && isPlain(filter)) return rangePage(db, principal, page, now);
  return countedPage(db, principal, page, filter, now);
}

const isPlain = (filter: Filter): boolean => filter.where === undefined && filter.order === undefined;

async function rangePage(db: Db, principal: Principal, page: PageRequest, now: Date) {
  const [{ event_seq: last }, first] = [
    await db.selectFrom("accounts").select("event_seq").where("id", "=", principal.accountId).executeTakeFirstOrThrow(),
    await db
      .selectFrom("events")
      .select("seq")
      .where("account_id", "=", principal.accountId)
      .where("id", ">=", oldestId(now))
      .where("created_at", ">=", shownSince(now))
      .orderBy("seq")
      .limit(1)
      .executeTakeFirst(),
  ];
  if (first === undefined) return { rows: [], results: 0 };
  const newest = last - offsetOf(page);
  const rows = await eventsFor(db, principal, now)
    .where("events.seq", "<=", newest)
    .where("events.seq", ">", Math.max(newest - page.pageSize, first.seq - 1))
    .orderBy("events.seq", "desc")
    .execute();
  return { rows, results: last - first.seq + 1 };
}

const columns = {
  id: sql.ref("events.id"),
  action: sql.ref("events.action"),
  created: sql.ref("events.created_at"),
  "entity.id": sql.ref("events.entity_id"),
  "entity.type": sql.ref("events.entity_type"),
  read,
  seen,
};

const countedPage = (db: Db, principal: Principal, page: PageRequest, filter: Filter, now: Date) =>
  listPage(eventsFor(db, principal, now).where("events.id", ">=", oldestId(now)), {
    page,
    filter,
    columns,
    lastly: { by: "events.seq", direction: "desc" },
  });

/** The lowest id that an event of the last 90 days can have: its high bits are the day, so older partitions are not read. */
const oldestId = (now: Date) => sql<number>`(event_day(${shownSince(now)}) << 40)`;

/** `percent` comes from the operation, which the hosts' reports update; progress never rewrites an event. */
const eventsFor = (db: Db, principal: Principal, now: Date) =>
  db
    .selectFrom("events")
    .leftJoin("operations", "operations.id", "events.operation_id")
    .leftJoin("event_watermarks", (join) =>
      join
        .onRef("event_watermarks.account_id", "=", "events.account_id")
        .on("event_watermarks.user_id", "=", principal.userId),
    )
    .leftJoin("event_reads", (join) =>
      join
        .onRef("event_reads.account_id", "=", "events.account_id")
        .on("event_reads.user_id", "=", principal.userId)
        .onRef("event_reads.event_id", "=", "events.id"),
    )
    .selectAll("events")
    .select(["operations.percent", seen.as("seen"), read.as("read")])
    .where("events.account_id", "=", principal.accountId)
    .where("events.created_at", ">=", shownSince(now))
    .$if(principal.restricted, (query) => query.where(visible(principal)));

/**
 * A restricted user sees events of entities that they may view, their own actions, and with `account_read` those of the
 * account.
 */
const visible = (principal: Principal) => sql<boolean>`(
  (events.username = ${principal.username} and events.created_at >= ${principal.nameSince})
  or exists (select from entity_grants g where g.account_id = events.account_id and g.user_id = ${principal.userId}
       and g.entity_type = events.entity_type and g.entity_id::text = events.entity_id)
  or (events.secondary_type is not null and exists (select from entity_grants g
       where g.account_id = events.account_id and g.user_id = ${principal.userId}
       and g.entity_type = events.secondary_type and g.entity_id::text = events.secondary_id))
  or (events.entity_type in ('account', 'oauth_client') and ${isGranted(principal, "account_read")}))`;

export const shownSince = (now: Date): Date => new Date(now.getTime() - SHOWN_DAYS * 86_400_000);

/** Marks everything up to this event for this user. Never moves backwards. */
export const markSeen = (db: Db, principal: Principal, seq: number): Promise<unknown> =>
  db
    .insertInto("event_watermarks")
    .values({ account_id: principal.accountId, user_id: principal.userId, seen_seq: seq })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "user_id"])
        .doUpdateSet({ seen_seq: sql`greatest(event_watermarks.seen_seq, excluded.seen_seq)` }),
    )
    .execute();

export const markRead = (db: Db, principal: Principal, eventId: number): Promise<unknown> =>
  db
    .insertInto("event_reads")
    .values({ account_id: principal.accountId, user_id: principal.userId, event_id: eventId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
