import type { NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { DatabaseRow } from "../database-store.ts";
import type { Past } from "../node-spec.ts";
import { firstOrders, isCluster, type OrdersOf } from "./cluster-spec.ts";
import { giveCluster } from "./cluster-store.ts";

/**
 * Makes new nodes the members of a cluster, if it is one, and says what each of them is to do first. Repeatable: nodes of
 * which something was wanted before may have done it already.
 */
export async function giveMembers(
  tx: Tx,
  sealer: Sealer,
  { database, past }: { database: DatabaseRow; past: Past | undefined },
  nodes: readonly NodeRow[],
): Promise<OrdersOf> {
  if (!isCluster(database) || past === undefined) return {};
  await giveCluster(tx, sealer, database, nodes);
  return nodes.every(({ wanted }) => wanted === null) ? firstOrders(nodes, past.timeline) : {};
}
