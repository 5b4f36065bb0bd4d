import { isNewer, type NodeReport, type NodeSpec } from "@moorage/contract/agent";
import { confirmGone, findHostNodes, type NodeRow, clearDesiredSpec, reissueDesiredSpec } from "#fleet/index.ts";
import {
  followMembers,
  isReplaced,
  loseMember,
  orphanOf,
  reissueToOthers,
  wasReplaced,
} from "./clusters/recover-members.ts";
import { followPrimary } from "./clusters/async-primary/recover-primary.ts";
import { lockDatabase } from "./database-store.ts";
import { adopt } from "./recover-adopted.ts";
import { followChanges } from "./recover-changes.ts";
import { followDeletion } from "./recover-deletion.ts";
import { type Context, findSame, isSame, specOf, untimed } from "./recovery.ts";
import { allowGap } from "./timeline-store.ts";
import { followTimeline } from "./timelines/recover-timeline.ts";

/**
 * Reconciles our rows with one host after our database was set back. The host's state counts: what runs there is kept
 * and, if its row is lost, written again; what a tombstone removed stays removed. Nothing is deleted here.
 */
export async function recoverHost(context: Context, hostId: number, digest: readonly NodeReport[]): Promise<void> {
  const { tx, found } = context;
  const ours = new Map((await findHostNodes(tx, hostId)).map((node) => [node.id, node]));
  for (const report of digest) {
    const { spec } = report;
    const node = ours.get(report.node);
    ours.delete(report.node);
    const tombstone = spec?.tombstone;
    if (spec?.tombstone !== undefined && wasReplaced(spec)) {
      await followReplacement(context, spec, node, report);
    } else if (report.state === "gone") {
      if (node !== undefined) await confirmGone(tx, node, context.now);
      if (spec !== undefined) await followDeletion(context, spec);
    } else if (tombstone !== undefined && spec !== undefined && node?.tombstoned !== true) {
      // The host is about to remove the node, for an operation that we may have forgotten, and continues by itself.
      if (node !== undefined) await reissueDesiredSpec(tx, node, { ...untimed(spec), tombstone }, context.epoch);
      await followDeletion(context, spec);
    } else if (node !== undefined && (await isReplaced(tx, node)) && !node.tombstoned) {
      found.orphans.push(orphanOf(node));
    } else if (node !== undefined) {
      await keep(context, node, report);
    } else if (spec !== undefined) {
      await adopt(context, hostId, spec, report);
    } else {
      found.orphans.push(report.node);
    }
  }
  for (const node of ours.values()) await missing(context, node);
}

async function keep(context: Context, node: NodeRow, report?: NodeReport): Promise<void> {
  const { tx, epoch, found } = context;
  const reported = report?.spec;
  const ours = await lockDatabase(tx, node.account_id, node.database_id);
  const desired = { epoch: node.desired_epoch, generation: node.desired_generation };
  const isBehind = reported !== undefined && isSame(ours, reported) && isNewer(reported, desired);
  const updated = isBehind ? await followChanges(context, ours, reported) : ours;
  const database = isBehind ? await followTimeline(context, updated, reported, report?.timeline) : updated;
  if (isBehind) await followMembers(context, database, reported);
  if (reported !== undefined && isSame(database, reported)) await followPrimary(context, database, reported);
  await allowGap(tx, database);
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
