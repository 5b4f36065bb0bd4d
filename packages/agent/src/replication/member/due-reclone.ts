import { isFresh, type MemberView, type NodeSpec } from "@moorage/contract/agent";
import type { UsedIds } from "../../specs/node-state.ts";

/** The members that report now: a kept view is not enough to act on. */
export const reachableMembers = (others: readonly MemberView[]): MemberView[] =>
  others.filter(({ ageMs }) => isFresh({ ageMs }));

/** The old data were given up and the new ones have not arrived: nobody may bootstrap from such a member. */
export const isBetweenData = ({ recloning, recloned }: UsedIds): boolean =>
  recloning !== undefined && recloning !== recloned;

/**
 * The order by which the member would give up data that a tenant may have used. A node that never reached a spec never
 * admitted one, and a member between data has given its own up already.
 */
export function dataGivenUp(
  spec: Pick<NodeSpec, "cluster">,
  { used, hasServed }: { used: UsedIds; hasServed: boolean },
): string | undefined {
  return hasServed && !isBetweenData(used) ? dueReclone(spec, used)?.id : undefined;
}

/**
 * The member must be re-cloned. Also when the spec no longer requests it: an interrupted re-clone leaves data that
 * nobody can use.
 */
export function dueReclone(
  { cluster }: Pick<NodeSpec, "cluster">,
  used: UsedIds,
): { id: string; donor?: string | undefined } | undefined {
  if (cluster?.reclone !== undefined && cluster.reclone.id !== used.recloned) return cluster.reclone;
  return used.recloning !== undefined && isBetweenData(used) ? { id: used.recloning } : undefined;
}
