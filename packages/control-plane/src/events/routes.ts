import { listEvents, viewEvent } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type Authenticate, route } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findEvent, listEventPage } from "./event-store.ts";
import { viewOfEvent } from "./view.ts";

export function eventRoutes(app: FastifyInstance, deps: { db: Db; clock: Clock; authenticate: Authenticate }): void {
  const { db, clock, authenticate } = deps;

  route(app, authenticate, listEvents, async ({ principal, page }) => {
    // Without grants a restricted user sees nothing; grants come with the identity work.
    if (principal.restricted) return toPage(page, 0, []);
    const { rows, results } = await listEventPage(db, principal.accountId, page);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfEvent(row, clock())),
    );
  });

  route(app, authenticate, viewEvent, async ({ principal, params }) => {
    if (principal.restricted) throw notFound();
    return viewOfEvent(await findEvent(db, principal.accountId, params.eventId), clock());
  });
}
