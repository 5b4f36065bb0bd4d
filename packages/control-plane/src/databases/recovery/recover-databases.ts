import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { clearDesiredSpec, confirmGone, findHostNodes, type NodeRow, reissueDesiredSpec } from "#fleet/index.ts";
import { lockDatabase } from "../model/database-store.ts";
import { allowGaps } from "../model/timeline-store.ts";
import { adopt } from "./recover-adopted.ts";
import { followChanges } from "./recover-changes.ts";
import { followDeletion } from "./recover-deletion.ts";
import { followMembers, followPrimary, loseMember, orphanOf, reissueToOthers, wasReplaced } from "./recover-cluster.ts";
import { followTimeline } from "./recover-timeline.ts";
import { type Context, findSame, isLaterThan, isSame, specOf, untimed } from "./recovery.ts";

/**
 * Reconciles our rows with one host after our database was set back. The host's state counts: what runs there is kept
 * and, if its row is lost, written again; what a tombstone removed stays removed. Nothing is deleted here.
 */
export async function recoverHost(context: Context, hostId: number, digest: readonly NodeReport[]): Promise<void> {
  const ours = new Map((await findHostNodes(context.tx, hostId)).map((node) => [node.id, node]));
  for (const report of digest) {
    const node = ours.get(report.node);
    ours.delete(report.node);
    if (!(await followRemoval(context, node, report))) await recoverNode(context, hostId, node, report);
  }
  for (const node of ours.values()) await missing(context, node);
}

/** A node that its host removed or is about to remove. False: it is to stay, as far as the host knows. */
async function followRemoval(context: Context, node: NodeRow | undefined, report: NodeReport): Promise<boolean> {
  const { tx, epoch, now } = context;
  const { spec } = report;
  if (spec?.tombstone !== undefined && wasReplaced(spec)) {
    await followReplacement(context, spec, node, report);
    return true;
  }
  if (report.state === "gone") {
    if (node !== undefined) await confirmGone(tx, node, now);
    if (spec !== undefined) await followDeletion(context, spec);
    return true;
  }
  if (spec?.tombstone === undefined || node?.tombstoned === true) return false;
  // The host is about to remove the node, for an operation that we may have forgotten, and continues by itself.
  if (node !== undefined) await reissueDesiredSpec(tx, node, { ...untimed(spec), tombstone: spec.tombstone }, epoch);
  await followDeletion(context, spec);
  return true;
}

async function recoverNode(
  context: Context,
  hostId: number,
  node: NodeRow | undefined,
  report: NodeReport,
): Promise<unknown> {
  const { found } = context;
  if (node === undefined && report.spec !== undefined) return adopt(context, hostId, report.spec, report);
  if (node === undefined) return found.orphans.push(report.node);
  if (node.replaced_at !== null && !node.tombstoned) return found.orphans.push(orphanOf(node));
  return keep(context, node, report);
}

async function keep(context: Context, node: NodeRow, report?: NodeReport): Promise<void> {
  const { tx, epoch, found } = context;
  const reported = report?.spec;
  const ours = await lockDatabase(tx, node.account_id, node.database_id);
  const isBehind = reported !== undefined && isSame(ours, reported) && isLaterThan(reported, node);
  const updated = isBehind ? await followChanges(context, ours, reported) : ours;
  const database = isBehind ? await followTimeline(context, updated, reported, report?.timeline) : updated;
  if (isBehind) await followMembers(context, database, reported);
  if (reported !== undefined && isSame(database, reported)) await followPrimary(context, database, reported);
  await allowGaps(tx, database, context.now);
  await reissueDesiredSpec(tx, node, await specOf(context, node, database, reported), epoch);
  await reissueToOthers(context, database, (other) => specOf(context, other, database, reported));
  found.kept++;
}

/** A member was or will be removed because another node replaced it; the database still exists. */
async function followReplacement(
  context: Context,
  spec: NodeSpec,
  node: NodeRow | undefined,
  report: NodeReport,
): Promise<void> {
  const { tx, epoch, now } = context;
  const database = await findSame(tx, spec);
  if (database !== undefined) await followMembers(context, database, spec);
  if (node === undefined) return;
  if (report.state === "gone") await confirmGone(tx, node, now);
  else await reissueDesiredSpec(tx, node, untimed(spec), epoch);
}

/**
 * We have a row for the node, but its host does not know it. It is made again only if it was still being provisioned.
 */
async function missing(context: Context, node: NodeRow): Promise<void> {
  const { tx, found } = context;
  const database = await lockDatabase(tx, node.account_id, node.database_id);
  if (database.status === "provisioning" && database.deleted_at === null) return keep(context, node);
  if (node.tombstoned || database.deleted_at !== null) return keep(context, node);
  await clearDesiredSpec(tx, node);
  await loseMember(context, node);
  found.missing.push(`${database.label} (${database.id})`);
}
