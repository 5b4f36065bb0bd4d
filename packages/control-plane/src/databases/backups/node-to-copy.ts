import { findNodes, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type Candidate, chooseArchiver } from "../archive/archiver.ts";
import { findCandidates, findArchiver } from "../archive/archiver-store.ts";
import { isCluster } from "../clusters/cluster-spec.ts";
import type { DatabaseRow } from "../database-store.ts";
import { findTimeline } from "../timeline-store.ts";
import { areThere } from "../desired-specs.ts";

export type CopyTarget = "primary" | "secondary";

/**
 * The node that a copy is taken from. A secondary's copy also contains everything committed before it started, so
 * `primary` is only a preference; the archiver has the least other work.
 */
export async function nodeToCopy(
  tx: Tx,
  database: DatabaseRow,
  target: CopyTarget,
  now: Date,
): Promise<NodeRow | undefined> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (!isCluster(database)) return areThere(nodes) ? nodes[0] : undefined;
  if (database.timeline_id === null) return undefined;
  const timeline = await findTimeline(tx, database.timeline_id);
  const chosen = memberToCopy(await findCandidates(tx, timeline, now), await findArchiver(tx, timeline.id), target);
  const node = nodes.find(({ id }) => id === chosen);
  return node !== undefined && areThere([node]) ? node : undefined;
}

/** A member whose logs cannot continue the archive may still have complete data. */
export function memberToCopy(
  candidates: readonly Candidate[],
  archiver: string | undefined,
  target: CopyTarget,
): string | undefined {
  const primary = candidates.find((member) => member.primary && member.unhealthyMs === 0);
  if (target === "primary" && primary !== undefined) return primary.node;
  const any = candidates.map((member) => ({ ...member, unfit: false }));
  return chooseArchiver(any, archiver, { freshlyRestored: false, patienceMs: 0 })?.archiver;
}

/** The node that has the task: a new choice could be another node. */
export async function nodeWithTask(tx: Tx, database: DatabaseRow, taskId: string): Promise<NodeRow | undefined> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const requested = nodes.filter(
    ({ desired_spec, tombstoned }) => !tombstoned && desired_spec?.tasks?.some(({ id }) => id === taskId),
  );
  return requested[0] ?? (areThere(nodes) ? nodes[0] : undefined);
}
