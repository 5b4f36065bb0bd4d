import { toDate, toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import {
  isChange,
  listEveryMaintenance,
  lockCompute,
  lockMaintenance,
  type MaintenanceRow,
  saveMaintenance,
  saveMaintenanceStatus,
} from "#inventory/index.ts";
import { DomainError } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { missing } from "./computes.ts";
import { command, type CommandDeps, operatorRoute } from "./operator-route.ts";
import { texts } from "./texts.ts";

const steps = [
  [contract.startMaintenance, "started"],
  [contract.completeMaintenance, "completed"],
  [contract.cancelMaintenance, "canceled"],
] as const;

/** Maintenance of compute instances. Their users see it as soon as it is planned. */
export function maintenanceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listMaintenance, async ({ query, page }) => {
    const { rows, results } = await listEveryMaintenance(db, page, query.all === undefined ? "open" : "all");
    return toPage(
      page,
      results,
      rows.map((row) => ({ ...viewOf(row), label: row.compute_label })),
    );
  });

  command(app, deps, contract.scheduleMaintenance, async (tx, { params: { computeId: id }, body }) => {
    const { type, when, reason } = body;
    const compute = (await lockCompute(tx, id)) ?? missing(id);
    const saved = await saveMaintenance(tx, compute, { type, reason, when_at: toDate(when) }, clock());
    if (saved === undefined)
      throw new DomainError("wrong-state", {
        reason: texts.maintenanceStarted({ type, label: compute.label, id }),
      });
    return { ...viewOf(saved), label: compute.label };
  });

  for (const [operation, status] of steps)
    command(app, deps, operation, async (tx, { params: { maintenanceId: id } }) => {
      const found = await lockMaintenance(tx, id);
      if (found === undefined) throw new DomainError("not-found", { reason: texts.maintenanceUnknown({ id }) });
      return viewOf(isChange(found, status) ? await saveMaintenanceStatus(tx, found, status, clock()) : found);
    });
}

const viewOf = ({ id, account_id, compute_id, type, status, when_at, reason }: MaintenanceRow) => ({
  id,
  account: account_id,
  compute: compute_id,
  type,
  status,
  when: toTimestamp(when_at),
  reason,
});
