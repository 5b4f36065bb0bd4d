import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Source } from "./source.ts";
import { Empty, Id, Moment, offered, page, Timestamp } from "./wire.ts";

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

const AllowList = z
  .array(Source, { error: "a list of addresses and CIDR ranges" })
  .max(10_000, "at most 10,000 entries");

const between = (least: number, most: number) => {
  const error = `${least} to ${most}`;
  return z.int({ error }).min(least, error).max(most, error);
};

/** The maintenance window, in UTC. Monday is day 1; only a monthly window has `week_of_month`. */
const Updates = z.object(
  {
    frequency: z.enum(["weekly", "monthly"], { error: "weekly or monthly" }),
    duration: between(1, 3),
    hour_of_day: between(0, 23),
    day_of_week: between(1, 7),
    week_of_month: between(1, 4).nullable(),
  },
  { error: "an object" },
);
export type Updates = z.output<typeof Updates>;

/** An update that waits for the window, or for a request to patch now. */
const PendingUpdate = z.object({
  description: z.string(),
  deadline: Timestamp.nullable(),
  planned_for: Timestamp.nullable(),
});
export type PendingUpdate = z.output<typeof PendingUpdate>;

/** The database that it was forked from, and the requested time; null: everything committed until the request. */
const ForkOrigin = z.object({ source: z.int(), restore_time: Timestamp.nullable() });

export const MysqlDatabase = z.object({
  id: z.int(),
  label: Label,
  engine: z.string(),
  version: z.string(),
  region: z.string(),
  type: z.string(),
  cluster_size: z.literal([1, 3]),
  encrypted: z.boolean(),
  allow_list: z.array(Source),
  hosts: z.object({ primary: z.string().nullable(), secondary: z.string().nullable() }),
  port: z.int().nullable(),
  /** Port for reading from the secondaries, under the same host names. Null for one node, and until there is a port. */
  read_only_port: z.int().nullable(),
  replication_type: ReplicationType,
  ssl_connection: z.boolean(),
  status: DatabaseStatus,
  total_disk_size_gb: z.int(),
  used_disk_size_gb: z.int(),
  updates: Updates.extend({ pending: z.array(PendingUpdate) }),
  created: Timestamp,
  updated: Timestamp,
  /** Every second from this time on can be forked. Null until the database has an archive. */
  oldest_restore_time: Timestamp.nullable(),
  fork: ForkOrigin.nullable(),
  /** Settings that differ from the engine's defaults. Clients of this family read `mysql` in every reply. */
  engine_config: z.object({ mysql: z.object({}) }),
});
export type MysqlDatabase = z.output<typeof MysqlDatabase>;

/** Starts with the data of another database, at a time within the last 7 days or now. */
const Fork = z.object(
  {
    source: z.int({ error: "the id of one of your databases" }),
    restore_time: Moment.optional(),
    /** Sent instead of `restore_time` by the Go SDK of this family, and so by its Terraform provider. */
    "-": Moment.optional(),
  },
  { error: "an object" },
);
export type Fork = z.output<typeof Fork>;

/** Engine settings, by group. Which of them may have a value is checked with the rest of the request. */
const EngineConfig = z.record(z.string(), z.unknown(), { error: "an object" }).nullable();
export type EngineConfig = z.output<typeof EngineConfig>;

const ENGINE_ID = "the id of an engine, such as mysql/9.7.4, or mysql/9 for the newest version of 9 that is offered";

export const NewMysqlDatabase = z.object({
  label: Label,
  region: offered("the id of a region"),
  type: offered("the id of a database type"),
  engine: offered(ENGINE_ID),
  cluster_size: z.union([z.literal(1), z.literal(3)], { error: "1 or 3" }).default(1),
  encrypted: z.boolean({ error: "true or false" }).default(false),
  /** Default: the operator's setting, which is true unless changed. */
  ssl_connection: z.boolean({ error: "true or false" }).optional(),
  replication_type: ReplicationType.optional(),
  allow_list: AllowList.default([]),
  fork: Fork.optional(),
  engine_config: EngineConfig.optional(),
});
export type NewMysqlDatabase = z.output<typeof NewMysqlDatabase>;

