import type { DesiredNode } from "#platform/db/tables.ts";
import type { NodeRow } from "./node-store.ts";

/** A phase and its share of the whole operation, in percent. Null: the phase does not change the progress. */
export type PhaseSpan = { nodes: readonly DesiredNode[]; percent_from: number | null; percent_to: number | null };

export type ReportedNode = Pick<
  NodeRow,
  "id" | "observed_epoch" | "observed_generation" | "observed_percent" | "observed_tasks"
>;

/**
 * Progress of an operation, in percent. A host reports its progress within the current phase, so each phase has its own
 * span, which begins where the previous one ends.
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

/** A report from before the phase says nothing about it, and a task that the report does not name has not started. */
function shareOf(node: ReportedNode | undefined, { epoch, generation, tasks = [] }: DesiredNode): number {
  if (node === undefined || node.observed_epoch < epoch) return 0;
  if (node.observed_epoch === epoch && node.observed_generation < generation) return 0;
  const taskPercents = tasks.map((id) => node.observed_tasks.find((task) => task.id === id)?.percent ?? 0);
  return Math.min(node.observed_percent, ...taskPercents) / 100;
}
