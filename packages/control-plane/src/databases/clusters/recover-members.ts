import { isDeepStrictEqual } from "node:util";
import type { Cluster, NodeReport, NodeSpec } from "@moorage/contract/agent";
import { findNodes, type NodeRow, clearDesiredSpec, type UntimedSpec, reissueDesiredSpec } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";
import { isCluster } from "./cluster-spec.ts";
import { markReplaced } from "./cluster-store.ts";
import { texts } from "./texts.ts";

/** Recovery of clusters: their hosts are compared one after the other, each with one member. */

type Context = { tx: Tx; epoch: number; now: Date; found: { orphans: string[] } };

/** A tombstone of a replaced member: its database still exists. */
export const wasReplaced = ({ cluster, node }: NodeSpec): boolean =>
  cluster !== undefined && !cluster.members.some((member) => member.node === node);

export const isReplaced = async (tx: Tx, { id }: NodeRow): Promise<boolean> => {
  const member = await tx.selectFrom("members").select("replaced_at").where("node_id", "=", id).executeTakeFirst();
  return member !== undefined && member.replaced_at !== null;
};

/**
 * Members that a later spec does not name were replaced since our backup. They get no spec: the replacement gave them a
 * tombstone, and if a host missed that, the operator has to look. A spec that names a replaced member is older than the
 * replacement and does not show its successor.
 */
export async function followMembers(
  { tx, epoch, now, found }: Context,
  { account_id, id }: DatabaseRow,
  { cluster }: NodeSpec,
): Promise<void> {
  if (cluster === undefined || (await namesReplaced(tx, cluster))) return;
  for (const node of await findNodes(tx, account_id, id)) {
    if (cluster.members.some((member) => member.node === node.id)) continue;
    // Locks the node before its member, in the same order as a host's report.
    await clearDesiredSpec(tx, node);
    await markReplaced(tx, node.id, now);
    // Its host was compared before this one, and has the node.
    if (node.desired_epoch === epoch) found.orphans.push(orphanOf(node));
  }
}

async function namesReplaced(tx: Tx, { members }: Cluster): Promise<boolean> {
  const nodes = members.map(({ node }) => node);
  const replaced = tx.selectFrom("members").select("node_id").where("replaced_at", "is not", null);
  return (await replaced.where("node_id", "in", nodes).limit(1).executeTakeFirst()) !== undefined;
}

export const orphanOf = ({ id, database_id }: NodeRow): string =>
  `${id} (a member of database ${database_id} that was replaced)`;

/** Whether an unknown node is a member: its ordinal is free, or other members of its group confirm it. */
export async function isMember(tx: Tx, { account_id, id }: DatabaseRow, spec: NodeSpec, report: NodeReport) {
  const taken = (await findNodes(tx, account_id, id)).some(({ ordinal }) => ordinal === spec.ordinal);
  return !taken || report.group?.shared === true;
}

/** Hosts that were compared before this one got the cluster as it was known then: they get what differs. */
export async function reissueToOthers(
  { tx, epoch }: Context,
  database: DatabaseRow,
  specOf: (node: NodeRow) => Promise<UntimedSpec>,
): Promise<void> {
  if (!isCluster(database)) return;
  for (const node of await findNodes(tx, database.account_id, database.id)) {
    if (node.desired_spec === null || node.desired_epoch !== epoch) continue;
    const { epoch: _epoch, generation: _generation, ...sent } = node.desired_spec;
    const spec = await specOf(node);
    if (!isDeepStrictEqual(sent, JSON.parse(JSON.stringify(spec)))) await reissueDesiredSpec(tx, node, spec, epoch);
  }
}

/** The host does not have the node and will not report it: the others continue, and the node is replaced. */
export async function loseMember({ tx, now }: Context, node: NodeRow): Promise<void> {
  const known = await tx.selectFrom("members").select("node_id").where("node_id", "=", node.id).executeTakeFirst();
  if (known === undefined) return;
  await tx
    .updateTable("nodes")
    .set({ observed_state: "failed", observed_message: texts.nodeLostByHost().text })
    .where("id", "=", node.id)
    .execute();
  await tx.updateTable("members").set({ report: null, unhealthy_since: now }).where("node_id", "=", node.id).execute();
  await tx.updateTable("clusters").set({ check_at: now }).where("database_id", "=", node.database_id).execute();
}
