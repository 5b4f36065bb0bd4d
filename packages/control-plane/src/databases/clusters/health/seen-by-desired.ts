import type { GroupReport } from "@moorage/contract/agent";
import { hasReportedDesired, type NodeRow } from "#fleet/index.ts";

/** Its state and its group: they are observed by different loops of its host. */
export function isSeenByDesired(node: NodeRow, report: GroupReport | null): boolean {
  const { desired_epoch, desired_generation } = node;
  const seen = report?.seen_by;
  const isSeen = seen !== undefined && seen.epoch === desired_epoch && seen.generation >= desired_generation;
  return hasReportedDesired(node) && isSeen;
}
