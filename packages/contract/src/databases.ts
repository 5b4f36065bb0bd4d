import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Empty, Id, page, Source, Timestamp } from "./wire.ts";

export const DatabaseStatus = z.enum([
  "provisioning",
  "active",
  "suspending",
  "suspended",
  "resuming",
  "restoring",
  "failed",
  "degraded",
  "updating",
  "backing_up",
]);
export type DatabaseStatus = z.output<typeof DatabaseStatus>;

export const ReplicationType = z.enum(["none", "asynch", "semi_synch"], { error: "none, asynch or semi_synch" });

const Label = z
  .string({ error: "a string of 3 to 32 characters" })
  .min(3, "3 to 32 characters")
  .max(32, "3 to 32 characters")
  .regex(/^[^\p{Cc}]*$/u, "no control characters")
  .refine((label) => label.trim() === label, "no space at either end");

const Updates = z.object({
  frequency: z.enum(["weekly", "monthly"]),
  duration: z.int(),
  hour_of_day: z.int(),
  day_of_week: z.int(),
  week_of_month: z.int().nullable(),
});
export type Updates = z.output<typeof Updates>;

export const MysqlDatabase = z.object({
  id: z.int(),
  label: Label,
  engine: z.string(),
  version: z.string(),
  region: z.string(),
  type: z.string(),
  cluster_size: z.int(),
  encrypted: z.boolean(),
  allow_list: z.array(Source),
  hosts: z.object({ primary: z.string().nullable(), secondary: z.string().nullable() }),
  port: z.int().nullable(),
  replication_type: ReplicationType,
  ssl_connection: z.boolean(),
  status: DatabaseStatus,
  total_disk_size_gb: z.int(),
  used_disk_size_gb: z.int(),
  updates: Updates,
  created: Timestamp,
  updated: Timestamp,
});
export type MysqlDatabase = z.output<typeof MysqlDatabase>;

export const NewMysqlDatabase = z.object({
  label: Label,
  region: z.string({ error: "the id of a region" }),
  type: z.string({ error: "the id of a database type" }),
  engine: z.string({ error: "the id of an engine, such as mysql/9.7.4" }),
  cluster_size: z.union([z.literal(1), z.literal(3)], { error: "1 or 3" }).default(1),
  encrypted: z.boolean({ error: "true or false" }).default(false),
  ssl_connection: z.boolean({ error: "true or false" }).default(true),
  replication_type: ReplicationType.optional(),
  allow_list: z
    .array(Source, { error: "a list of addresses and CIDR ranges" })
    .max(10_000, "at most 10,000 entries")
    .default([]),
});
export type NewMysqlDatabase = z.output<typeof NewMysqlDatabase>;

export const DatabaseEngine = z.object({
  id: z.string(),
  engine: z.string(),
  version: z.string(),
  total_disk_size_gb: z.int(),
  used_disk_size_gb: z.int(),
});
export type DatabaseEngine = z.output<typeof DatabaseEngine>;

export const listDatabaseEngines = defineOperation({
  id: "listDatabaseEngines",
  method: "GET",
  path: "/v4/databases/engines",
  access: "public",
  paged: true,
  reply: page(DatabaseEngine),
});

export const listMysqlDatabases = defineOperation({
  id: "listMysqlDatabases",
  method: "GET",
  path: "/v4/databases/mysql/instances",
  access: { scopes: ["databases:read_only"] },
  paged: true,
  reply: page(MysqlDatabase),
});

export const createMysqlDatabase = defineOperation({
  id: "createMysqlDatabase",
  method: "POST",
  path: "/v4/databases/mysql/instances",
  access: { scopes: ["databases:read_write"] },
  body: NewMysqlDatabase,
  reply: MysqlDatabase,
});

const instance = z.object({ instanceId: Id });

export const viewMysqlDatabase = defineOperation({
  id: "viewMysqlDatabase",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId",
  access: { scopes: ["databases:read_only"] },
  params: instance,
  reply: MysqlDatabase,
});

export const deleteMysqlDatabase = defineOperation({
  id: "deleteMysqlDatabase",
  method: "DELETE",
  path: "/v4/databases/mysql/instances/:instanceId",
  access: { scopes: ["databases:read_write"], unrestrictedOnly: true },
  params: instance,
  reply: Empty,
});

export const viewMysqlCredentials = defineOperation({
  id: "viewMysqlCredentials",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/credentials",
  access: { scopes: ["databases:read_only"] },
  params: instance,
  reply: z.object({ username: z.string(), password: z.string() }),
});
