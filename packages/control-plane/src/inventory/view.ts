import { type Compute, type Disk, type MaintenanceItem, toTimestamp } from "@moorage/contract";
import type { ComputeRow } from "./compute-store.ts";
import type { DiskRow } from "./disk-store.ts";
import type { MaintenanceToView } from "./maintenance-store.ts";

export const viewOfCompute = (row: ComputeRow): Compute => ({
  id: row.id,
  label: row.label,
  region: row.region,
  type: row.plan,
  created: toTimestamp(row.created_at),
  updated: toTimestamp(row.updated_at),
});

export const viewOfDisk = (row: DiskRow): Disk => ({
  id: row.id,
  label: row.label,
  size: row.size_mb,
  filesystem: row.filesystem,
  // A registered disk exists already: nothing is created here that a client would have to wait for.
  status: "ready",
  created: toTimestamp(row.created_at),
  updated: toTimestamp(row.updated_at),
});

export const viewOfMaintenance = (row: MaintenanceToView): MaintenanceItem => ({
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
