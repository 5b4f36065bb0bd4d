import { z } from "zod";
import { defineOperation, type Permission } from "./operation.ts";
import { Id, page, Timestamp } from "./wire.ts";

/** As registered by the operator: Moorage does not run it. */
export const Compute = z.object({
  id: z.int(),
  label: z.string(),
  region: z.string(),
  type: z.string().nullable(),
  created: Timestamp,
  updated: Timestamp,
});
export type Compute = z.output<typeof Compute>;

export const Disk = z.object({
  id: z.int(),
  label: z.string(),
  size: z.int(),
  filesystem: z.enum(["raw", "swap", "ext3", "ext4", "initrd"]),
  status: z.enum(["ready"]),
  created: Timestamp,
  updated: Timestamp,
});
export type Disk = z.output<typeof Disk>;

const compute = z.object({ computeId: Id });
const computeEntity = (permission: Permission) => ({ type: "compute", param: "computeId", permission }) as const;
const access = { scopes: ["computes:read_only"], entity: computeEntity("read_only") } as const;

export const listComputes = defineOperation({
  id: "listComputes",
  summary: "List the compute instances",
  tag: "Compute",
  method: "GET",
  path: "/v4/compute/instances",
  aliases: ["/v4/linode/instances"],
  access: { scopes: ["computes:read_only"] },
  paged: true,
  filterable: { id: "number", label: "string", region: "string" },
  rate: "collection",
  reply: page(Compute),
});

export const viewCompute = defineOperation({
  id: "viewCompute",
  summary: "View a compute instance",
  tag: "Compute",
  method: "GET",
  path: "/v4/compute/instances/:computeId",
  aliases: ["/v4/linode/instances/:computeId"],
  access,
  params: compute,
  rate: "single",
  reply: Compute,
});

export const listDisks = defineOperation({
  id: "listDisks",
  summary: "List the disks of a compute instance",
  tag: "Compute",
  method: "GET",
  path: "/v4/compute/instances/:computeId/disks",
  aliases: ["/v4/linode/instances/:computeId/disks"],
  access,
  params: compute,
  paged: true,
  filterable: { id: "number", label: "string", size: "number" },
  rate: "collection",
  reply: page(Disk),
});

export const viewDisk = defineOperation({
  id: "viewDisk",
  summary: "View a disk of a compute instance",
  tag: "Compute",
  method: "GET",
  path: "/v4/compute/instances/:computeId/disks/:diskId",
  aliases: ["/v4/linode/instances/:computeId/disks/:diskId"],
  access,
  params: compute.extend({ diskId: Id }),
  rate: "single",
  reply: Disk,
});
