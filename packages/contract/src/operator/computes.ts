import { z } from "zod";
import { Disk as TenantsDisk } from "../computes.ts";
import { defineOperation } from "../operation.ts";
import { Id, page, Timestamp } from "../wire.ts";
import { account, Amount, Name, ofAccount, whole } from "./fields.ts";

export const LONGEST_LABEL = 64;
const LABEL = `1 to ${LONGEST_LABEL} letters, digits, dots, dashes or underscores`;
export const NewCompute = z.object({
  label: z.string({ error: LABEL }).regex(new RegExp(`^[\\w.-]{1,${LONGEST_LABEL}}$`), LABEL),
  region: Name.describe("region of the instance; see moorage admin region list"),
  plan: Name.describe("size of the instance; see moorage admin plan list").optional(),
  host: Name.describe("host that runs the instance, if it is in moorage admin host list").optional(),
});
export const NewDisk = z.object({
  label: z.string().min(1).max(LONGEST_LABEL),
  size_mb: Amount.describe("size in MB"),
  filesystem: TenantsDisk.shape.filesystem.describe("content of the disk").default("ext4"),
  device: z
    .string()
    .startsWith("/", "the path of a block device or a file on its host")
    .max(4096)
    .describe("path of the block device or file on the host"),
});
export const Disk = z.object({
  id: z.int(),
  compute: z.int(),
  label: z.string(),
  size_mb: z.int(),
  filesystem: TenantsDisk.shape.filesystem,
  device: z.string(),
});
export type Disk = z.output<typeof Disk>;
export const Compute = z.object({
  id: z.int(),
  account: z.int(),
  label: z.string(),
  region: z.string(),
  plan: z.string().nullable(),
  host: z.string().nullable(),
  created: Timestamp,
  updated: Timestamp,
});
export type Compute = z.output<typeof Compute>;
export const ComputeWithDisks = Compute.extend({ disks: z.array(Disk) });
export const RemovedCompute = z.object({
  id: z.int(),
  account: z.int(),
  label: z.string(),
  images: z.array(z.object({ id: z.string(), disk: z.int(), label: z.string(), expiry: Timestamp })),
  /** Disks that are not captured, and why. */
  not_kept: z.array(z.object({ disk: z.int(), label: z.string(), reason: z.string() })),
});
export type RemovedCompute = z.output<typeof RemovedCompute>;

const compute = z.object({ computeId: Id });
const common = { audience: "operator", tag: "Compute" } as const;

export const listComputes = defineOperation({
  ...common,
  id: "listComputes",
  summary: "List the compute instances of all accounts",
  method: "GET",
  path: "/admin/computes",
  query: ofAccount,
  paged: true,
  reply: page(Compute),
});

export const viewCompute = defineOperation({
  ...common,
  id: "viewCompute",
  summary: "Show a compute instance and its disks",
  method: "GET",
  path: "/admin/computes/:computeId",
  params: compute,
  reply: ComputeWithDisks,
});

export const saveCompute = defineOperation({
  ...common,
  id: "saveCompute",
  summary: "Register a compute instance, which runs elsewhere",
  note: "A repetition with the same label changes the named fields.",
  method: "POST",
  path: "/admin/accounts/:accountId/computes",
  params: account,
  body: NewCompute,
  reply: ComputeWithDisks,
});

export const removeCompute = defineOperation({
  ...common,
  id: "removeCompute",
  summary: "Remove a compute instance, its grants and its maintenance",
  note: "Its disks become images, which its account keeps for some days.",
  method: "POST",
  path: "/admin/computes/:computeId/remove",
  params: compute,
  body: z.object({ image: z.boolean().describe("capture the disks as images").default(true) }),
  reply: RemovedCompute,
});

export const listDisks = defineOperation({
  ...common,
  id: "listDisks",
  summary: "List the disks of a compute instance",
  method: "GET",
  path: "/admin/computes/:computeId/disks",
  params: compute,
  reply: whole(Disk),
});

export const saveDisk = defineOperation({
  ...common,
  id: "saveDisk",
  summary: "Register a disk of a compute instance",
  note: "A repetition with the same label changes the other fields.",
  method: "POST",
  path: "/admin/computes/:computeId/disks",
  params: compute,
  body: NewDisk,
  reply: Disk,
});

export const removeDisk = defineOperation({
  ...common,
  id: "removeDisk",
  summary: "Remove the record of a disk",
  method: "POST",
  path: "/admin/disks/:diskId/remove",
  params: z.object({ diskId: Id }),
  reply: Disk,
});
