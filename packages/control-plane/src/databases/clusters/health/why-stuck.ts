import { conditionOf, type HealthSettings, type ObservedMember } from "../member-condition.ts";

/** Longer than a failover or the restart of a host. */
const STOPPED_SECONDS = 120;

/** `diverged`: the member has data of a former primary, and is to be re-cloned again. */
type Stuck = "diverged" | "no donor";

/**
 * Why a replacement cannot end. `isSeen`: the member's host has looked at it with the order to re-clone; it then reports
 * errant transactions only once the order was carried out. Pure.
 */
export function whyStuck(
  members: readonly ObservedMember[],
  { ordinal, isSeen }: { ordinal: number; isSeen: boolean },
  settings: HealthSettings,
): Stuck | undefined {
  const own = members.find((member) => member.ordinal === ordinal);
  if (own !== undefined && isSeen && hasDiverged(own, settings)) return "diverged";
  // The group has to be bootstrapped first.
  const others = members.filter((member) => member !== own);
  return others.every((member) => hasStopped(member, settings)) ? "no donor" : undefined;
}

/** Its data are of a former primary, and what the present one lacks is saved. A group has no such member. */
const hasDiverged = (member: ObservedMember, settings: HealthSettings): boolean =>
  member.report?.saved_errant !== undefined && conditionOf(member, settings) === "broken";

/** The member has been unable to serve as a donor for more than a moment. */
function hasStopped(member: ObservedMember, settings: HealthSettings): boolean {
  const condition = conditionOf(member, settings);
  if (condition === "lost" || condition === "broken") return true;
  return (condition === "out_of_group" || condition === "recovering") && member.unhealthySeconds >= STOPPED_SECONDS;
}
