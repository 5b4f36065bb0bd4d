import {
  type Compute,
  type Disk,
  listComputes,
  listDisks,
  listMaintenance,
  type MaintenanceItem,
  toTimestamp,
  viewCompute,
  viewDisk,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { toPage } from "#platform/http/page.ts";
import { type ComputeRow, findCompute, listComputePage } from "./compute-store.ts";
import { type DiskRow, findDisk, listDiskPage } from "./disk-store.ts";
import { listMaintenancePage, type MaintenanceToView } from "./maintenance-store.ts";

export function inventoryRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { db, clock } = deps;
  route(app, deps, listComputes, async ({ principal, page, filter }) => {
    const { rows, results } = await listComputePage(db, principal, page, filter);
    return toPage(page, results, rows.map(viewOfCompute));
  });
  route(app, deps, viewCompute, async ({ principal, params }) =>
    viewOfCompute(await findCompute(db, principal.accountId, params.computeId)),
  );
  route(app, deps, listDisks, async ({ principal, params, page, filter }) => {
    const compute = await findCompute(db, principal.accountId, params.computeId);
    const { rows, results } = await listDiskPage(db, compute, page, filter);
    return toPage(page, results, rows.map(viewOfDisk));
  });
  route(app, deps, viewDisk, async ({ principal, params }) => {
    const compute = await findCompute(db, principal.accountId, params.computeId);
    return viewOfDisk(await findDisk(db, compute, params.diskId));
  });

  route(app, deps, listMaintenance, async ({ principal, page, filter }) => {
    const { rows, results } = await listMaintenancePage(db, principal, page, filter, clock());
    return toPage(page, results, rows.map(viewOfMaintenance));
  });
}

const viewOfCompute = (row: ComputeRow): Compute => ({
  id: row.id,
  label: row.label,
  region: row.region,
  type: row.plan,
  created: toTimestamp(row.created_at),
  updated: toTimestamp(row.updated_at),
});

const viewOfDisk = (row: DiskRow): Disk => ({
  id: row.id,
  label: row.label,
  size: row.size_mb,
  filesystem: row.filesystem,
  // A registered disk exists already: nothing is created here that a client would have to wait for.
  status: "ready",
  created: toTimestamp(row.created_at),
  updated: toTimestamp(row.updated_at),
});

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
