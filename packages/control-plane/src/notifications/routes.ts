import { entityIdOf, listNotifications, type Notification, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#http/index.ts";
import { toPage } from "#platform/http/page.ts";
import { listNotificationPage, type NotificationRow } from "./notification-list.ts";

export function notificationRoutes(app: FastifyInstance, deps: RouteDeps): void {
  route(app, deps, listNotifications, async ({ principal, page, filter }) => {
    const { rows, results } = await listNotificationPage(deps.db, principal, page, filter);
    return toPage(page, results, rows.map(viewOfNotification));
  });
}

const viewOfNotification = (row: NotificationRow): Notification => ({
  type: row.type,
  severity: row.severity,
  label: row.label,
  message: row.message,
  body: row.body,
  entity: {
    id: entityIdOf(row.entity_type, row.entity_id === "" ? null : row.entity_id),
    label: row.entity_label,
    type: row.entity_type,
    url: row.entity_url,
  },
  when: toTimestamp(row.since),
  until: row.until === null ? null : toTimestamp(row.until),
});