/** Clients send the whole object back to change a part of it, so unchangeable fields are accepted too. */
export const MysqlDatabaseChange = z
  .object({
    label: Label,
    allow_list: AllowList,
    updates: Updates.partial(),
    type: offered("the id of a database type"),
    engine: offered(ENGINE_ID),
    version: offered("the version of the engine, such as 9.7.4"),
    region: offered("the id of a region"),
    cluster_size: z.int({ error: "1 or 3" }),
    encrypted: z.boolean({ error: "true or false" }),
    ssl_connection: z.boolean({ error: "true or false" }),
    replication_type: ReplicationType,
    engine_config: EngineConfig,
  })
  .partial();
export type MysqlDatabaseChange = z.output<typeof MysqlDatabaseChange>;

/** The fields of a database in the list over all engines. */
export const Database = MysqlDatabase.omit({
  port: true,
  read_only_port: true,
  replication_type: true,
  ssl_connection: true,
  total_disk_size_gb: true,
  used_disk_size_gb: true,
  oldest_restore_time: true,
  engine_config: true,
}).extend({ instance_uri: z.string() });
export type Database = z.output<typeof Database>;

const databaseFields = {
  label: "string",
  type: "string",
  engine: "string",
  version: "string",
  region: "string",
  status: "string",
} as const;

export const listDatabases = defineOperation({
  id: "listDatabases",
  summary: "List the databases of all engines",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/instances",
  access: { scopes: ["databases:read_only"] },
  paged: true,
  filterable: databaseFields,
  rate: "collection",
  reply: page(Database),
});

export const listMysqlDatabases = defineOperation({
  id: "listMysqlDatabases",
  summary: "List the MySQL databases",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances",
  access: { scopes: ["databases:read_only"] },
  paged: true,
  filterable: databaseFields,
  rate: "collection",
  reply: page(MysqlDatabase),
});

const notOffered = ["private_network", "replication_commit_type", "tags"] as const;

export const createMysqlDatabase = defineOperation({
  id: "createMysqlDatabase",
  summary: "Create a MySQL database",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances",
  access: { scopes: ["databases:read_write"], grant: "add_databases" },
  body: NewMysqlDatabase,
  notOffered,
  rate: "single",
  emits: ["database_create"],
  reply: MysqlDatabase,
});

export const instance = z.object({ instanceId: Id });
export const instanceEntity = (permission: "read_only" | "read_write") =>
  ({ type: "database", param: "instanceId", permission }) as const;

export const viewMysqlDatabase = defineOperation({
  id: "viewMysqlDatabase",
  summary: "View a MySQL database",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: instance,
  rate: "single",
  reply: MysqlDatabase,
});

export const updateMysqlDatabase = defineOperation({
  id: "updateMysqlDatabase",
  summary: "Update a MySQL database",
  tag: "Databases",
  method: "PUT",
  path: "/v4/databases/mysql/instances/:instanceId",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  body: MysqlDatabaseChange,
  fixed: [
    "engine",
    "version",
    "engine_config",
    "region",
    "cluster_size",
    "encrypted",
    "ssl_connection",
    "replication_type",
  ],
  notOffered,
  rate: "single",
  emits: ["database_update", "database_resize", "database_resize_create"],
  reply: MysqlDatabase,
});

export const deleteMysqlDatabase = defineOperation({
  id: "deleteMysqlDatabase",
  summary: "Delete a MySQL database",
  tag: "Databases",
  method: "DELETE",
  path: "/v4/databases/mysql/instances/:instanceId",
  access: { scopes: ["databases:read_write"], unrestrictedOnly: true, entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_delete"],
  reply: Empty,
});

export const viewMysqlCredentials = defineOperation({
  id: "viewMysqlCredentials",
  summary: "View the credentials of a MySQL database",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/credentials",
  // The password gives full write access, so the user needs more than the scope implies.
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  reply: z.object({ username: z.string(), password: z.string() }),
});

export const viewMysqlSsl = defineOperation({
  id: "viewMysqlSsl",
  summary: "View the authority that signs a MySQL database's certificate",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/ssl",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: instance,
  rate: "single",
  /** Base64 of the PEM; null for a database that does not require TLS. */
  reply: z.object({ ca_certificate: z.base64().nullable() }),
});
