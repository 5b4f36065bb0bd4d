/** Recovery of clusters: their hosts are compared one after the other, each with one member. */
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import {
  clearDesiredSpec,
  findNodes,
  markLost,
  markReplaced,
  type NodeRow,
  reissueDesiredSpec,
  setMembersVersion,
  type UntimedSpec,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { texts } from "../clusters/texts.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { isAsynchronous, isCluster } from "../model/database.ts";
import { findTimeline } from "../model/timeline-store.ts";
import { latestMembers, membersVersion } from "../spec/cluster-spec.ts";
import { findPrimary, highestTerm, writePrimary } from "../spec/primary-store.ts";

type Context = { tx: Tx; epoch: number; now: Date; found: { orphans: string[] } };

/** A tombstone of a replaced member: its database still exists. */
export const wasReplaced = ({ cluster, node }: NodeSpec): boolean =>
  cluster !== undefined && !cluster.members.some((member) => member.node === node);

/**
 * Members that a later list does not name were replaced since our backup. They get no spec: the replacement gave them a
 * tombstone, and if a host missed that, the operator has to look.
 */
export async function followMembers(
  context: Context,
  { account_id, id }: DatabaseRow,
  { cluster }: NodeSpec,
): Promise<void> {
  const { tx } = context;
  if (cluster === undefined || cluster.members_version <= ((await membersVersion(tx, { account_id, id })) ?? 0)) return;
  await setMembersVersion(tx, { account_id, id }, cluster.members_version);
  await replaceAllBut(
    context,
    { account_id, id },
    cluster.members.map(({ node }) => node),
  );
}

/** The other nodes of the database were replaced: they get no spec. */
export async function replaceAllBut(
  { tx, epoch, now, found }: Context,
  { account_id, id }: Pick<DatabaseRow, "account_id" | "id">,
  members: readonly string[],
): Promise<void> {
  for (const node of await findNodes(tx, account_id, id)) {
    if (members.includes(node.id)) continue;
    // Locks the node before its member, in the same order as a host's report.
    await clearDesiredSpec(tx, node);
    await markReplaced(tx, node.id, now);
    // Its host was compared before this one, and has the node.
    if (node.desired_epoch === epoch) found.orphans.push(orphanOf(node));
  }
}

export const orphanOf = ({ id, database_id }: NodeRow): string =>
  `${id} (a member of database ${database_id} that was replaced)`;

/**
 * Whether an unknown node belongs to the database. In a cluster the latest list names it, its own or that of another
 * host. A database of one node was restored elsewhere if the node has a later timeline.
 */
export async function isNodeOf(tx: Tx, database: DatabaseRow, { node, cluster, data }: NodeSpec): Promise<boolean> {
  const known = await findNodes(tx, database.account_id, database.id);
  if (cluster === undefined) return known.length === 0 || (data?.ordinal ?? 0) > (await timelineOrdinal(tx, database));
  const lists = known.map(({ desired_spec }) => desired_spec?.cluster);
  return latestMembers([...lists, cluster])?.members.some((member) => member.node === node) ?? false;
}

async function timelineOrdinal(tx: Tx, { timeline_id }: DatabaseRow): Promise<number> {
  if (timeline_id === null) return 0;
  const { ordinal } = await findTimeline(tx, timeline_id);
  return ordinal;
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
  if (known !== undefined) await markLost(tx, node, texts.nodeLostByHost().text, now);
}

/**
 * The primary may have changed since our backup: the highest term in any host's spec counts. The row is written once
 * the nodes that it names are known again; until then the desired specs stand for it.
 */
export async function followPrimary(
  { tx, now }: { tx: Tx; now: Date },
  database: DatabaseRow,
  { cluster }: NodeSpec,
): Promise<void> {
  if (!isAsynchronous(database)) return;
  const primary = highestTerm([await findPrimary(tx, database), cluster?.primary]);
  if (primary === undefined) return;
  const named = [primary.node, ...(primary.from === undefined ? [] : [primary.from])];
  const known = await tx.selectFrom("nodes").select("id").where("id", "in", named).execute();
  if (known.length === named.length) await writePrimary(tx, database, primary, now);
}
