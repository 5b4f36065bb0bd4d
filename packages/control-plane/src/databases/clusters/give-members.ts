import type { Leader } from "@moorage/contract/agent";
import type { NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { DatabaseRow } from "../database-store.ts";
import type { Past } from "../node-spec.ts";
import { firstOrders, isAsynchronous, isCluster, type OrdersOf } from "./cluster-spec.ts";
import { giveCluster } from "./cluster-store.ts";
import { findLeader, setLeader } from "./leaders/leader-store.ts";
import { leaderFirst } from "./leaders/terms.ts";

/**
 * Makes new nodes the members of a cluster, if it is one, and says what each of them is to do first. Repeatable: nodes of
 * which something was wanted before may have done it already.
 */
export async function giveMembers(
  tx: Tx,
  { sealer, at }: { sealer: Sealer; at: Date },
  { database, past }: { database: DatabaseRow; past: Past | undefined },
  nodes: readonly NodeRow[],
): Promise<OrdersOf> {
  if (!isCluster(database) || past === undefined) return {};
  await giveCluster(tx, sealer, database, nodes);
  const leader = isAsynchronous(database) ? await giveLeader(tx, database, nodes, at) : undefined;
  if (nodes.some(({ wanted }) => wanted !== null)) return {};
  return firstOrders(leaderFirst(nodes, leader), past.timeline, leader);
}

/** The first of them, in nobody's place. One of its nodes may lead it already; those of before a deletion do no more. */
async function giveLeader(tx: Tx, database: DatabaseRow, nodes: readonly NodeRow[], at: Date): Promise<Leader> {
  const known = await findLeader(tx, database);
  if (known !== undefined && nodes.some(({ id }) => id === known.node)) return known;
  const [first] = leaderFirst(nodes, undefined);
  if (first === undefined) throw new Error(`Database ${database.id} has no node to lead it.`);
  return setLeader(tx, database, { node: first.id, over: "fence" }, at);
}
