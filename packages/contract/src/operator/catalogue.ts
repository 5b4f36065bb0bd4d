import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Timestamp } from "../wire.ts";
import { Name, whole } from "./fields.ts";

export const NewRegion = z.object({
  id: Name.describe("id of the region, such as eu-central"),
  label: Name.describe("name for display, such as Frankfurt"),
  country: z.string().length(2).describe("two-letter country code, such as de"),
});
export const Region = NewRegion.extend({
  outage: z.string().nullable(),
  outage_since: Timestamp.nullable(),
  has_host: z.boolean(),
});
export const Outage = z.object({
  message: z.string().min(1).max(1024).nullable().describe("shown to tenants while the outage lasts; null ends it"),
});

const Sha256 = z.hex().length(64);
const EngineImage = z.object({ image: Sha256.describe("SHA-256 of the container image that hosts run") });
export const NewEngine = EngineImage.extend({
  id: z
    .string()
    .max(100)
    .regex(/^mysql\/[\w.]+$/, "mysql/<version>")
    .describe("such as mysql/9.7.4"),
  prepared: Sha256.describe("SHA-256 of the prepared data directory that new nodes start from"),
});
export const Engine = NewEngine.extend({ engine: z.string(), version: z.string() });

const common = { audience: "operator", tag: "Catalogue" } as const;

export const listRegions = defineOperation({
  ...common,
  id: "listRegions",
  summary: "List all regions",
  method: "GET",
  path: "/admin/regions",
  reply: whole(Region),
});

export const saveRegion = defineOperation({
  ...common,
  id: "saveRegion",
  summary: "Create a region",
  note: "A repetition with the same id changes label and country.",
  method: "POST",
  path: "/admin/regions",
  body: NewRegion,
  reply: NewRegion,
});

export const setOutage = defineOperation({
  ...common,
  id: "setOutage",
  summary: "Notify the accounts that use a region of the start or the end of an outage",
  method: "POST",
  path: "/admin/regions/:regionId/outage",
  params: z.object({ regionId: z.string() }),
  body: Outage,
  reply: Region,
});

export const listEngines = defineOperation({
  ...common,
  id: "listEngines",
  summary: "List all engine versions with the SHA-256 of their images and data directories",
  method: "GET",
  path: "/admin/engines",
  reply: whole(Engine),
});

export const saveEngine = defineOperation({
  ...common,
  id: "saveEngine",
  summary: "Offer an engine version, such as mysql/9.7.4",
  note: "A repetition with the same id changes its images.",
  method: "POST",
  path: "/admin/engines",
  body: NewEngine,
  reply: Engine,
});

export const setEngineImage = defineOperation({
  ...common,
  id: "setEngineImage",
  summary: "Assign a new image to an engine version",
  note: "Its databases take the image in their maintenance windows.",
  method: "POST",
  path: "/admin/engines/:engineId/image",
  params: z.object({ engineId: z.string() }),
  slashParam: "engineId",
  body: EngineImage,
  reply: z.object({ id: z.string(), image: z.string(), databases: z.int() }),
});
