import {
  entityIdOf,
  type Event,
  type EventEntity,
  listEvents,
  markEventRead,
  markEventsSeen,
  toTimestamp,
  viewEvent,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { toPage } from "#platform/http/page.ts";
import { type EventRow, findEvent, listEventPage, markRead, markSeen } from "./event-store.ts";

export function eventRoutes(app: FastifyInstance, deps: RouteDeps & { db: Db; clock: Clock }): void {
  const { db, clock } = deps;

  route(app, deps, listEvents, async ({ principal, page, filter }) => {
    const { rows, results } = await listEventPage(db, principal, page, filter, clock());
    return toPage(
      page,
      results,
      rows.map((row) => viewOfEvent(row, clock())),
    );
  });

  route(app, deps, viewEvent, async ({ principal, params }) =>
    viewOfEvent(await findEvent(db, principal, params.eventId, clock()), clock()),
  );

  route(app, deps, markEventRead, async ({ principal, params }) => {
    const { id } = await findEvent(db, principal, params.eventId, clock());
    await markRead(db, principal, id);
    return {};
  });

  route(app, deps, markEventsSeen, async ({ principal, params }) => {
    const { seq } = await findEvent(db, principal, params.eventId, clock());
    await markSeen(db, principal, seq);
    return {};
  });
}

function viewOfEvent(row: EventRow, now: Date): Event {
  const underWay = row.status === "started";
  return {
    id: row.id,
    action: row.action,
    created: toTimestamp(row.created_at),
    duration: ((row.finished_at ?? now).getTime() - row.created_at.getTime()) / 1000,
    entity: entityOf(row.entity_type, row.entity_id, row.entity_label, row.entity_url),
    secondary_entity:
      row.secondary_type === null || row.secondary_url === null
        ? null
        : entityOf(row.secondary_type, row.secondary_id, row.secondary_label, row.secondary_url),
    message: row.message,
    // 100 is for finished events only: an unfinished one would read as done.
    percent_complete: row.status === "finished" ? 100 : underWay ? Math.min(row.percent ?? 0, 99) : row.percent,
    rate: null,
    read: row.read,
    seen: row.seen,
    status: row.status,
    time_remaining: null,
    username: row.username,
  };
}

const entityOf = (type: string, id: string | null, label: string | null, url: string): EventEntity => ({
  id: entityIdOf(type, id),
  label,
  type,
  url,
});
