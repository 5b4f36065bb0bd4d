import { instance, instanceEntity } from "./databases.ts";
import { defineOperation } from "./operation.ts";
import { Empty } from "./wire.ts";

export const resetMysqlCredentials = defineOperation({
  id: "resetMysqlCredentials",
  summary: "Give a MySQL database a new password",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/credentials/reset",
  access: { scopes: ["databases:read_write"], unrestrictedOnly: true, entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_credentials_reset"],
  reply: Empty,
});

export const patchMysqlDatabase = defineOperation({
  id: "patchMysqlDatabase",
  summary: "Apply pending patches to a MySQL database now",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/patch",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_update"],
  reply: Empty,
});

export const suspendMysqlDatabase = defineOperation({
  id: "suspendMysqlDatabase",
  summary: "Suspend a MySQL database: it stops, its data stay",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/suspend",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_update"],
  reply: Empty,
});

export const resumeMysqlDatabase = defineOperation({
  id: "resumeMysqlDatabase",
  summary: "Resume a suspended MySQL database",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/resume",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_update"],
  reply: Empty,
});
