import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import { FIRST_PORT, type PortUse } from "./choose-port.ts";

export type NodeRow = Selectable<Tables["nodes"]>;

/** Its host has reported about the desired spec, or a later one of the same epoch. */
export const hasReportedDesired = (node: NodeRow): boolean =>
  node.observed_epoch === node.desired_epoch && node.observed_generation >= node.desired_generation;

type NodeKey = { account_id: number; database_id: number; node: string };

/** A node without desired or observed state. */
export const untouched = {
  desired_spec: null,
  waiting_operation_id: null,
  observed_state: null,
  observed_step: null,
  observed_message: null,
  observed_at: null,
  used_disk_mb: null,
  replaced_at: null,
  released_at: null,
} as const;

/**
 * The current nodes of a database. A replaced node is not among them; its tombstone removes it, however long that
 * takes.
 */
export const findNodes = (db: Db | Tx, accountId: number, databaseId: number): Promise<NodeRow[]> =>
  db
    .selectFrom("nodes")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("database_id", "=", databaseId)
    .where("released_at", "is", null)
    .where("replaced_at", "is", null)
    .orderBy("ordinal")
    .execute();

/** Another node replaced it: it does not count any more, and a tombstone removes it. */
export const markReplaced = (tx: Tx, node: string, at: Date): Promise<unknown> =>
  tx.updateTable("nodes").set({ replaced_at: at }).where("id", "=", node).where("replaced_at", "is", null).execute();

/** No other node could replace it: it counts again. */
export const unmarkReplaced = (tx: Tx, node: string): Promise<unknown> =>
  tx.updateTable("nodes").set({ replaced_at: null }).where("id", "=", node).execute();

/** A node that this host runs. Nodes of other hosts and nodes with a tombstone are not found. */
export const findServedNode = (db: Db | Tx, hostId: number, id: string) =>
  db
    .selectFrom("nodes")
    .select(["id", "account_id", "database_id", "desired_spec"])
    .where("id", "=", id)
    .where("host_id", "=", hostId)
    .where("tombstoned", "=", false)
    .executeTakeFirstOrThrow(notFound);

export const lockNodes = (tx: Tx, ids: readonly string[]): Promise<NodeRow[]> =>
  tx.selectFrom("nodes").selectAll().where("id", "in", ids).orderBy("id").forUpdate().execute();

/** Specs of a host that changed after the given revision. */
export const nodesSince = (db: Db, hostId: number, revision: number): Promise<Pick<NodeRow, "desired_spec">[]> =>
  db
    .selectFrom("nodes")
    .select("desired_spec")
    .where("host_id", "=", hostId)
    .where("desired_revision", ">", revision)
    .where("desired_spec", "is not", null)
    .where("released_at", "is", null)
    .execute();

/** The ports of a region's nodes. While the region is locked, no other node gets one. */
export const portUses = async (tx: Tx, region: string, chosen: readonly number[]): Promise<PortUse[]> => {
  const { rows } = await sql<PortUse>`
    select port, count(*)::int as hosts, bool_or(host_id = any(${chosen})) as "isOnChosen"
    from nodes join hosts on hosts.id = nodes.host_id
    where region = ${region} and released_at is null
    group by port`.execute(tx);
  return rows;
};

/** The hosts on which a node of any database has this port. */
export const hostsWithPort = async (tx: Tx, port: number): Promise<number[]> => {
  const rows = await tx
    .selectFrom("nodes")
    .select("host_id")
    .where("port", "=", port)
    .where("released_at", "is", null)
    .execute();
  return rows.map(({ host_id }) => host_id);
};

/** By host of the region: the replacements that it receives now. What its limit of deletions holds makes no clone. */
export async function countClones(tx: Tx, region: string): Promise<Map<number, number>> {
  const rows = await tx
    .selectFrom("operations")
    .innerJoin("nodes", "nodes.waiting_operation_id", "operations.id")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select(({ fn }) => ["nodes.host_id", fn.countAll<number>().as("count")])
    .where("operations.settled_at", "is", null)
    .where("hosts.region", "=", region)
    .where(sql<boolean>`nodes.desired_spec->'cluster'->'reclone' is not null`)
    .where(sql<boolean>`nodes.observed_state is distinct from 'held'`)
    .groupBy("nodes.host_id")
    .execute();
  return new Map(rows.map(({ host_id, count }) => [host_id, count]));
}

/** Each port of a host has its own address in the host's node network and its own user id. */
const slotOf = (port: number): number => port - FIRST_PORT;

/**
 * Outside of what a host's other users may become: Debian's ranges for containers of local users end at 600,100,000
 * (`SUB_UID_MAX`), those of systemd for containers at 1,879,048,191.
 */
const firstUid = 2_000_000_000;
export const uidOf = (port: number): number => firstUid + slotOf(port);

/** The first address is the network's, the second the host's. */
export function addressOf(nodeNetwork: string, port: number): string {
  const [base = ""] = nodeNetwork.split("/");
  const number = base.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) + slotOf(port) + 2;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

/** The worker decides what an alert means for the tenant. */
export const addDiskAlert = (
  tx: Tx,
  { account_id, database_id, node }: NodeKey,
  detail: object,
  at: Date,
): Promise<unknown> =>
  tx
    .insertInto("node_alerts")
    .values({ account_id, database_id, node_id: node, kind: "disk", detail: JSON.stringify(detail), at })
    .execute();

/** Reported again before the worker has taken it, it stays one alert. */
export async function addVerificationAlert(
  tx: Tx,
  { account_id, database_id, node }: NodeKey,
  verification: object,
  at: Date,
): Promise<void> {
  const detail = JSON.stringify(verification);
  await sql`
    insert into node_alerts (account_id, database_id, node_id, kind, detail, at)
    select ${account_id}, ${database_id}, ${node}, 'verification', ${detail}::jsonb, ${at}::timestamptz
    where not exists (
      select from node_alerts where node_id = ${node} and kind = 'verification' and detail = ${detail}::jsonb)`.execute(
    tx,
  );
}

/** Of two concurrent callers, one gets the alert. */
export const takeNodeAlert = (tx: Tx, id: number): Promise<Selectable<Tables["node_alerts"]> | undefined> =>
  tx.deleteFrom("node_alerts").where("id", "=", id).returningAll().executeTakeFirst();

export const dropNodeAlerts = (tx: Tx, accountId: number, databaseId: number): Promise<unknown> =>
  tx.deleteFrom("node_alerts").where("account_id", "=", accountId).where("database_id", "=", databaseId).execute();
