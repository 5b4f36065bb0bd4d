import type { PrimaryTerm } from "@moorage/contract/agent";
import type { NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { DatabaseRow } from "../database-store.ts";
import type { ArchiveContext } from "../node-spec.ts";
import { firstOrders, isAsynchronous, isCluster, type OrdersOf } from "./cluster-spec.ts";
import { createCluster } from "./cluster-store.ts";
import { findPrimary, setPrimary } from "./async-primary/primary-store.ts";
import { primaryFirst } from "./async-primary/terms.ts";

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
  return firstOrders(primaryFirst(nodes, primary), archiveContext.timeline, primary);
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
