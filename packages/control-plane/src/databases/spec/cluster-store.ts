import type { PrimaryTerm } from "@moorage/contract/agent";
import {
  addMembers,
  type ClusterSecret,
  clusterSecretPlace,
  deriveSecret,
  insertCluster,
  type NodeRow,
  raiseMembersVersion,
} from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { isAsynchronous, isCluster } from "../model/database.ts";
import type { ArchiveContext } from "../model/timeline-store.ts";
import { firstOrders, type OrdersOf } from "./cluster-spec.ts";
import { findPrimary, primaryFirst, setPrimary } from "./primary-store.ts";

type Owner = { account_id: number; id: number };

/**
 * Makes new nodes members of a cluster, if it is one, and returns their first orders. Repeatable: nodes that have a
 * desired spec get none, because they may have followed them already.
 */
export async function createMembers(
  tx: Tx,
  { sealer, at }: { sealer: Sealer; at: Date },
  { database, archiveContext }: { database: DatabaseRow; archiveContext: ArchiveContext | undefined },
  nodes: readonly NodeRow[],
): Promise<OrdersOf> {
  if (!isCluster(database) || archiveContext === undefined) return {};
  await createCluster(tx, sealer, database, nodes);
  const primary = isAsynchronous(database) ? await assignPrimary(tx, database, nodes, at) : undefined;
  if (nodes.some(({ desired_spec }) => desired_spec !== null)) return {};
  await raiseMembersVersion(tx, database);
  return firstOrders(primaryFirst(nodes, primary), archiveContext.timeline, primary);
}

/**
 * Writes the rows of a cluster and of its members. Repeatable: its secrets are created once. The hosts keep the password
 * and what the authority signed, so a row that is written again after a loss must have the same ones: they are derived.
 */
export async function createCluster(
  tx: Tx,
  sealer: Sealer,
  database: Owner & { created_at: Date },
  nodes: readonly Pick<NodeRow, "id">[],
): Promise<void> {
  const sealed = async (column: ClusterSecret): Promise<string> => {
    const place = clusterSecretPlace(column, database);
    return sealer.seal(place, await deriveSecret(tx, sealer, [...place, database.created_at.toISOString()]));
  };
  const secrets = { group_password: await sealed("group_password"), authority: await sealed("authority") };
  await insertCluster(tx, database, secrets);
  await addMembers(tx, database, nodes);
}

/**
 * The first node, with no former primary to wait for. One of these nodes may be the primary already; nodes of before a
 * deletion do not count.
 */
async function assignPrimary(tx: Tx, database: DatabaseRow, nodes: readonly NodeRow[], at: Date): Promise<PrimaryTerm> {
  const known = await findPrimary(tx, database);
  if (known !== undefined && nodes.some(({ id }) => id === known.node)) return known;
  const [first] = primaryFirst(nodes, undefined);
  if (first === undefined) throw new Error(`Database ${database.id} has no node to be its primary.`);
  return setPrimary(tx, database, { node: first.id, reason: "fenced" }, at);
}

/** Undefined for a database of one node. */
export async function openClusterSecret(
  db: Db | Tx,
  sealer: Sealer,
  owner: Owner,
  column: ClusterSecret,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(["group_password", "authority"])
    .where("account_id", "=", owner.account_id)
    .where("database_id", "=", owner.id)
    .executeTakeFirst();
  return row === undefined ? undefined : sealer.open(clusterSecretPlace(column, owner), row[column]);
}
