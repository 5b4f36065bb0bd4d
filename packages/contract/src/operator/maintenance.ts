import { z } from "zod";
import { MaintenanceItem } from "../account.ts";
import { defineOperation } from "../operation.ts";
import { Id, Moment, page, Timestamp } from "../wire.ts";

export const NewMaintenance = z.object({
  type: MaintenanceItem.shape.type.describe("kind of the work: reboot, cold_migration, live_migration"),
  when: Moment.describe("time in UTC, such as 2030-01-31T00:00:00"),
  reason: z.string().min(1).max(1024).describe("reason, for the users of the instance"),
});
export const Maintenance = z.object({
  id: z.int(),
  account: z.int(),
  compute: z.int(),
  type: MaintenanceItem.shape.type,
  status: z.enum([...MaintenanceItem.shape.status.options, "canceled"]),
  when: Timestamp,
  reason: z.string(),
});
export const LabelledMaintenance = Maintenance.extend({ label: z.string() });
export type LabelledMaintenance = z.output<typeof LabelledMaintenance>;

const maintenance = z.object({ maintenanceId: Id });
const common = { audience: "operator", tag: "Compute" } as const;

export const listMaintenance = defineOperation({
  ...common,
  id: "listMaintenance",
  summary: "List scheduled and started maintenance of compute instances",
  method: "GET",
  path: "/admin/maintenance",
  query: z.object({ all: z.literal("yes").describe("list completed and canceled maintenance too").optional() }),
  paged: true,
  reply: page(LabelledMaintenance),
});

export const scheduleMaintenance = defineOperation({
  ...common,
  id: "scheduleMaintenance",
  summary: "Schedule maintenance of a compute instance",
  note: "Its users see it at once. A repetition with the same type changes time and reason.",
  method: "POST",
  path: "/admin/computes/:computeId/maintenance",
  params: z.object({ computeId: Id }),
  body: NewMaintenance,
  reply: LabelledMaintenance,
});

export const startMaintenance = defineOperation({
  ...common,
  id: "startMaintenance",
  summary: "Mark maintenance as started",
  method: "POST",
  path: "/admin/maintenance/:maintenanceId/start",
  params: maintenance,
  reply: Maintenance,
});

export const completeMaintenance = defineOperation({
  ...common,
  id: "completeMaintenance",
  summary: "Mark maintenance as completed",
  note: "Users see it for 7 more days.",
  method: "POST",
  path: "/admin/maintenance/:maintenanceId/complete",
  params: maintenance,
  reply: Maintenance,
});

export const cancelMaintenance = defineOperation({
  ...common,
  id: "cancelMaintenance",
  summary: "Cancel maintenance",
  note: "Users do not see it any more.",
  method: "POST",
  path: "/admin/maintenance/:maintenanceId/cancel",
  params: maintenance,
  reply: Maintenance,
});
