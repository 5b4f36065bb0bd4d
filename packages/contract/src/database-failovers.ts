import { z } from "zod";
import { instance, instanceEntity } from "./databases.ts";
import { defineOperation } from "./operation.ts";
import { Empty, page, Timestamp } from "./wire.ts";

/** One change of the primary of a cluster. Not in the interface: an extension. */
export const DatabaseFailover = z.object({
  id: z.int(),
  /** When clients were first forwarded to the new primary. */
  created: Timestamp,
  /** Requested, by a switchover, a resize or a patch. */
  planned: z.boolean(),
  /** Nodes of the database, 0 to 2. */
  from_node: z.int().nullable(),
  to_node: z.int(),
  /** Milliseconds since the old primary was last healthy. */
  phases: z.object({
    /** Until a host missed it. */
    missed: z.int().nullable(),
    /** Until another was elected. */
    elected: z.int().nullable(),
    /** Until the first proxy forwarded clients to it, and until the last one did. */
    led: z.int().nullable(),
    all_led: z.int().nullable(),
  }),
  gtid_before: z.string().nullable(),
  gtid_after: z.string().nullable(),
  /** Null: unknown. */
  transactions_lost: z.int().nullable(),
});
export type DatabaseFailover = z.output<typeof DatabaseFailover>;

export const listMysqlFailovers = defineOperation({
  id: "listMysqlFailovers",
  summary: "List the changes of the primary of a MySQL database, the newest first",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/failovers",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: instance,
  paged: true,
  filterable: { created: "date" },
  rate: "collection",
  reply: page(DatabaseFailover),
});

export const switchMysqlPrimary = defineOperation({
  id: "switchMysqlPrimary",
  summary: "Make another node of a MySQL database the primary, as planned",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/switchover",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  rate: "single",
  emits: ["database_switchover"],
  reply: Empty,
});

export const promoteMysqlNode = defineOperation({
  id: "promoteMysqlNode",
  summary: "Promote a replica of an asynchronous MySQL database whose primary is lost",
  tag: "Databases",
  method: "POST",
  path: "/v4/databases/mysql/instances/:instanceId/promote",
  access: { scopes: ["databases:read_write"], entity: instanceEntity("read_write") },
  params: instance,
  /** Without it the answer is 400 with what would be lost. */
  body: z.object({ accept_loss: z.boolean().optional() }),
  rate: "single",
  emits: ["database_failover"],
  reply: Empty,
});
