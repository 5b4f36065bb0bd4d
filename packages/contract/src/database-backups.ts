import { z } from "zod";
import { instance, instanceEntity } from "./databases.ts";
import { defineOperation } from "./operation.ts";
import { Empty, Id, page, Timestamp } from "./wire.ts";

const SNAPSHOT_LABEL = "1 to 30 letters, digits, underscores and hyphens";

export const DatabaseBackup = z.object({
  id: z.int(),
  type: z.enum(["auto", "snapshot"]),
  label: z.string(),
  /** The time to which a restore returns. */
  created: Timestamp,
  /** When a restore of it was last verified successfully. */
  verified: Timestamp.nullable(),
});
export type DatabaseBackup = z.output<typeof DatabaseBackup>;

export const NewDatabaseBackup = z.object({
  label: z.string({ error: SNAPSHOT_LABEL }).regex(/^[A-Za-z0-9_-]{1,30}$/, SNAPSHOT_LABEL),
  target: z.enum(["primary", "secondary"], { error: "primary or secondary" }).default("primary"),
});
export type NewDatabaseBackup = z.output<typeof NewDatabaseBackup>;

const backup = instance.extend({ backupId: Id });

export const listMysqlBackups = defineOperation({
  id: "listMysqlBackups",
  summary: "List the backups of a MySQL database",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/backups",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: instance,
  paged: true,
  filterable: { type: "string", created: "date" },
  rate: "collection",
  reply: page(DatabaseBackup),
});

export const createMysqlBackup = defineOperation({
  id: "createMysqlBackup",
  summary: "Take a snapshot of a MySQL database",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/backups",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  body: NewDatabaseBackup,
  rate: "single",
  emits: ["database_backup_create"],
  reply: Empty,
});

export const viewMysqlBackup = defineOperation({
  id: "viewMysqlBackup",
  summary: "View a backup of a MySQL database",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/backups/:backupId",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: backup,
  rate: "single",
  reply: DatabaseBackup,
});

export const deleteMysqlBackup = defineOperation({
  id: "deleteMysqlBackup",
  summary: "Delete a backup of a MySQL database",
  tag: "Databases",
  method: "DELETE",
  path: "/v4/databases/mysql/instances/:instanceId/backups/:backupId",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: backup,
  rate: "single",
  emits: ["database_backup_delete"],
  reply: Empty,
});

export const restoreMysqlBackup = defineOperation({
  id: "restoreMysqlBackup",
  summary: "Restore a MySQL database to one of its backups, in place",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/backups/:backupId/restore",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: backup,
  rate: "single",
  emits: ["database_backup_restore"],
  reply: Empty,
});
