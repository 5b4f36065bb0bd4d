import { listEvents, markEventRead, markEventsSeen, viewEvent } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { toPage } from "#platform/http/page.ts";
import { findEvent, listEventPage, markRead, markSeen } from "./event-store.ts";
import { viewOfEvent } from "./view.ts";

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
