import type { DesiredNode } from "#platform/db/tables.ts";
import type { NodeRow } from "./node-store.ts";

/** A phase and the part of the whole operation that it is, in percent. Null: it does not move the progress. */
export type PhaseSpan = { nodes: readonly DesiredNode[]; percent_from: number | null; percent_to: number | null };

export type ReportedNode = Pick<
  NodeRow,
  "id" | "observed_epoch" | "observed_generation" | "observed_percent" | "observed_tasks"
>;

/**
 * How far an operation is, in percent of the whole. A host tells how far it is in the phase that it works on, so each
 * phase has a span of its own and none begins before the end of the one before it.
 */
export function percentOf(phases: readonly PhaseSpan[], nodes: readonly ReportedNode[]): number {
  const reached = phases.map(({ nodes: desired, percent_from: from, percent_to: to }) => {
    if (from === null || to === null) return 0;
    const shares = desired.map((one) =>
      shareOf(
        nodes.find(({ id }) => id === one.node),
        one,
      ),
    );
    const share = shares.length === 0 ? 1 : shares.reduce((sum, each) => sum + each, 0) / shares.length;
    return from + (to - from) * share;
  });
  return Math.floor(Math.max(0, ...reached));
}

/** What a host said before it knew of the phase says nothing about it, and a job that it does not name has not begun. */
function shareOf(node: ReportedNode | undefined, { epoch, generation, tasks = [] }: DesiredNode): number {
  if (node === undefined || node.observed_epoch < epoch) return 0;
  if (node.observed_epoch === epoch && node.observed_generation < generation) return 0;
  const taskPercents = tasks.map((id) => node.observed_tasks.find((task) => task.id === id)?.percent ?? 0);
  return Math.min(node.observed_percent, ...taskPercents) / 100;
}
