import { listMaintenance, type MaintenanceItem, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import { listMaintenancePage, type MaintenanceToView } from "./maintenance-store.ts";

export function inventoryRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { db, clock } = deps;
  route(app, deps, listMaintenance, async ({ principal, page, filter }) => {
    const { rows, results } = await listMaintenancePage(db, principal, page, filter, clock());
    return toPage(page, results, rows.map(viewOfMaintenance));
  });
}

const viewOfMaintenance = (row: MaintenanceToView): MaintenanceItem => ({
  entity: {
    id: row.compute_id,
    label: row.compute_label,
    type: "compute",
    url: `/v4/compute/instances/${row.compute_id}`,
  },
  reason: row.reason,
  status: row.status as MaintenanceItem["status"],
  type: row.type,
  when: toTimestamp(row.when_at),
});
