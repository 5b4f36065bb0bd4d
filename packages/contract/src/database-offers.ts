import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { page } from "./wire.ts";

export const DatabaseEngine = z.object({
  id: z.string(),
  engine: z.string(),
  version: z.string(),
  total_disk_size_gb: z.int(),
  used_disk_size_gb: z.int(),
});
export type DatabaseEngine = z.output<typeof DatabaseEngine>;

const Price = z.object({ hourly: z.number(), monthly: z.number() });
const Offer = z.object({ quantity: z.int(), price: Price });
export const DatabaseType = z.object({
  id: z.string(),
  label: z.string(),
  class: z.string(),
  memory: z.int(),
  disk: z.int(),
  vcpus: z.int(),
  deprecated: z.boolean(),
  // A command line client of this family reads both lists, even if empty.
  engines: z.object({ mysql: z.array(Offer), postgresql: z.array(Offer) }),
});
export type DatabaseType = z.output<typeof DatabaseType>;

export const listDatabaseEngines = defineOperation({
  id: "listDatabaseEngines",
  summary: "List the database engines",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/engines",
  access: "public",
  paged: true,
  filterable: { engine: "string", version: "string" },
  rate: "collection",
  reply: page(DatabaseEngine),
});

export const viewDatabaseEngine = defineOperation({
  id: "viewDatabaseEngine",
  summary: "View a database engine",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/engines/:engineId",
  slashParam: "engineId",
  access: "public",
  params: z.object({ engineId: z.string() }),
  rate: "single",
  reply: DatabaseEngine,
});

export const listDatabaseTypes = defineOperation({
  id: "listDatabaseTypes",
  summary: "List the types that a database can have",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/types",
  access: "public",
  paged: true,
  filterable: { deprecated: "boolean" },
  rate: "collection",
  reply: page(DatabaseType),
});

export const viewDatabaseType = defineOperation({
  id: "viewDatabaseType",
  summary: "View a database type",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/types/:typeId",
  access: "public",
  params: z.object({ typeId: z.string() }),
  rate: "single",
  reply: DatabaseType,
});
