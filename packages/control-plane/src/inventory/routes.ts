import { listComputes, listDisks, listMaintenance, viewCompute, viewDisk } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import { findCompute, listComputePage } from "./compute-store.ts";
import { findDisk, listDiskPage } from "./disk-store.ts";
import { listMaintenancePage } from "./maintenance-store.ts";
import { viewOfCompute, viewOfDisk, viewOfMaintenance } from "./view.ts";

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
