import { findPhases, type NodeRow, progressOf } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { isCluster } from "../model/database.ts";
import type { ChangeContext } from "../changes/change.ts";

/** `behind`: the nodes that have not reported the change as applied. */
export type ChangeReach = { mayBeApplied: boolean; behind: number[] };

/**
 * How far a change got among the members of a cluster. A host applies a change before it reports it, so a member that
 * has reported nothing may have it. The host of one node has it or not, and the change then ends as done or as failed.
 */
export async function changeReach(
  tx: Tx,
  { operation, database }: ChangeContext,
  nodes: readonly NodeRow[],
): Promise<ChangeReach> {
  const phase = (await findPhases(tx, operation.id)).find((known) => known.phase === "change");
  if (phase === undefined || !isCluster(database)) return { mayBeApplied: false, behind: [] };
  const progress = nodes.map((node) => ({
    ordinal: node.ordinal,
    state: progressOf(
      [node],
      phase.nodes.filter((target) => target.node === node.id),
    ).state,
  }));
  return {
    mayBeApplied: progress.some(({ state }) => state !== "failed"),
    behind: progress.flatMap(({ ordinal, state }) => (state === "observed" ? [] : [ordinal])),
  };
}
