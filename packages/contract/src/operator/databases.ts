import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Id, page, Timestamp } from "../wire.ts";
import { whole } from "./fields.ts";

export const Database = z.object({
  id: z.int(),
  account: z.int(),
  label: z.string(),
  region: z.string(),
  plan: z.string(),
  nodes: z.int(),
  engine: z.string(),
  status: z.string(),
  /** What is wrong with its nodes, and what to do about it. */
  advice: z.string().nullable(),
});
export type Database = z.output<typeof Database>;
export const DeletedDatabase = z.object({
  id: z.int(),
  account: z.int(),
  label: z.string(),
  deleted: Timestamp.nullable(),
  data_until: Timestamp,
  undelete_until: Timestamp.nullable(),
});
export type DeletedDatabase = z.output<typeof DeletedDatabase>;
export const LostTransactions = z.object({
  name: z.string(),
  timeline: z.string(),
  node: z.int(),
  transactions: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  gtid: z.string(),
  saved: Timestamp,
  kept_until: Timestamp,
  object: z.string(),
});
export type LostTransactions = z.output<typeof LostTransactions>;

const database = z.object({ databaseId: Id });
const common = { audience: "operator", tag: "Databases" } as const;

export const listDatabases = defineOperation({
  ...common,
  id: "listDatabases",
  summary: "List all databases with their status and warnings",
  method: "GET",
  path: "/admin/databases",
  paged: true,
  reply: page(Database),
});

export const listDeletedDatabases = defineOperation({
  ...common,
  id: "listDeletedDatabases",
  summary: "List deleted databases that can be undeleted, the most urgent first",
  method: "GET",
  path: "/admin/deleted-databases",
  paged: true,
  reply: page(DeletedDatabase),
});

export const undeleteDatabase = defineOperation({
  ...common,
  id: "undeleteDatabase",
  summary: "Restore a deleted database on new nodes from its last archived data",
  method: "POST",
  path: "/admin/databases/:databaseId/undelete",
  params: database,
  reply: z.object({
    id: z.int(),
    account: z.int(),
    label: z.string(),
    status: z.string(),
    /** Null: the database was not deleted. */
    data_until: Timestamp.nullable(),
  }),
});

export const bootstrapDatabase = defineOperation({
  ...common,
  id: "bootstrapDatabase",
  summary: "Bootstrap the replication group of a three-node database that does not start by itself",
  method: "POST",
  path: "/admin/databases/:databaseId/bootstrap",
  params: database,
  body: z.object({
    accept_loss: z
      .boolean()
      .describe("continue without nodes on dead hosts; transactions that only they have are lost")
      .default(false),
  }),
  reply: z.object({
    id: z.int(),
    label: z.string(),
    waits_for: z.array(z.string()),
    primary: z.int().optional(),
    left_out: z.int().optional(),
  }),
});

export const listLostTransactions = defineOperation({
  ...common,
  id: "listLostTransactions",
  summary: "List transactions lost in failovers of an asynchronous database in the last 7 days",
  method: "GET",
  path: "/admin/databases/:databaseId/lost-transactions",
  params: database,
  reply: whole(LostTransactions),
});
