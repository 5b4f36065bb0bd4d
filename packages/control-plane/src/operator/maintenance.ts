import { MaintenanceItem, Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  isChange,
  listEveryMaintenance,
  lockCompute,
  lockMaintenance,
  type MaintenanceRow,
  type MaintenanceStatus,
  saveMaintenance,
  saveMaintenanceStatus,
} from "#inventory/index.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import { command, type CommandDeps } from "./command.ts";
import { idOf, missing } from "./computes.ts";
import { Nothing } from "./fields.ts";
import { texts } from "./texts.ts";

const Maintenance = z.object({
  type: MaintenanceItem.shape.type,
  when: Moment,
  reason: z.string().min(1).max(1024),
});

const MAINTENANCE = "/admin/maintenance";
const steps = { start: "started", complete: "completed", cancel: "canceled" } as const satisfies Record<
  string,
  MaintenanceStatus
>;

/** Maintenance of compute instances. Their users see it as soon as it is planned. */
export function maintenanceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get<{ Querystring: { all?: string } }>(MAINTENANCE, async ({ query }) => {
    const page = readPage(query);
    const { rows, results } = await listEveryMaintenance(db, page, query.all === undefined ? "open" : "all");
    return toPage(
      page,
      results,
      rows.map((row) => ({ ...viewOf(row), label: row.compute_label })),
    );
  });

  const schedule = { path: "/admin/computes/:id/maintenance", body: Maintenance } as const;
  command(app, deps, schedule, async (tx, { type, when, reason }, { id }) => {
    const compute = (await lockCompute(tx, idOf(id))) ?? missing(id);
    const saved = await saveMaintenance(tx, compute, { type, reason, when_at: toDate(when) }, clock());
    if (saved === undefined)
      throw new DomainError("wrong-state", {
        reason: texts.maintenanceStarted({ type, label: compute.label, id }),
      });
    return { ...viewOf(saved), label: compute.label };
  });

  for (const [verb, status] of Object.entries(steps))
    command(app, deps, { path: `${MAINTENANCE}/:id/${verb}`, body: Nothing }, async (tx, _, { id }) => {
      const found = await lockMaintenance(tx, idOf(id));
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
