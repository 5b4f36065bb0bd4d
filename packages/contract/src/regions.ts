import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { page } from "./wire.ts";

export const Region = z.object({
  id: z.string(),
  label: z.string(),
  country: z.string(),
  capabilities: z.array(z.string()),
  status: z.enum(["ok", "outage"]),
  resolvers: z.object({ ipv4: z.string(), ipv6: z.string() }),
});
export type Region = z.output<typeof Region>;

const Price = z.object({ hourly: z.number(), monthly: z.number() });
export const ComputeType = z.object({
  id: z.string(),
  label: z.string(),
  class: z.string(),
  disk: z.int(),
  memory: z.int(),
  vcpus: z.int(),
  gpus: z.int(),
  transfer: z.int(),
  network_out: z.int(),
  price: Price,
  region_prices: z.array(Price.extend({ id: z.string() })),
  addons: z.object({ backups: z.object({ price: Price, region_prices: z.array(Price.extend({ id: z.string() })) }) }),
  successor: z.string().nullable(),
});
export type ComputeType = z.output<typeof ComputeType>;

export const listRegions = defineOperation({
  id: "listRegions",
  summary: "List the regions",
  tag: "Regions and types",
  method: "GET",
  path: "/v4/regions",
  access: "public",
  paged: true,
  filterable: { country: "string" },
  rate: "collection",
  cacheSeconds: 900,
  reply: page(Region),
});

export const viewRegion = defineOperation({
  id: "viewRegion",
  summary: "View a region",
  tag: "Regions and types",
  method: "GET",
  path: "/v4/regions/:regionId",
  access: "public",
  params: z.object({ regionId: z.string() }),
  rate: "single",
  cacheSeconds: 900,
  reply: Region,
});

export const listComputeTypes = defineOperation({
  id: "listComputeTypes",
  summary: "List the compute types",
  tag: "Regions and types",
  method: "GET",
  path: "/v4/compute/types",
  aliases: ["/v4/linode/types"],
  access: "public",
  paged: true,
  rate: "collection",
  reply: page(ComputeType),
});

export const viewComputeType = defineOperation({
  id: "viewComputeType",
  summary: "View a compute type",
  tag: "Regions and types",
  method: "GET",
  path: "/v4/compute/types/:typeId",
  aliases: ["/v4/linode/types/:typeId"],
  access: "public",
  params: z.object({ typeId: z.string() }),
  rate: "single",
  reply: ComputeType,
});
